//! Completing a card, in one order for the command `kanban complete` and the tool `kanban_complete`:
//! the goal is judged, acceptance checks run, deliverables are copied out of the scratch workspace,
//! the card becomes done, and workspaces that are no longer needed are removed.

mod artifacts;
mod check_backend;
mod checks;
mod goal;

pub use check_backend::{CheckBackend, ConfinedCheck, RemoteChecks, RemoteResult};
pub use goal::{GoalClaim, GoalJudge, GoalVerdict};

use std::path::Path;
use std::time::Duration;

use hermes_proc::Wake;

use crate::boards::{Board, BoardHome};
use crate::dispatch::WorkerSetup;
use crate::dispatch::local::helper_git;
use crate::files::remove_finished_workspaces;
use crate::model::{CheckEvidence, Task, TaskId};
use crate::repository::Mirror;
use crate::store::{
    BoardStore, CheckOutcome, CompleteOutcome, Completed, Completion, FailurePolicy, Release,
};
use crate::{Error, RepositoryError, Result};
use artifacts::keep_artifacts;

/// Characters of a title in the message of a commit.
const COMMIT_TITLE: usize = 100;

/// What completing a card needs besides the board itself.
pub struct CompletionSetup<'c> {
    pub board: &'c Board,
    /// All boards.
    pub home: &'c BoardHome,
    /// Environment of the checks, and how a workspace is created for a card that nobody worked on.
    pub workers: &'c WorkerSetup,
    pub check_timeout: Duration,
    /// Where the checks run and what confines them; without it they run here, and nothing does.
    pub check_backend: Option<&'c dyn CheckBackend>,
    pub policy: FailurePolicy,
    /// Masks secrets in the output of a check.
    pub redact: &'c dyn Fn(&str) -> String,
    /// Judges cards with a goal; without a judge they pass.
    pub judge: Option<&'c dyn GoalJudge>,
    /// Ends a judgement early.
    pub interrupt: &'c Wake,
    /// The path of the workspace as the worker sees it, where that differs: in a container.
    pub workspace_seen: Option<&'c Path>,
    /// Called before the first check runs, with the number of checks.
    pub on_checks: &'c dyn Fn(usize),
    /// Called when every check has passed, before the card becomes done, and may add to what is
    /// recorded. If it fails, the card is not done.
    pub before_done: Option<&'c BeforeDone<'c>>,
}

/// What happens before a card becomes done.
pub type BeforeDone<'c> = dyn Fn(&mut Completion) -> Result<()> + 'c;

impl std::fmt::Debug for CompletionSetup<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CompletionSetup")
            .field("board", &self.board)
            .field("check_timeout", &self.check_timeout)
            .field("policy", &self.policy)
            .finish_non_exhaustive()
    }
}

/// Outcome of [`complete`].
#[derive(Debug, Clone, PartialEq)]
pub enum CompletionOutcome {
    Done {
        completed: Box<Completed>,
        /// How many checks passed.
        checks: usize,
        /// Why the goal of the card was not judged, if it has one.
        unjudged: Option<String>,
    },
    /// The goal of the card is not reached, with the reason; nothing was changed.
    GoalNotReached(String),
    CheckFailed {
        evidence: CheckEvidence,
        release: Release,
    },
    /// Somebody changed the card while its checks ran.
    LostRace,
}

/// Completes a card.
pub fn complete(
    store: &mut dyn BoardStore,
    id: &TaskId,
    completion: &Completion,
    setup: &CompletionSetup<'_>,
) -> Result<CompletionOutcome> {
    let task = known_task(store, id)?;
    let mut completion = completion.clone();
    if let (Some(seen), Some(workspace)) = (setup.workspace_seen, &task.workspace_path) {
        artifacts::use_host_paths(&mut completion, seen, Path::new(workspace));
    }
    let before_done = |completion: &mut Completion| {
        if let Some(before_done) = setup.before_done {
            before_done(completion)?;
        }
        push_branch(&task, setup)
    };
    let setup = &CompletionSetup {
        before_done: match &task.repository {
            Some(_) => Some(&before_done),
            None => setup.before_done,
        },
        ..*setup
    };
    let unjudged = match judge_goal(&task, &completion, setup) {
        GoalVerdict::Reached => None,
        // A judge who cannot be asked must not hold up work that is finished.
        GoalVerdict::Unjudged(reason) => Some(reason),
        GoalVerdict::NotYet(reason) => return Ok(CompletionOutcome::GoalNotReached(reason)),
    };
    // A card with checks comes to that once they have passed.
    if let Some(before_done) = setup.before_done
        && store.checks(id)?.is_empty()
    {
        before_done(&mut completion)?;
    }
    let (completed, checks) = match complete_card(store, setup.home, id, &completion)? {
        CompleteOutcome::Done(completed) => (completed, 0),
        CompleteOutcome::NeedsChecks(checks) => {
            match checks::run(store, id, &completion, checks.len(), setup)? {
                CheckOutcome::Done(completed) => (completed, checks.len()),
                CheckOutcome::Failed { evidence, release } => {
                    return Ok(CompletionOutcome::CheckFailed { evidence, release });
                }
                CheckOutcome::LostRace => return Ok(CompletionOutcome::LostRace),
            }
        }
    };
    Ok(CompletionOutcome::Done {
        completed,
        checks,
        unjudged,
    })
}

/// Commits what is not committed in the worktree of a card with a repository, and pushes its branch
/// there: what is done is where everybody finds it. Does nothing if the work is on another machine, which
/// has pushed it.
fn push_branch(task: &Task, setup: &CompletionSetup<'_>) -> Result<()> {
    let Some(address) = &task.repository else {
        return Ok(());
    };
    let git = helper_git(setup.workers).map_err(RepositoryError::from)?;
    let mirror = Mirror::of(setup.board, address, git)?;
    let target = setup.board.workspace_of(&task.id)?;
    if !mirror.has_worktree(&target) {
        return Ok(());
    }
    let branch = task.work_branch();
    let title = hermes_text::one_line(&task.title, COMMIT_TITLE);
    let message = format!("{title}\n\nCard: {}\n", task.id);
    mirror.commit_rest(&target, &branch, &message)?;
    mirror.push(&target, &branch)?;
    Ok(())
}

/// The verdict on the goal of a card; a card without one, or that is finished already, passes.
fn judge_goal(task: &Task, completion: &Completion, setup: &CompletionSetup<'_>) -> GoalVerdict {
    let is_open = task.goal_mode && !task.status().satisfies_children();
    let Some(judge) = setup.judge.filter(|_| is_open) else {
        return GoalVerdict::Reached;
    };
    let claim = GoalClaim {
        title: &task.title,
        body: task.body.as_deref().unwrap_or_default(),
        summary: completion.handoff().unwrap_or("(no summary was given)"),
    };
    judge.judge(&claim, setup.interrupt)
}

/// Completes a card without checks: copies its deliverables, makes it done, removes workspaces. A
/// card with checks is left as it is: see [`CompleteOutcome::NeedsChecks`].
pub fn complete_card(
    store: &mut dyn BoardStore,
    home: &BoardHome,
    id: &TaskId,
    completion: &Completion,
) -> Result<CompleteOutcome> {
    if !artifacts::may_name_files(completion) {
        let outcome = store.complete(id, completion)?;
        clean_up(home, &outcome);
        return Ok(outcome);
    }
    let task = known_task(store, id)?;
    // Nothing is copied for a card that is not completed yet.
    let checks = match task.workspace_path {
        Some(_) => store.checks(id)?,
        None => Vec::new(),
    };
    if !checks.is_empty() {
        return Ok(CompleteOutcome::NeedsChecks(checks));
    }
    let (completion, kept) = keep_artifacts(home, &task, completion)?;
    let outcome = store.complete(id, &completion)?;
    if matches!(outcome, CompleteOutcome::Done(_)) {
        kept.keep();
    }
    clean_up(home, &outcome);
    Ok(outcome)
}

/// Removes the workspaces that a completion has left without a reader.
fn clean_up(home: &BoardHome, outcome: &CompleteOutcome) {
    if let CompleteOutcome::Done(done) = outcome {
        remove_finished_workspaces(home, &done.finished_workspaces);
    }
}

/// Ends a session of checks; if all passed, the card is completed as by [`complete_card`].
fn finish_checks(
    store: &mut dyn BoardStore,
    id: &TaskId,
    session: i64,
    completion: &Completion,
    setup: &CompletionSetup<'_>,
) -> Result<CheckOutcome> {
    let task = known_task(store, id)?;
    let (completion, kept) = keep_artifacts(setup.home, &task, completion)?;
    let outcome = store.finish_checks(session, &completion, &setup.policy)?;
    if let CheckOutcome::Done(done) = &outcome {
        kept.keep();
        remove_finished_workspaces(setup.home, &done.finished_workspaces);
    }
    Ok(outcome)
}

fn known_task(store: &dyn BoardStore, id: &TaskId) -> Result<Task> {
    store.task(id)?.ok_or_else(|| Error::unknown(id))
}
