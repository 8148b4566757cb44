//! Runs one shell to its end: output, report, time, interrupts.
//!
//! One process, no thread, no file: a loop over descriptors that wakes only when something happens.
//! When it returns after a timeout or an interrupt, nothing of the command is left, or the names of
//! the survivors are in the result.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hermes_proc::sandbox::Sandbox;
use hermes_proc::{Child, KillTiming, PollSet, ProcessTree, Wake, kill_tree, read_once};
use rustix::io::Errno;

use super::shell_start::{GatedShell, Pipes, ShellStart};
use crate::backend::CommandEnd;
use crate::background::CrashGuard;
use crate::shell::memory_file::written;
use crate::shell::script::Script;
use crate::shell::{Shell, report};

/// Output that pauses for this long after the shell has ended belongs to something it left behind.
const SILENCE: Duration = Duration::from_millis(300);
/// Something left behind that never pauses is not listened to for longer than this.
const LONGEST_DRAIN: Duration = Duration::from_secs(3);
const CHUNK: usize = 64 * 1024;
/// Most commands print less than this.
const FIRST_CHUNK: usize = 4 * 1024;

#[derive(Clone, Copy)]
pub(super) struct ShellRun<'a> {
    pub(super) shell: &'a Shell,
    pub(super) login: bool,
    pub(super) script: &'a Script<'a>,
    pub(super) cwd: &'a Path,
    pub(super) variables: &'a [(OsString, OsString)],
    /// Value of `HERMES_EXEC_ID` among the variables.
    pub(super) mark: &'a str,
    /// What the command reads; nothing if empty.
    pub(super) input: &'a [u8],
    pub(super) limit: Duration,
    pub(super) interrupts: &'a [&'a Wake],
    /// Ends the command should we be killed.
    pub(super) guard: Option<&'a CrashGuard>,
    pub(super) sandbox: Option<&'a Arc<Sandbox>>,
}

#[derive(Debug)]
pub(super) struct Outcome {
    /// Not lost: there is no connection to lose.
    pub(super) end: CommandEnd,
    pub(super) report: Vec<u8>,
    pub(super) survivors: Vec<u32>,
}

impl ShellRun<'_> {
    /// Starts the shell and passes its output on until it has ended. An error means that nothing
    /// was run.
    pub(super) fn run(&self, sink: &mut dyn FnMut(&[u8])) -> hermes_proc::Result<Outcome> {
        self.run_in(None, sink)
    }

    /// The same in a shell that was started ahead: with these variables, in this directory.
    pub(super) fn run_in(
        &self,
        waiting: Option<GatedShell>,
        sink: &mut dyn FnMut(&[u8]),
    ) -> hermes_proc::Result<Outcome> {
        let guarded = self
            .guard
            .and_then(|guard| guard.guard_processes(self.mark));
        let (child, pipes) = self.start(waiting)?;
        let tree = child.tree();
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
    fn start(&self, waiting: Option<GatedShell>) -> hermes_proc::Result<(Child, Pipes)> {
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
            sandbox: self.sandbox,
        };
        start.start(self.script, !self.input.is_empty())
    }
}

struct Watch<'a> {
    run: &'a ShellRun<'a>,
    child: Child,
    tree: &'a ProcessTree,
    pipes: Pipes,
    started: Instant,
    written: usize,
    chunk: Vec<u8>,
}

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
        loop {
            let now = Instant::now();
            if now >= deadline {
                return self.kill(CommandEnd::TimedOut, sink);
            }
            let wait = deadline.saturating_duration_since(now);
            let ready = self.poll(wait, true)?;
            if ready.interrupt {
                return self.kill(CommandEnd::Interrupted, sink);
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

    fn kill(
        mut self,
        end: CommandEnd,
        sink: &mut dyn FnMut(&[u8]),
    ) -> hermes_proc::Result<Outcome> {
        let killed = kill_tree(self.tree, KillTiming::default());
        // Only what is in the pipe already: a survivor may hold it open for ever, or fill it.
        let silent_at = Instant::now() + SILENCE;
        while self.pipes.output.is_some()
            && Instant::now() < silent_at
            && self.poll(Duration::ZERO, false)?.output
        {
            self.read_output(sink);
        }
        if killed.survivors.contains(&self.tree.leader) {
            // Waiting for it would take as long as the kernel needs; the result says who is left.
            return Ok(Outcome {
                end,
                report: Vec::new(),
                survivors: killed.survivors,
            });
        }
        self.end(Some(end), killed.survivors)
    }

    fn end(mut self, end: Option<CommandEnd>, survivors: Vec<u32>) -> hermes_proc::Result<Outcome> {
        let ended = self.child.wait()?;
        let report = written(&self.pipes.report, report::LONGEST);
        Ok(Outcome {
            end: end.unwrap_or(CommandEnd::Exited(ended.signed_code())),
            report,
            survivors,
        })
    }

    fn poll(&self, wait: Duration, running: bool) -> hermes_proc::Result<Ready> {
        let mut set = PollSet::new();
        let output = set.readable(self.pipes.output.as_ref());
        let input = set.writable(self.pipes.input.as_ref());
        let exit = set.readable(running.then_some(&self.child));
        let interrupts = if running { self.run.interrupts } else { &[] };
        let interrupt = set.readable(interrupts.iter().copied());
        set.wait(wait).map_err(|source| self.child.lost(source))?;
        Ok(Ready {
            output: set.is_ready(&output),
            input: set.is_ready(&input),
            exit: set.is_ready(&exit),
            interrupt: set.is_ready(&interrupt),
        })
    }

    fn read_output(&mut self, sink: &mut dyn FnMut(&[u8])) {
        // A pipe that cannot be read is closed, as at its end.
        let bytes = read_once(&mut self.pipes.output, &mut self.chunk).unwrap_or_default();
        if !bytes.is_empty() {
            sink(bytes);
        }
        if bytes.len() == FIRST_CHUNK {
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
