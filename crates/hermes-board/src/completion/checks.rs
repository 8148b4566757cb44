//! Acceptance checks: commands that must pass before a card counts as done.
//!
//! The process that completes a card runs its checks in the card's workspace, one after the other,
//! each with a time limit and the environment of a user's script: where the work was done, or on this
//! machine if a person asked for that. The first check that fails decides.
//! If the process dies meanwhile, the next completion abandons its session.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use hermes_proc::{
    ChildSpec, EnvPlan, EnvRequest, ExitStatus, SpawnClass, TailLimits, find_on_path,
    is_same_live_process,
};

use crate::Result;
use crate::claim_lock::{is_same_host, own_lock};
use crate::completion::check_backend::{ConfinedCheck, RemoteChecks};
use crate::completion::{CompletionSetup, finish_checks};
use crate::dispatch::local::{ProcessSpace, check_mark, pids, terminate_earlier_checks};
use crate::dispatch::{Children, LocalWorkerHost, WorkerHost};
use crate::model::{Check, CheckEvidence, Checker, Task, TaskId};
use crate::plan::OwnHost;
use crate::store::{BoardStore, CheckOutcome, CheckStart, ChecksBegun, Completion};

/// Bytes of the end of a check's output that are kept as evidence.
const KEPT_OUTPUT: usize = 4096;
/// From SIGTERM to SIGKILL for a check whose time is up.
const GRACE: Duration = Duration::from_secs(2);
/// Added to the time all checks may take when the card is claimed for them.
const CLAIM_MARGIN: u64 = 60;

/// Runs the checks of a card and ends their session: the card is done, or the attempt failed.
pub(super) fn run(
    store: &mut dyn BoardStore,
    id: &TaskId,
    completion: &Completion,
    count: usize,
    setup: &CompletionSetup<'_>,
) -> Result<CheckOutcome> {
    let begun = store.begin_checks(
        id,
        completion,
        &CheckStart {
            checker: this_process(),
            ttl_seconds: claim_seconds(setup.check_timeout, count),
            is_gone: &is_gone,
        },
    )?;
    (setup.on_checks)(begun.checks.len());
    let session = begun.session.id;
    let outcome = run_all(store, &begun, setup).and_then(|passed| {
        let mut completion = completion.clone();
        if let Some(before_done) = setup.before_done.filter(|_| passed) {
            before_done(&mut completion)?;
        }
        finish_checks(store, id, session, &completion, setup)
    });
    if outcome.is_err()
        && let Err(error) = store.abandon_checks(session)
    {
        // The first error says what is wrong; the next completion abandons the session.
        tracing::warn!(%error, task = id.as_str(), "could not abandon a session of checks");
    }
    outcome
}

/// Runs checks until one fails, recording each; gives whether all passed.
fn run_all(
    store: &mut dyn BoardStore,
    begun: &ChecksBegun,
    setup: &CompletionSetup<'_>,
) -> Result<bool> {
    let session = begun.session.id;
    let workspace = terminate_leftovers(begun, setup).and_then(|()| workspace(begun, setup));
    let place = |here: bool| {
        let directory = workspace.clone()?;
        CheckPlace::prepare(&begun.task, directory, here, setup)
    };
    // Both are made ready at most once, and only if a check runs there.
    let (mut host, mut worker) = (None, None);
    for check in &begun.checks {
        let place = if check.on_host {
            host.get_or_insert_with(|| place(true))
        } else {
            worker.get_or_insert_with(|| place(false))
        };
        let evidence = match place {
            Ok(place) => place.run(check, &begun.task.id, setup),
            Err(problem) => could_not_run(check, problem),
        };
        store.record_check(session, &evidence)?;
        if !evidence.passed() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Terminates what a killed session left running: it would work on the same files.
fn terminate_leftovers(
    begun: &ChecksBegun,
    setup: &CompletionSetup<'_>,
) -> std::result::Result<(), String> {
    let timeout = setup.workers.timing.timeout;
    let survivors = terminate_earlier_checks(setup.board, &begun.task.id, timeout);
    if survivors.is_empty() {
        return Ok(());
    }
    let pids = pids(&survivors);
    Err(format!(
        "processes of earlier checks could not be terminated (pid {pids})"
    ))
}

/// The workspace of the card; a card that nobody worked on gets one now.
fn workspace(
    begun: &ChecksBegun,
    setup: &CompletionSetup<'_>,
) -> std::result::Result<PathBuf, String> {
    let mut children = Children::default();
    let mut host = LocalWorkerHost {
        board: setup.board,
        home: setup.home,
        setup: setup.workers,
        children: &mut children,
        limits: None,
        own: &OwnHost::default(),
    };
    host.prepare_workspace(&begun.task)
        .map(|resolved| resolved.path)
}

/// Where checks run.
enum CheckPlace {
    ThisMachine {
        directory: PathBuf,
        confined: Option<ConfinedCheck>,
    },
    Remote(Box<dyn RemoteChecks>),
}

impl CheckPlace {
    /// Makes ready this machine, or where the work on the card was done.
    fn prepare(
        task: &Task,
        directory: PathBuf,
        here: bool,
        setup: &CompletionSetup<'_>,
    ) -> std::result::Result<Self, String> {
        let Some(backend) = setup.check_backend else {
            return Ok(Self::ThisMachine {
                directory,
                confined: None,
            });
        };
        if !here && let Some(remote) = backend.remote(setup.board, task, &directory)? {
            return Ok(Self::Remote(remote));
        }
        Ok(Self::ThisMachine {
            confined: backend.confine(setup.board, task, &directory)?,
            directory,
        })
    }

    fn run(&self, check: &Check, id: &TaskId, setup: &CompletionSetup<'_>) -> CheckEvidence {
        match self {
            Self::ThisMachine {
                directory,
                confined,
            } => run_here(check, id, directory, confined.as_ref(), setup),
            Self::Remote(remote) => run_remotely(check, remote.as_ref(), setup),
        }
    }
}

fn run_remotely(
    check: &Check,
    remote: &dyn RemoteChecks,
    setup: &CompletionSetup<'_>,
) -> CheckEvidence {
    let begun = Instant::now();
    match remote.run(&check.command, setup.check_timeout, setup.interrupt) {
        Ok(result) => {
            let skipped = result.output.len().saturating_sub(KEPT_OUTPUT);
            let end = result.output.get(skipped..).unwrap_or_default();
            CheckEvidence {
                position: check.position,
                command: check.command.clone(),
                exit_code: result.exit_code,
                timed_out: result.timed_out,
                output: (setup.redact)(&end_of_text(end, skipped > 0)),
                duration_ms: u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX),
            }
        }
        Err(problem) => could_not_run(check, &problem),
    }
}

fn run_here(
    check: &Check,
    id: &TaskId,
    cwd: &Path,
    confined: Option<&ConfinedCheck>,
    setup: &CompletionSetup<'_>,
) -> CheckEvidence {
    let mark = check_mark(&setup.board.database, id);
    let mut request = EnvRequest::new(
        SpawnClass::UserScript,
        &setup.workers.base,
        &setup.workers.policy,
    );
    request.exec_id = Some(&mark);
    let env = EnvPlan::build(&request);
    let Some(shell) = find_on_path("sh".as_ref(), env.get("PATH")) else {
        return could_not_run(check, "no shell was found on PATH");
    };
    let mut variables: Vec<_> = env.into_variables().into_iter().collect();
    variables.extend(confined.into_iter().flat_map(|it| it.variables.clone()));
    let spec = ChildSpec {
        cwd: Some(cwd.to_owned()),
        sandbox: confined.map(|confined| Arc::clone(&confined.sandbox)),
        ..ChildSpec::new(shell, ["-c", &check.command], variables)
    };
    let run = spec.run_tailed(TailLimits {
        timeout: setup.check_timeout,
        grace: GRACE,
        keep: KEPT_OUTPUT,
    });
    match run {
        Ok(tailed) => CheckEvidence {
            position: check.position,
            command: check.command.clone(),
            exit_code: tailed.status.and_then(ExitStatus::code),
            timed_out: tailed.status.is_none(),
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
        output: format!("could not run the check: {problem}"),
        duration_ms: 0,
    }
}

/// Bytes as text, without the line that was cut off at the beginning.
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
        lock: own_lock(),
        pid,
        identity: ProcessSpace::own().identity_of(pid),
    }
}

/// Whether the process that began a session is gone; unknown for a process on another machine.
fn is_gone(checker: &Checker) -> bool {
    let here = ProcessSpace::own();
    match &checker.identity {
        Some(identity) => match here.process(checker.pid, identity) {
            Some(process) => !is_same_live_process(&process),
            None => is_same_host(&own_lock(), &checker.lock),
        },
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn a_cut_first_line_is_left_out() {
        assert_eq!(end_of_text(b"one\ntwo\n", false), "one\ntwo\n");
        assert_eq!(end_of_text(b"\xbfne\ntwo\n", true), "two\n");
        assert_eq!(end_of_text(b"endless", true), "endless");
        assert_eq!(end_of_text(b"endless\n", true), "endless\n");
    }

    #[test]
    fn a_checker_is_gone_if_its_identity_differs() {
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
