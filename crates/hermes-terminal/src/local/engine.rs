//! Runs one shell to its end: output, report, time, interrupts.
//!
//! One process, no thread, no file: a loop over descriptors that wakes only when something happens.
//! When it returns after a timeout or an interrupt, nothing of the command is left, or the names of
//! the survivors are in the result.

use std::ffi::OsString;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use hermes_proc::{Ended, KillTiming, ProcessTree, SessionChild, Wake, kill_tree};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

use super::memory::written;
use super::polling::{push, timespec};
use super::report;
use super::script::Script;
use super::shell::Shell;
use super::shell_start::{GatedShell, Pipes, ShellStart};
use crate::background::Guard;

/// Output that pauses for this long after the shell has ended belongs to something it left behind.
const SILENCE: Duration = Duration::from_millis(300);
/// Something left behind that never pauses is not listened to for longer than this.
const LONGEST_DRAIN: Duration = Duration::from_secs(3);
/// How often a caller hears that the command still runs.
const PROGRESS: Duration = Duration::from_secs(10);
const CHUNK: usize = 64 * 1024;
/// Most commands print less than this.
const FIRST_CHUNK: usize = 4 * 1024;

/// One shell to run.
pub(crate) struct ShellRun<'a> {
    pub(crate) shell: &'a Shell,
    /// Whether the shell reads the start-up files of a login.
    pub(crate) login: bool,
    pub(crate) script: &'a Script<'a>,
    pub(crate) cwd: &'a Path,
    pub(crate) variables: &'a [(OsString, OsString)],
    /// Value of `HERMES_EXEC_ID` among the variables.
    pub(crate) mark: &'a str,
    /// What the command reads; nothing if empty.
    pub(crate) input: &'a [u8],
    pub(crate) limit: Duration,
    pub(crate) interrupts: &'a [&'a Wake],
    pub(crate) on_progress: Option<&'a dyn Fn()>,
    /// Ends the command should we be killed.
    pub(crate) guard: Option<&'a Guard>,
}

/// How the shell came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Finish {
    /// By itself, or by a signal that was not ours.
    Ended(Ended),
    /// Killed at its time limit.
    TimedOut,
    /// Killed because someone raised a flag.
    Interrupted,
}

/// What a shell left.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) finish: Finish,
    /// What the shell said about itself.
    pub(crate) report: Vec<u8>,
    /// Processes that could not be killed.
    pub(crate) survivors: Vec<u32>,
}

impl ShellRun<'_> {
    /// Starts the shell and passes its output on until it has ended. An error means that nothing
    /// was run.
    pub(crate) fn run(&self, sink: &mut dyn FnMut(&[u8])) -> hermes_proc::Result<Outcome> {
        self.run_in(None, sink)
    }

    /// The same in a shell that was started ahead: with these variables, in this directory.
    pub(crate) fn run_in(
        &self,
        waiting: Option<GatedShell>,
        sink: &mut dyn FnMut(&[u8]),
    ) -> hermes_proc::Result<Outcome> {
        let guarded = self.guard.and_then(|guard| guard.look_after(self.mark));
        let (child, pipes) = self.start(waiting)?;
        let tree = ProcessTree {
            leader: child.pid(),
            start_time: child.start_time(),
            mark: self.mark.to_owned(),
            leader_is_ours: true,
        };
        if let Some(guarded) = &guarded {
            guarded.has_started(&tree);
        }
        let watch = Watch {
            run: self,
            child,
            tree: &tree,
            pipes,
            started: Instant::now(),
            written: 0,
            chunk: vec![0; FIRST_CHUNK],
        };
        watch.until_end(sink)
    }

    /// The waiting shell if it can be had, else a new one.
    fn start(&self, waiting: Option<GatedShell>) -> hermes_proc::Result<(SessionChild, Pipes)> {
        match waiting.map(|shell| shell.open(self.script)) {
            Some(Ok(opened)) => return Ok(opened),
            Some(Err(shell)) => shell.discard(),
            None => {}
        }
        let start = ShellStart {
            shell: self.shell,
            login: self.login,
            cwd: self.cwd,
            variables: self.variables,
        };
        start.start(self.script, !self.input.is_empty())
    }
}

struct Watch<'a> {
    run: &'a ShellRun<'a>,
    child: SessionChild,
    tree: &'a ProcessTree,
    pipes: Pipes,
    started: Instant,
    written: usize,
    chunk: Vec<u8>,
}

/// Which descriptors have something to say.
#[expect(clippy::struct_excessive_bools, reason = "one answer per descriptor")]
struct Ready {
    output: bool,
    input: bool,
    exit: bool,
    interrupt: bool,
}

impl Watch<'_> {
    fn until_end(mut self, sink: &mut dyn FnMut(&[u8])) -> hermes_proc::Result<Outcome> {
        let deadline = self.started + self.run.limit;
        let mut next_progress = self.started + PROGRESS;
        loop {
            let now = Instant::now();
            if now >= deadline {
                return self.kill(Finish::TimedOut, sink);
            }
            if now >= next_progress {
                next_progress = now + PROGRESS;
                if let Some(tell) = self.run.on_progress {
                    tell();
                }
            }
            let wait = deadline.min(next_progress).saturating_duration_since(now);
            let ready = self.poll(wait, true)?;
            if ready.interrupt {
                return self.kill(Finish::Interrupted, sink);
            }
            if ready.input {
                self.feed();
            }
            if ready.output {
                self.read_output(sink);
            }
            if ready.exit {
                return self.after_exit(sink);
            }
        }
    }

    /// The shell has ended; what it wrote is still in the pipes.
    fn after_exit(mut self, sink: &mut dyn FnMut(&[u8])) -> hermes_proc::Result<Outcome> {
        let end = Instant::now() + LONGEST_DRAIN;
        while self.pipes.output.is_some() && Instant::now() < end {
            if !self.poll(SILENCE, false)?.output {
                break;
            }
            self.read_output(sink);
        }
        self.end(None, Vec::new())
    }

    fn kill(mut self, finish: Finish, sink: &mut dyn FnMut(&[u8])) -> hermes_proc::Result<Outcome> {
        let killed = kill_tree(self.tree, KillTiming::default());
        // Only what is in the pipe already: a survivor may hold it open for ever, or fill it.
        let end = Instant::now() + SILENCE;
        while self.pipes.output.is_some()
            && Instant::now() < end
            && self.poll(Duration::ZERO, false)?.output
        {
            self.read_output(sink);
        }
        if killed.survivors.contains(&self.tree.leader) {
            // Waiting for it would take as long as the kernel needs; the result says who is left.
            return Ok(Outcome {
                finish,
                report: Vec::new(),
                survivors: killed.survivors,
            });
        }
        self.end(Some(finish), killed.survivors)
    }

    fn end(self, finish: Option<Finish>, survivors: Vec<u32>) -> hermes_proc::Result<Outcome> {
        let ended = self.child.reap()?;
        let report = written(&self.pipes.report, report::LONGEST);
        Ok(Outcome {
            finish: finish.unwrap_or(Finish::Ended(ended)),
            report,
            survivors,
        })
    }

    fn poll(&self, wait: Duration, running: bool) -> hermes_proc::Result<Ready> {
        let mut watched: Vec<PollFd<'_>> = Vec::with_capacity(6);
        let output = push(
            &mut watched,
            self.pipes.output.as_ref().map(AsFd::as_fd),
            PollFlags::IN,
        );
        let input = push(
            &mut watched,
            self.pipes.input.as_ref().map(AsFd::as_fd),
            PollFlags::OUT,
        );
        let exit = push(
            &mut watched,
            running.then(|| self.child.exit_descriptor()),
            PollFlags::IN,
        );
        let first_interrupt = watched.len();
        if running {
            for interrupt in self.run.interrupts {
                push(&mut watched, Some(interrupt.as_fd()), PollFlags::IN);
            }
        }
        match poll(&mut watched, Some(&timespec(wait))) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => {
                return Err(hermes_proc::Error::Wait {
                    program: self.run.shell.path.clone(),
                    source: errno.into(),
                });
            }
        }
        let is_ready = |place: Option<usize>| {
            place
                .and_then(|place| watched.get(place))
                .is_some_and(|fd| !fd.revents().is_empty())
        };
        Ok(Ready {
            output: is_ready(output),
            input: is_ready(input),
            exit: is_ready(exit),
            interrupt: watched
                .iter()
                .skip(first_interrupt)
                .any(|fd| !fd.revents().is_empty()),
        })
    }

    fn read_output(&mut self, sink: &mut dyn FnMut(&[u8])) {
        let is_full = match read_into(&mut self.chunk, &mut self.pipes.output) {
            None => false,
            Some(bytes) => {
                sink(bytes);
                bytes.len() == FIRST_CHUNK
            }
        };
        if is_full {
            self.chunk.resize(CHUNK, 0);
        }
    }

    fn feed(&mut self) {
        let Some(input) = &self.pipes.input else {
            return;
        };
        let rest = self.run.input.get(self.written..).unwrap_or_default();
        match rustix::io::write(input, rest) {
            Ok(count) => self.written += count,
            Err(Errno::INTR | Errno::AGAIN) => {}
            // The command does not read any more.
            Err(_) => self.written = self.run.input.len(),
        }
        if self.written >= self.run.input.len() {
            self.pipes.input = None;
        }
    }
}

/// Reads once; closes the pipe at its end.
fn read_into<'c>(chunk: &'c mut [u8], pipe: &mut Option<OwnedFd>) -> Option<&'c [u8]> {
    let read = rustix::io::read(pipe.as_ref()?, &mut *chunk);
    match read {
        Ok(0) => {
            *pipe = None;
            None
        }
        Ok(count) => chunk.get(..count),
        Err(Errno::INTR | Errno::AGAIN) => None,
        Err(_) => {
            *pipe = None;
            None
        }
    }
}
