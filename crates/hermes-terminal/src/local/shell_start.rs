//! Every start of a shell for a command: its arguments, its descriptors, the files it is told and
//! tells through. A gated one waits before it does anything, so that it can be started ahead of the
//! command it will run.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;

use hermes_proc::sandbox::Sandbox;
use hermes_proc::{Child, ChildSpec, Group, Streams};
use rustix::io::Errno;
use rustix::pipe::fcntl_setpipe_size;

use crate::shell::memory_file::{empty_memory_file, fill, memory_file_of, out_of_the_way, pipe};
use crate::shell::script::{Channels, Script, prologue, shell_arguments};
use crate::shell::{Shell, ShellKind, report};

/// Room in the output pipe: fewer wake-ups for commands that print a lot.
const PIPE_SIZE: usize = 256 * 1024;

/// A shell to be started for one command.
#[derive(Clone, Copy)]
pub(super) struct ShellStart<'a> {
    pub(super) shell: &'a Shell,
    pub(super) login: bool,
    pub(super) cwd: &'a Path,
    pub(super) variables: &'a [(OsString, OsString)],
    pub(super) sandbox: Option<&'a Arc<Sandbox>>,
}

/// Our ends of what a shell reads and writes.
pub(super) struct Pipes {
    pub(super) output: Option<OwnedFd>,
    /// Not a pipe: the shell writes it in many small pieces, and nobody needs to wake up for them.
    pub(super) report: OwnedFd,
    pub(super) input: Option<OwnedFd>,
}

/// A shell that waits for its command.
pub(super) struct GatedShell {
    child: Child,
    pipes: Pipes,
    kind: ShellKind,
    script: OwnedFd,
    report_number: i32,
    gate: OwnedFd,
}

impl ShellStart<'_> {
    /// Starts a shell that runs `script` at once.
    pub(super) fn start(
        &self,
        script: &Script<'_>,
        has_input: bool,
    ) -> hermes_proc::Result<(Child, Pipes)> {
        let streams = || -> io::Result<_> {
            let input = if has_input {
                let (child, ours) = pipe()?;
                rustix::io::ioctl_fionbio(&ours, true)?;
                Some((child, ours))
            } else {
                None
            };
            let report = Reporting::new()?;
            let text = script.text(self.shell.kind, Some(report.number));
            Ok((input.unzip(), report, memory_file_of(&text)?))
        };
        let ((child_input, input), report, memory) =
            streams().map_err(|error| self.failed(error))?;
        let (child, output) = self.spawn(child_input, &memory, report.child, None)?;
        let pipes = Pipes {
            output: Some(output),
            report: report.ours,
            input,
        };
        Ok((child, pipes))
    }

    /// Starts a shell that waits until it is told what to run.
    pub(super) fn start_gated(&self) -> hermes_proc::Result<GatedShell> {
        let streams = || -> io::Result<_> {
            let (gate_reader, gate) = pipe()?;
            let gate_reader = out_of_the_way(gate_reader.as_fd())?;
            Ok((Reporting::new()?, memory_file_of(b"")?, gate_reader, gate))
        };
        let (report, script, gate_reader, gate) = streams().map_err(|error| self.failed(error))?;
        let (child, output) = self.spawn(None, &script, report.child, Some(gate_reader))?;
        Ok(GatedShell {
            child,
            pipes: Pipes {
                output: Some(output),
                report: report.ours,
                input: None,
            },
            kind: self.shell.kind,
            script,
            report_number: report.number,
            gate,
        })
    }

    fn spawn(
        &self,
        input: Option<OwnedFd>,
        script: &OwnedFd,
        report: OwnedFd,
        gate: Option<OwnedFd>,
    ) -> hermes_proc::Result<(Child, OwnedFd)> {
        let (output, child_output) = pipe().map_err(|error| self.failed(error))?;
        // A smaller pipe works as well.
        let _: Result<usize, Errno> = fcntl_setpipe_size(&output, PIPE_SIZE);
        let script = out_of_the_way(script.as_fd()).map_err(|error| self.failed(error))?;
        let channels = Channels {
            script: script.as_raw_fd(),
            report: Some(report.as_raw_fd()),
            gate: gate.as_ref().map(AsRawFd::as_raw_fd),
        };
        let mut inherited = vec![script, report];
        inherited.extend(gate);
        let args = shell_arguments(
            self.shell.kind,
            self.login,
            &prologue(self.shell.kind, channels),
        );
        let spec = ChildSpec {
            cwd: Some(self.cwd.to_owned()),
            streams: Streams::Given {
                input,
                output: Some(child_output),
            },
            group: Group::Session,
            inherited,
            ends_with_thread: true,
            // Its whole tree is killed where it has to be; waiting for a survivor could take for ever.
            kill_on_drop: false,
            sandbox: self.sandbox.cloned(),
            ..ChildSpec::new(&self.shell.path, args, self.variables)
        };
        Ok((spec.spawn()?, output))
    }

    fn failed(&self, source: io::Error) -> hermes_proc::Error {
        hermes_proc::Error::Start {
            program: self.shell.path.clone(),
            source,
        }
    }
}

impl GatedShell {
    pub(super) fn child(&self) -> &Child {
        &self.child
    }

    /// Lets the shell run `script`. On an error it has run nothing, and never will.
    pub(super) fn open(self, script: &Script<'_>) -> Result<(Child, Pipes), Self> {
        let mut text = script.text(self.kind, Some(self.report_number));
        // Time begins with the command, not with the wait.
        let clock: &[u8] = b"SECONDS=0\n";
        text.splice(0..0, clock.iter().copied());
        if fill(&self.script, &text).is_err() || rustix::io::write(&self.gate, b"\n") != Ok(1) {
            return Err(self);
        }
        Ok((self.child, self.pipes))
    }

    /// Ends the shell, which has run nothing, and does not wait for that.
    pub(super) fn drop_soon(self) {
        self.child.kill_and_leave();
    }

    /// Ends the shell, which has run nothing.
    pub(super) fn discard(self) {
        if let Err(error) = self.child.kill_alone() {
            tracing::debug!(%error, "could not reap a waiting shell");
        }
    }
}

/// Where a shell tells its state at the end.
struct Reporting {
    ours: OwnedFd,
    child: OwnedFd,
    number: i32,
}

impl Reporting {
    fn new() -> io::Result<Self> {
        let ours = empty_memory_file(report::LONGEST)?;
        let child = out_of_the_way(ours.as_fd())?;
        let number = child.as_raw_fd();
        Ok(Self {
            ours,
            child,
            number,
        })
    }
}
