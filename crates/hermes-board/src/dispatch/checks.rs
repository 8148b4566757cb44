//! Acceptance checks: commands that must pass before a card counts as done.
//!
//! Whoever completes a card with checks runs them, here: in the card's workspace, one after the
//! other, each with a time limit, the environment of a user's script and nothing of it left behind.
//! The first that does not pass decides. A process that dies meanwhile leaves a round that the next
//! one clears away.

use std::path::{Path, PathBuf};
use std::time::Duration;

use hermes_proc::{
    Ended, EnvPlan, EnvRequest, SpawnClass, TailedSpec, find_on_path, is_same_live_process,
};

use crate::boards::{Board, BoardHome};
use crate::dispatch::local::{
    LocalWorkshop, ProcessSpace, WorkerSetup, check_mark, end_earlier_checks, pids,
};
use crate::dispatch::{Children, Workshop};
use crate::files::{complete_card, finish_card_checks};
use crate::model::{Check, CheckEvidence, Checker, TaskId};
use crate::store::{
    BoardStore, CheckOutcome, CheckStart, ChecksBegun, CompleteOutcome, Completed, Completion,
    FailurePolicy, Release,
};
use crate::{Claimer, Result};

/// Bytes of the end of a check's output that are kept as evidence.
const KEPT_OUTPUT: usize = 4096;
/// From SIGTERM to SIGKILL for a check whose time is up.
const GRACE: Duration = Duration::from_secs(2);
/// Added to the time all checks may take when the card is claimed for them.
const CLAIM_MARGIN: u64 = 60;

/// What checks are run with.
pub struct CheckSetup<'c> {
    /// The board.
    pub board: &'c Board,
    /// All boards.
    pub home: &'c BoardHome,
    /// Environment of children, and where git is if the card needs a worktree.
    pub workers: &'c WorkerSetup,
    /// How long one check may take.
    pub limit: Duration,
    /// When failures are too many.
    pub policy: FailurePolicy,
    /// Takes secrets out of what a check printed.
    pub redact: &'c dyn Fn(&str) -> String,
}

impl std::fmt::Debug for CheckSetup<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CheckSetup")
            .field("board", &self.board)
            .field("limit", &self.limit)
            .field("policy", &self.policy)
            .finish_non_exhaustive()
    }
}

/// What came of a completion.
#[derive(Debug, Clone, PartialEq)]
pub enum Finish {
    /// The card is done; so many checks passed.
    Done {
        /// The completion.
        completed: Box<Completed>,
        /// How many checks were run.
        checks: usize,
    },
    /// A check did not pass.
    CheckFailed {
        /// The one.
        evidence: CheckEvidence,
        /// What became of the card.
        release: Release,
    },
    /// Somebody changed the card while the checks ran.
    LostRace,
}

/// Completes a card. If it has checks they are run first, and only if all pass is it done.
pub fn complete(
    store: &mut dyn BoardStore,
    id: &TaskId,
    completion: &Completion,
    setup: &CheckSetup<'_>,
) -> Result<Finish> {
    let checks = match complete_card(store, setup.home, id, completion)? {
        CompleteOutcome::Done(completed) => {
            return Ok(Finish::Done {
                completed,
                checks: 0,
            });
        }
        CompleteOutcome::NeedsChecks(checks) => checks,
    };
    let begun = store.begin_checks(
        id,
        completion,
        &CheckStart {
            checker: this_process(),
            ttl_seconds: claim_seconds(setup.limit, checks.len()),
            is_gone: &is_gone,
        },
    )?;
    let session = begun.session.id;
    let verdict = run_all(store, &begun, setup).and_then(|()| {
        finish_card_checks(store, setup.home, id, session, completion, &setup.policy)
    });
    match verdict {
        Ok(CheckOutcome::Done(completed)) => Ok(Finish::Done {
            completed,
            checks: begun.checks.len(),
        }),
        Ok(CheckOutcome::Failed { evidence, release }) => {
            Ok(Finish::CheckFailed { evidence, release })
        }
        Ok(CheckOutcome::LostRace) => Ok(Finish::LostRace),
        Err(error) => {
            if let Err(second) = store.abandon_checks(session) {
                // The first error says what is wrong; the round is cleared away by the next one.
                tracing::warn!(error = %second, task = id.as_str(), "could not give up checks");
            }
            Err(error)
        }
    }
}

/// Runs checks until one does not pass, recording each.
fn run_all(store: &mut dyn BoardStore, begun: &ChecksBegun, setup: &CheckSetup<'_>) -> Result<()> {
    let session = begun.session.id;
    let place = clear_away(begun, setup).and_then(|()| workspace(begun, setup));
    for check in &begun.checks {
        let evidence = match &place {
            Ok(directory) => run_one(check, &begun.task.id, directory, setup),
            Err(problem) => could_not_run(check, problem),
        };
        store.record_check(session, &evidence)?;
        if !evidence.passed() {
            break;
        }
    }
    Ok(())
}

/// Ends what is left of a round whose process was killed: it would work on the same files.
fn clear_away(begun: &ChecksBegun, setup: &CheckSetup<'_>) -> std::result::Result<(), String> {
    let patience = setup.workers.timing.patience;
    let survivors = end_earlier_checks(setup.board, &begun.task.id, patience);
    if survivors.is_empty() {
        return Ok(());
    }
    let pids = pids(&survivors);
    Err(format!(
        "processes of an earlier round could not be ended (pid {pids})"
    ))
}

/// Where the card was worked on; a card that nobody worked on gets its directory now.
fn workspace(begun: &ChecksBegun, setup: &CheckSetup<'_>) -> std::result::Result<PathBuf, String> {
    let mut children = Children::default();
    let mut workshop = LocalWorkshop {
        board: setup.board,
        home: setup.home,
        setup: setup.workers,
        children: &mut children,
    };
    workshop.prepare(&begun.task).map(|resolved| resolved.path)
}

fn run_one(check: &Check, id: &TaskId, cwd: &Path, setup: &CheckSetup<'_>) -> CheckEvidence {
    let mark = check_mark(&setup.board.database, id);
    let mut request = EnvRequest::new(
        SpawnClass::UserScript,
        &setup.workers.base,
        &setup.workers.policy,
    );
    request.exec_id = Some(&mark);
    let env = EnvPlan::build(&request);
    let Some(shell) = find_on_path("sh".as_ref(), env.get("PATH")) else {
        return could_not_run(check, "there is no shell on PATH");
    };
    let run = TailedSpec {
        program: &shell,
        args: vec!["-c".into(), check.command.as_str().into()],
        cwd,
        env: &env,
        limit: setup.limit,
        grace: GRACE,
        keep: KEPT_OUTPUT,
    }
    .run();
    match run {
        Ok(tailed) => CheckEvidence {
            position: check.position,
            command: check.command.clone(),
            exit_code: match tailed.ended {
                Some(Ended::Exited(code)) => Some(code),
                Some(Ended::Signalled(_)) | None => None,
            },
            timed_out: tailed.ended.is_none(),
            output: (setup.redact)(&end_of_text(&tailed.output, tailed.truncated)),
            duration_ms: u64::try_from(tailed.duration.as_millis()).unwrap_or(u64::MAX),
        },
        Err(error) => could_not_run(check, &error.to_string()),
    }
}

fn could_not_run(check: &Check, problem: &str) -> CheckEvidence {
    CheckEvidence {
        position: check.position,
        command: check.command.clone(),
        exit_code: None,
        timed_out: false,
        output: format!("the check could not be run: {problem}"),
        duration_ms: 0,
    }
}

/// Bytes as text, without a character or line that was cut at the beginning.
fn end_of_text(bytes: &[u8], was_cut: bool) -> String {
    let text = String::from_utf8_lossy(bytes);
    match text.split_once('\n') {
        Some((_, rest)) if was_cut && !rest.is_empty() => rest.to_owned(),
        _ => text.into_owned(),
    }
}

fn claim_seconds(limit: Duration, checks: usize) -> i64 {
    let all = limit.as_secs().saturating_mul(checks as u64);
    i64::try_from(all.saturating_add(CLAIM_MARGIN)).unwrap_or(i64::MAX)
}

fn this_process() -> Checker {
    let pid = std::process::id();
    Checker {
        lock: Claimer::of_this_process().lock(),
        pid,
        identity: ProcessSpace::own().identity_of(pid),
    }
}

/// Whether the process that began a round is gone. Of one on another machine that cannot be said.
fn is_gone(checker: &Checker) -> bool {
    let here = ProcessSpace::own();
    match &checker.identity {
        Some(identity) => match here.process(checker.pid, identity) {
            Some(process) => !is_same_live_process(&process),
            None => Claimer::of_this_process().shares_host_with(&checker.lock),
        },
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn a_cut_beginning_is_left_out() {
        assert_eq!(end_of_text(b"one\ntwo\n", false), "one\ntwo\n");
        assert_eq!(end_of_text(b"\xbfne\ntwo\n", true), "two\n");
        assert_eq!(end_of_text(b"endless", true), "endless");
        assert_eq!(end_of_text(b"endless\n", true), "endless\n");
    }

    #[test]
    fn we_are_not_gone_and_somebody_with_our_number_is() {
        let me = this_process();
        assert!(!is_gone(&me));
        let mut before = me.clone();
        before.identity.as_mut().unwrap().start += 1;
        assert!(is_gone(&before));
        let mut other_boot = me.clone();
        other_boot.identity.as_mut().unwrap().boot_id = "another".to_owned();
        assert!(is_gone(&other_boot));
        let elsewhere = Checker {
            lock: "elsewhere:1".to_owned(),
            ..other_boot
        };
        assert!(!is_gone(&elsewhere));
        let unknown = Checker {
            identity: None,
            ..me
        };
        assert!(!is_gone(&unknown));
    }

    #[test]
    fn the_claim_outlasts_all_checks() {
        assert_eq!(claim_seconds(Duration::from_mins(10), 3), 1860);
        assert_eq!(claim_seconds(Duration::MAX, 3), i64::MAX);
    }
}
