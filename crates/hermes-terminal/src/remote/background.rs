//! Background processes elsewhere: started, asked for news, ended.
//!
//! A process writes to a file there and a shell beside it writes down how it ended, so both are
//! known after we have been away. All processes of a place are asked for in one go. Who they belong to
//! and who is told is for the registry.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use memchr::memmem;

use super::control::Patience;
use super::error::RemoteError;
use super::exchange::Over;
use super::foreground::wanted_directory;
use super::internal::InternalRun;
use super::request::{Directory, Request, Verb};
use super::site::Execution;
use super::terminal::{RemoteTerminal, patience};
use crate::local::ToolContext;
use crate::local::foreground::{missing_directory, moved_note};
use crate::local::report::report_nonce;
use crate::session::ShellState;

/// How long starting a process may take.
const START_LIMIT: Duration = Duration::from_secs(20);
/// How long asking for news may take.
const POLL_LIMIT: Duration = Duration::from_secs(8);
/// How much of an output is fetched at once; of more than that, only the end.
const MOST_NEWS: usize = 256 * 1024;
/// For a kill as a whole, beyond the grace.
const KILL_BOUND: Duration = Duration::from_secs(5);

/// A process that was started.
#[derive(Debug)]
pub(crate) struct RemoteStarted {
    pub(crate) pid: u32,
    /// Where it runs, without links.
    pub(crate) cwd: PathBuf,
    /// That this is not where it should.
    pub(crate) note: Option<String>,
    pub(crate) process: RemoteProcess,
}

/// A process that runs elsewhere. Counted as live there until it is dropped.
#[derive(Debug)]
pub(crate) struct RemoteProcess {
    pid: u32,
    /// By what its processes are known to the kill program.
    seeds: String,
    /// How much of its output has been fetched.
    offset: u64,
    /// Whether it was missing at the last look, without a word about its end.
    is_missing: bool,
    remote: Arc<RemoteTerminal>,
}

/// Why a process was not started.
#[derive(Debug)]
pub(crate) enum NotStarted {
    /// Its directory is missing.
    Directory(String),
    /// Something else.
    Other(String),
}

/// What became of a kill.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum RemoteKill {
    /// Nothing is left; whether SIGKILL was needed.
    Gone { forced: bool },
    /// These are left.
    Survived(Vec<u32>),
    /// Nobody can tell, for this reason.
    Unknown(String),
}

/// What is new about a process.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct News {
    pub(crate) output: Vec<u8>,
    pub(crate) state: NewState,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum NewState {
    #[default]
    Running,
    /// It ended with this code.
    Exited(i32),
    /// It is not there, and nobody wrote down why.
    Lost,
}

/// A question about one process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Question {
    pub(crate) id: String,
    pid: u32,
    offset: u64,
}

impl RemoteProcess {
    pub(crate) fn question(&self, id: &str) -> Question {
        Question {
            id: id.to_owned(),
            pid: self.pid,
            offset: self.offset,
        }
    }

    /// The place it runs in.
    pub(crate) fn place(&self) -> &Arc<RemoteTerminal> {
        &self.remote
    }

    /// By what its processes are known to a kill.
    pub(crate) fn seeds(&self) -> &str {
        &self.seeds
    }

    /// What an answer means for it.
    pub(crate) fn take(&mut self, answer: &Answer) -> News {
        self.offset = self.offset.max(answer.size);
        let state = match (answer.exit_code, answer.is_alive) {
            (Some(code), _) => NewState::Exited(code),
            (None, true) => NewState::Running,
            // Its end may be about to be written down: it is looked at once more.
            (None, false) if !self.is_missing => {
                self.is_missing = true;
                NewState::Running
            }
            (None, false) => NewState::Lost,
        };
        News {
            output: answer.output.clone(),
            state,
        }
    }
}

/// An answer about one process.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Answer {
    is_alive: bool,
    exit_code: Option<i32>,
    /// Size of its output so far.
    size: u64,
    output: Vec<u8>,
}

impl Drop for RemoteProcess {
    fn drop(&mut self) {
        self.remote.site.background.fetch_sub(1, Ordering::AcqRel);
    }
}

impl RemoteTerminal {
    /// Starts a process in the caller's session.
    pub(crate) fn start_background(
        self: &Arc<Self>,
        id: &str,
        command: &str,
        workdir: Option<&str>,
        context: &ToolContext<'_>,
    ) -> Result<RemoteStarted, NotStarted> {
        let _active = self.site.count_in();
        self.prepare();
        let session = context
            .terminal
            .sessions
            .get(context.session, &self.start_directory());
        self.ensure_login(&session, context)
            .map_err(|error| other(&error))?;
        self.site.ready_control();
        let state = session.snapshot();
        let wanted = wanted_directory(workdir, &state.cwd);
        let directory = match workdir {
            Some(_) => Directory::Exactly(&wanted),
            None => Directory::Nearest(&wanted),
        };
        let started = self.start_process(id, command, &state, directory, context)?;
        if workdir.is_none() && (started.note.is_some() || !state.cwd.is_absolute()) {
            session.update(|state| state.cwd.clone_from(&started.cwd));
        }
        Ok(started)
    }

    fn start_process(
        self: &Arc<Self>,
        id: &str,
        command: &str,
        state: &ShellState,
        directory: Directory<'_>,
        context: &ToolContext<'_>,
    ) -> Result<RemoteStarted, NotStarted> {
        let files = files_of(id);
        let shutdown = &context.terminal.shutdown;
        let execution = Execution {
            request: &|hello, nonces| {
                Request {
                    verb: Verb::Start(&files),
                    state,
                    directory,
                    command: command.as_bytes(),
                    joins_errors: true,
                    reports: false,
                    has_input: false,
                    loop_nonce: &nonces.of_loop,
                    nonce: &nonces.of_shell,
                }
                .bytes(hello)
            },
            input: None,
            limit: START_LIMIT,
            interrupts: &[context.interrupt, shutdown],
            on_progress: None,
            patience: &|| patience(Some(shutdown)),
            revives: true,
        };
        let executed = self
            .site
            .execute(&execution, &mut |_| {})
            .map_err(|error| other(&error))?;
        let known = &executed.known;
        if known.is_misplaced {
            let (Directory::Exactly(path) | Directory::Nearest(path)) = directory;
            return Err(NotStarted::Directory(missing_directory(path).output));
        }
        if known.has_no_files {
            let place = self.describe();
            return Err(NotStarted::Other(format!(
                "the files of the process could not be made in /tmp of {place}"
            )));
        }
        let started = match (executed.over, &known.started) {
            (Over::Ended, Some(started)) => started,
            (Over::Ended, None) => return Err(other(&self.no_process(known.status))),
            (Over::Interrupted, _) => return Err(other(&RemoteError::Interrupted)),
            (Over::TimedOut, _) => {
                return Err(other(&RemoteError::TimedOut { limit: START_LIMIT }));
            }
            (Over::Broken, _) => {
                return Err(other(&RemoteError::LostWhileRunning {
                    place: self.describe(),
                    rest: String::new(),
                }));
            }
        };
        let seed = |pid: u32, time: Option<u64>| match time {
            Some(time) => format!("{pid}:{time}"),
            None => format!("{pid}:-"),
        };
        let mut seeds = seed(started.pid, started.start_time);
        if let Some((launcher, time)) = started.launcher {
            seeds = format!("{seeds} {}", seed(launcher, time));
        }
        let cwd = PathBuf::from(OsString::from_vec(started.cwd.clone()));
        self.site.background.fetch_add(1, Ordering::AcqRel);
        Ok(RemoteStarted {
            pid: started.pid,
            note: started.has_moved.then(|| {
                let (Directory::Exactly(path) | Directory::Nearest(path)) = directory;
                moved_note(path, &cwd)
            }),
            cwd,
            process: RemoteProcess {
                pid: started.pid,
                seeds,
                offset: 0,
                is_missing: false,
                remote: Arc::clone(self),
            },
        })
    }

    /// Asks for news of processes.
    pub(crate) fn ask(
        &self,
        questions: &[Question],
    ) -> Result<BTreeMap<String, Answer>, RemoteError> {
        let nonce = report_nonce();
        let script = script_of(questions, &nonce);
        let run = InternalRun {
            script: &script,
            input: b"",
            directory: None,
            limit: POLL_LIMIT,
            most_bytes: questions.len() * (MOST_NEWS + 1024),
            interrupt: None,
        };
        // A place that is gone is not brought back to hear that nothing runs in it.
        let output = self.run_script(run, false)?;
        Ok(answers(&output.stdout, &nonce))
    }
}

impl RemoteTerminal {
    /// Ends a process and everything it started.
    pub(crate) fn kill_background(&self, seeds: &str, grace: Duration, force: bool) -> RemoteKill {
        let patience = Patience {
            grace,
            force,
            bound: grace + KILL_BOUND,
        };
        let kind = self.site.shell_kind();
        let killed = self.site.kill(seeds, patience, kind);
        if !killed.is_certain {
            let place = self.describe();
            return RemoteKill::Unknown(format!(
                "{place} did not answer; the process may still be running"
            ));
        }
        if killed.survivors.is_empty() {
            RemoteKill::Gone {
                forced: killed.forced,
            }
        } else {
            RemoteKill::Survived(killed.survivors)
        }
    }
}

fn other(error: &RemoteError) -> NotStarted {
    let hint = error
        .hint()
        .map(|hint| format!(" ({hint})"))
        .unwrap_or_default();
    NotStarted::Other(format!("Failed to execute command: {error}{hint}"))
}

fn files_of(id: &str) -> String {
    format!("/tmp/hermes_bg_{id}")
}

/// For each process: whether it lives, how it ended, how much it has printed, and the new part of
/// that. The end is looked at first, so that what was printed before it is there.
fn script_of(questions: &[Question], nonce: &str) -> String {
    let mut script = format!(
        "ask() {{ e=; IFS= read -r e <\"$2.exit\"; a=0; kill -0 \"$3\" && a=1; \
         s=$(wc -c <\"$2.log\"); s=$((s+0)); o=$4; \
         if [ $((s-o)) -gt {MOST_NEWS} ]; then o=$((s-{MOST_NEWS})); fi; \
         printf '\\n{nonce} %s %s %s %s\\n' \"$1\" \"$a\" \"${{e:--}}\" \"$s\"; \
         if [ \"$s\" -gt \"$o\" ]; then tail -c +$((o+1)) \"$2.log\" | head -c $((s-o)); fi; }}\n"
    );
    for Question { id, pid, offset } in questions {
        script.push_str(&format!("ask {id} {} {pid} {offset}\n", files_of(id)));
    }
    script.push_str(&format!("printf '\\n{nonce} end\\n'\n"));
    script
}

fn answers(bytes: &[u8], nonce: &str) -> BTreeMap<String, Answer> {
    let head = format!("\n{nonce} ");
    let mut answers = BTreeMap::new();
    let places: Vec<usize> = memmem::find_iter(bytes, head.as_bytes()).collect();
    for (place, next) in places.iter().zip(places.iter().skip(1)) {
        let Some(answer) = bytes.get(place + head.len()..*next) else {
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
            Answer {
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
        let a = Answer {
            is_alive: true,
            exit_code: None,
            size: 3,
            output: b"o\nX".to_vec(),
        };
        let b = Answer {
            exit_code: Some(137),
            ..Answer::default()
        };
        assert_eq!(answers, [("a".to_owned(), a), ("b".to_owned(), b)].into());
    }
}
