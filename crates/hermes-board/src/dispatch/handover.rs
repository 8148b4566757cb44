//! Work that goes from one machine of a board to another: what an attempt left is handed over when it is
//! over, and what another machine handed over is brought before the next attempt.
//!
//! Nothing of this happens in the turn of a dispatcher, for which all machines wait, except for what is
//! small: branches are pushed and repositories fetched before and after it.

use std::time::Duration;

use crate::claim_lock::installation_host;
use crate::dispatch::WorkerSetup;
use crate::dispatch::local::arrival::{AUTHOR, FRESH};
use crate::dispatch::local::helper_git;
use crate::files::{send_workspace, tell_log};
use crate::model::{RunId, Task, TaskId, WorkspaceKind};
use crate::repository::Mirror;
use crate::sqlite::{HandedOver, Unhanded};
use crate::store::BoardStore;
use crate::{RepositoryError, Result, StoredBoard, own_lock};

/// How long another machine has for handing over before the next attempt begins without.
const GRACE_SECONDS: i64 = 30;
/// Pause between two looks whether another machine has handed over.
pub(super) const PAUSE: Duration = Duration::from_millis(200);
/// Looks in one tick.
pub(super) const LOOKS: usize = 25;

/// Hands over the work of attempts on this machine that are over, and fetches the repositories of cards
/// that may be worked on next. What fails is said on the card, or here.
pub(super) fn before_turn(store: &mut StoredBoard, setup: &WorkerSetup) {
    let done = hand_over_all(store, setup).and_then(|()| fetch_awaited(store, setup));
    if let Err(error) = done {
        tracing::warn!(%error, "work was not handed over to other machines");
    }
}

/// Hands over what ended in this turn, and tells what its workers printed.
pub(super) fn after_turn(store: &mut StoredBoard, setup: &WorkerSetup, before: &[(TaskId, RunId)]) {
    let told = store.running_here(&own_lock()).and_then(|running| {
        for (task, run) in before.iter().chain(&running) {
            tell_log(store, task, *run)?;
        }
        hand_over_all(store, setup)
    });
    if let Err(error) = told {
        tracing::warn!(%error, "work was not handed over to other machines");
    }
}

/// Whether another machine is about to hand over work that the next attempt of a card needs.
pub(super) fn is_awaited(store: &StoredBoard) -> Result<bool> {
    let own = store.board().installation();
    let unhanded = store.unhanded_work()?;
    let is_awaited = |work: &Unhanded| {
        work.place != own && work.is_startable && (0..GRACE_SECONDS).contains(&work.age)
    };
    Ok(unhanded.iter().any(is_awaited))
}

fn hand_over_all(store: &mut StoredBoard, setup: &WorkerSetup) -> Result<()> {
    let own = store.board().installation();
    for work in store.unhanded_work()? {
        if work.place != own {
            continue;
        }
        let Some(task) = store.task(&work.task)? else {
            continue;
        };
        let handed = match hand_over(store, setup, &task, work.run) {
            Ok(commit) => HandedOver {
                commit,
                problem: None,
            },
            // The board itself: the next tick tries again.
            Err(error @ crate::Error::Server(_)) => return Err(error),
            Err(error) => {
                let hint = error.hint().map(|hint| format!(" ({hint})"));
                let problem = format!("{error}{}", hint.unwrap_or_default());
                let text = format!(
                    "The work of attempt {} stays on {}: {problem}",
                    work.run,
                    installation_host(&own)
                );
                store.add_comment(&work.task, AUTHOR, &text)?;
                HandedOver {
                    commit: None,
                    problem: Some(problem),
                }
            }
        };
        store.note_handed_over(&work.task, work.run, &handed)?;
    }
    Ok(())
}

/// Gives the newest commit, of a card with a repository.
fn hand_over(
    store: &StoredBoard,
    setup: &WorkerSetup,
    task: &Task,
    run: RunId,
) -> Result<Option<String>> {
    if let Some(address) = &task.repository {
        let git = helper_git(setup).map_err(RepositoryError::from)?;
        let mirror = Mirror::of(store.board(), address, git)?;
        let target = store.board().workspace_of(&task.id)?;
        if !mirror.has_worktree(&target) {
            return Ok(None);
        }
        return Ok(mirror.push(&target, &task.work_branch())?);
    }
    if task.workspace() == Some(WorkspaceKind::Scratch) {
        send_workspace(store, &task.id, run)?;
    }
    Ok(None)
}

fn fetch_awaited(store: &StoredBoard, setup: &WorkerSetup) -> Result<()> {
    for (address, commit) in store.awaited_repositories()? {
        let git = helper_git(setup).map_err(RepositoryError::from)?;
        let mirror = Mirror::of(store.board(), &address, git)?;
        let is_known = commit.is_none_or(|commit| mirror.has(&commit));
        if is_known && mirror.age().is_some_and(|age| age < FRESH) {
            continue;
        }
        if let Err(error) = mirror.fetch() {
            // A card that needs it says so when it is started.
            tracing::warn!(%error, "a repository was not fetched");
        }
    }
    Ok(())
}
