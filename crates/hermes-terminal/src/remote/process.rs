//! Background processes on a remote host: started, asked about, ended.
//!
//! A process writes to a file there and a shell beside it writes down how it ended, so both are known
//! after Hermes has been away. All processes of a host are asked about in one go.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hermes_proc::{KillOutcome, KillTiming};
use memchr::memmem;

use super::command::{check_workdir, requested_directory};
use super::error::RemoteError;
use super::exchange::Over;
use super::host::{KILL_BOUND, RemoteHost, seeds_of};
use super::request::{Directory, Execution, Verb};
use super::script_run::ScriptRequest;
use crate::backend::{BackendProcess, moved_note};
use crate::background::{
    PolledProcess, ProcessHost, ProcessHostError, PtyState, StartError, StartedBy, StartedProcess,
    StatusAnswer, StatusQuestion,
};
use crate::shell::WorkdirError;
use crate::shell::report::report_nonce;

/// How long starting a process may take.
const START_LIMIT: Duration = Duration::from_secs(20);
/// How long asking for news may take.
const POLL_LIMIT: Duration = Duration::from_secs(8);
/// How much of an output is fetched at once; of more than that, only the end.
const MOST_NEWS: usize = 256 * 1024;

impl RemoteHost {
    pub(super) fn start_process(
        self: &Arc<Self>,
        process: &BackendProcess<'_>,
    ) -> Result<StartedProcess, StartError> {
        check_workdir(process.workdir)?;
        let _active = self.count_in();
        self.prepare();
        let session = process.session;
        self.ensure_login(session, process.interrupt, process.shutdown)
            .map_err(|error| failed(&error))?;
        self.ready_control();
        let state = session.snapshot();
        let requested = requested_directory(process.workdir, &state.cwd);
        let executed = self
            .execute(
                &Execution {
                    verb: Verb::Start(&files_of(process.id)),
                    state: &state,
                    directory: match process.workdir {
                        Some(_) => Directory::Exactly(&requested),
                        None => Directory::Nearest(&requested),
                    },
                    command: process.command.as_bytes(),
                    joins_errors: true,
                    reports: false,
                    input: b"",
                    limit: START_LIMIT,
                    interrupts: &[process.interrupt, process.shutdown],
                    shutdown: Some(process.shutdown),
                    revives: true,
                },
                &mut |_| {},
            )
            .map_err(|error| failed(&error))?;
        let known = &executed.known;
        if known.is_misplaced {
            return Err(WorkdirError::Missing(requested).into());
        }
        if known.has_no_files {
            let host = self.transport.describe();
            return Err(StartError::Failed(format!(
                "could not create the files of the process in /tmp of {host}"
            )));
        }
        let started = match (executed.over, &known.started) {
            (Over::Ended, Some(started)) => started,
            (Over::Ended, None) => return Err(failed(&self.no_process(known.status))),
            (Over::Interrupted, _) => return Err(failed(&RemoteError::Interrupted)),
            (Over::TimedOut, _) => {
                return Err(failed(&RemoteError::TimedOut { limit: START_LIMIT }));
            }
            (Over::Broken, _) => return Err(failed(&self.lost_while_running(String::new()))),
        };
        let seed = |pid: u32, time: Option<u64>| match time {
            Some(time) => format!("{pid}:{time}"),
            None => format!("{pid}:-"),
        };
        let mut seeds = seed(started.pid, started.start_time);
        if let Some((launcher, time)) = started.launcher {
            seeds = format!("{seeds} {}", seed(launcher, time));
        }
        let seeds = seeds_of(&seeds, executed.mark);
        let cwd = PathBuf::from(OsString::from_vec(started.cwd.clone()));
        let cwd_note = started.has_moved.then(|| moved_note(&requested, &cwd));
        if process.workdir.is_none() && (cwd_note.is_some() || !state.cwd.is_absolute()) {
            session.update(|state| state.cwd.clone_from(&cwd));
        }
        self.background.fetch_add(1, Ordering::AcqRel);
        let host: Arc<dyn ProcessHost> = Arc::clone(self) as _;
        Ok(StartedProcess {
            pid: started.pid,
            start_time: 0,
            cwd,
            cwd_note,
            pty: if process.pty {
                PtyState::Unsupported
            } else {
                PtyState::NotRequested
            },
            mark: String::new(),
            started_by: StartedBy::Host(PolledProcess::new(started.pid, seeds, host)),
        })
    }
}

impl ProcessHost for RemoteHost {
    fn ask(
        self: Arc<Self>,
        questions: &[StatusQuestion],
    ) -> Result<BTreeMap<String, StatusAnswer>, ProcessHostError> {
        let nonce = report_nonce();
        let request = ScriptRequest {
            script: &script_of(questions, &nonce),
            input: b"",
            directory: None,
            limit: POLL_LIMIT,
            most_output: questions.len() * (MOST_NEWS + 1024),
            interrupt: None,
        };
        // A host that is gone is not brought back to hear that nothing runs on it.
        match self.run_script(&request, false) {
            Ok(outcome) => Ok(answers(&outcome.stdout, &nonce)),
            Err(error @ RemoteError::Gone { .. }) => Err(ProcessHostError::Gone(error.to_string())),
            Err(error) => Err(ProcessHostError::Unanswered(error.to_string())),
        }
    }

    fn kill(&self, seeds: &str, grace: Duration, force: bool) -> Result<KillOutcome, String> {
        let timing = KillTiming {
            grace,
            timeout: grace + KILL_BOUND,
            force,
        };
        let killed = self.kill_tree(seeds, timing, self.shell_kind());
        if !killed.is_certain {
            let host = self.transport.describe();
            return Err(format!(
                "{host} did not answer; the process may still be running"
            ));
        }
        Ok(KillOutcome {
            forced: killed.forced || !killed.survivors.is_empty() && force,
            survivors: killed.survivors,
        })
    }

    fn asking(&self) -> &Mutex<()> {
        &self.polling
    }

    fn forget(&self) {
        self.background.fetch_sub(1, Ordering::AcqRel);
    }
}

fn failed(error: &RemoteError) -> StartError {
    StartError::Failed(format!("Failed to execute command: {}", error.with_hint()))
}

fn files_of(id: &str) -> String {
    format!("/tmp/hermes_bg_{id}")
}

/// For each process: whether it lives, how it ended, how much it has printed, and the new part of
/// that. The end is read first, so that what was printed before it is there.
fn script_of(questions: &[StatusQuestion], nonce: &str) -> String {
    let mut script = format!(
        "ask() {{ e=; IFS= read -r e <\"$2.exit\"; a=0; kill -0 \"$3\" && a=1; \
         s=$(wc -c <\"$2.log\"); s=$((s+0)); o=$4; \
         if [ $((s-o)) -gt {MOST_NEWS} ]; then o=$((s-{MOST_NEWS})); fi; \
         printf '\\n{nonce} %s %s %s %s\\n' \"$1\" \"$a\" \"${{e:--}}\" \"$s\"; \
         if [ \"$s\" -gt \"$o\" ]; then tail -c +$((o+1)) \"$2.log\" | head -c $((s-o)); fi; }}\n"
    );
    for StatusQuestion { id, pid, offset } in questions {
        script.push_str(&format!("ask {id} {} {pid} {offset}\n", files_of(id)));
    }
    script.push_str(&format!("printf '\\n{nonce} end\\n'\n"));
    script
}

fn answers(bytes: &[u8], nonce: &str) -> BTreeMap<String, StatusAnswer> {
    let head = format!("\n{nonce} ");
    let mut answers = BTreeMap::new();
    let heads: Vec<usize> = memmem::find_iter(bytes, head.as_bytes()).collect();
    for (found, next) in heads.iter().zip(heads.iter().skip(1)) {
        let Some(answer) = bytes.get(found + head.len()..*next) else {
            continue;
        };
        let Some(end) = memchr::memchr(b'\n', answer) else {
            continue;
        };
        let (line, output) = answer.split_at(end);
        let line = String::from_utf8_lossy(line);
        let mut words = line.split(' ');
        let (Some(id), Some(alive), Some(exit), Some(size)) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            continue;
        };
        answers.insert(
            id.to_owned(),
            StatusAnswer {
                is_alive: alive == "1",
                exit_code: exit.parse().ok(),
                size: size.parse().unwrap_or(0),
                output: output.get(1..).unwrap_or_default().to_owned(),
            },
        );
    }
    answers
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn answers_are_read_whatever_was_printed() {
        let bytes = b"\nnX a 1 - 3\no\nX\nnX b 0 137 0\n\nnX c 0\nnX end\n";
        let answers = answers(bytes, "nX");
        let a = StatusAnswer {
            is_alive: true,
            exit_code: None,
            size: 3,
            output: b"o\nX".to_vec(),
        };
        let b = StatusAnswer {
            exit_code: Some(137),
            ..StatusAnswer::default()
        };
        assert_eq!(answers, [("a".to_owned(), a), ("b".to_owned(), b)].into());
    }
}
