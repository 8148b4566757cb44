//! A running child: who it is, its pipes, how it ends.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::time::Duration;

use rustix::fs::{Mode, OFlags};
use rustix::io::fcntl_dupfd_cloexec;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid,
};

use crate::clone::{self, Cloned};
use crate::orphans::{bury, disown};
use crate::{
    ChildSpec, EndSignal, Error, Group, KillTiming, ProcessTree, Result, Streams, first_readable,
    kill_tree, start_time_of,
};

/// How a child ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitStatus {
    Exited(i32),
    Signalled(i32),
}

impl ExitStatus {
    /// Whether it ended by itself, with code 0.
    pub fn success(self) -> bool {
        self == Self::Exited(0)
    }

    /// The exit code; `None` if a signal ended it.
    pub fn code(self) -> Option<i32> {
        match self {
            Self::Exited(code) => Some(code),
            Self::Signalled(_) => None,
        }
    }

    /// The code that results show: the exit code, or the negated number of the signal.
    pub fn signed_code(self) -> i32 {
        match self {
            Self::Exited(code) => code,
            Self::Signalled(signal) => -signal,
        }
    }

    pub(crate) fn new(code: Option<i32>, signal: Option<i32>) -> Self {
        code.map_or_else(|| Self::Signalled(signal.unwrap_or(0)), Self::Exited)
    }
}

impl std::fmt::Display for ExitStatus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Exited(code) => write!(f, "exit code {code}"),
            Self::Signalled(signal) => write!(f, "signal {signal}"),
        }
    }
}

/// A child that was started by [`ChildSpec::spawn`]. Until it has been waited for, its pid and its
/// group cannot mean anyone else.
///
/// As a descriptor ([`AsFd`]) it becomes readable when the child itself has ended.
#[derive(Debug)]
pub struct Child {
    program: PathBuf,
    pid: Pid,
    exit: OwnedFd,
    group: Group,
    mark: String,
    kill_on_drop: bool,
    status: Option<ExitStatus>,
    pipes: [Option<OwnedFd>; 3],
}

impl Child {
    pub(crate) fn new(cloned: Cloned, spec: ChildSpec, pipes: [Option<OwnedFd>; 3]) -> Self {
        Self {
            pid: cloned.pid,
            exit: cloned.exit,
            group: spec.group,
            mark: spec.env.mark(),
            kill_on_drop: spec.kill_on_drop,
            program: spec.program,
            status: None,
            pipes,
        }
    }

    /// Its pid, which is also its group unless it shares ours.
    pub fn pid(&self) -> u32 {
        self.pid.as_raw_nonzero().get().unsigned_abs()
    }

    /// When it started, in clock ticks since boot; zero where the system does not say.
    pub fn start_time(&self) -> u64 {
        start_time_of(self.pid()).unwrap_or(0)
    }

    /// The child and everything it starts, known by the `HERMES_EXEC_ID` it was given.
    pub fn tree(&self) -> ProcessTree {
        ProcessTree {
            leader: self.pid(),
            start_time: self.start_time(),
            mark: self.mark.clone(),
            supervisor: None,
            leader_is_ours: true,
        }
    }

    /// The write end of its standard input, if that is a pipe; given once.
    pub fn take_stdin(&mut self) -> Option<OwnedFd> {
        let [input, _, _] = &mut self.pipes;
        input.take()
    }

    /// The read end of its standard output, if that is a pipe; given once.
    pub fn take_stdout(&mut self) -> Option<OwnedFd> {
        let [_, output, _] = &mut self.pipes;
        output.take()
    }

    /// The read end of its standard error, if that is a pipe; given once.
    pub fn take_stderr(&mut self) -> Option<OwnedFd> {
        let [_, _, errors] = &mut self.pipes;
        errors.take()
    }

    /// Whether it has ended.
    pub fn has_ended(&self) -> bool {
        // A failed wait counts as "not yet".
        matches!(
            first_readable(&[self.exit.as_fd()], Some(Duration::ZERO)),
            Ok(Some(_))
        )
    }

    /// How it ended, if it has. Its pid stays its own until it is waited for.
    pub fn peek(&self) -> Option<ExitStatus> {
        if self.status.is_some() {
            return self.status;
        }
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        // An error means that there is nothing to see.
        let status = waitid(WaitId::Pid(self.pid), options).ok()??;
        Some(ExitStatus::new(
            status.exit_status(),
            status.terminating_signal(),
        ))
    }

    /// Waits for the end of the child itself and lets its pid go. What the child left behind goes on.
    pub fn wait(&mut self) -> Result<ExitStatus> {
        if let Some(status) = self.status {
            return Ok(status);
        }
        let status = bury(self.pid).map_err(|errno| self.lost(errno.into()))?;
        let status = ExitStatus::new(status.exit_status(), status.terminating_signal());
        self.status = Some(status);
        Ok(status)
    }

    /// Passes a signal on that came to us and is meant for the child.
    pub fn forward(&self, signal: EndSignal) {
        let signal = match signal {
            EndSignal::Interrupt => Signal::INT,
            EndSignal::Terminate => Signal::TERM,
            EndSignal::HangUp => Signal::HUP,
        };
        if self.status.is_none() {
            // One that has just ended has no use for it.
            let _: rustix::io::Result<()> = kill_process(self.pid, signal);
        }
    }

    /// Kills the child, which must have started nobody, and waits for its end.
    pub fn kill_alone(mut self) -> Result<ExitStatus> {
        if self.status.is_none() {
            // One that has ended already cannot be killed, and need not be.
            let _: rustix::io::Result<()> = kill_process(self.pid, Signal::KILL);
        }
        self.wait()
    }

    /// Kills the child, which must have started nobody, and leaves its end to [`crate::reap_orphans`].
    pub fn kill_and_leave(mut self) {
        if self.status.is_none() {
            // One that has ended already cannot be killed, and need not be.
            let _: rustix::io::Result<()> = kill_process(self.pid, Signal::KILL);
            disown(self.pid);
        }
        self.kill_on_drop = false;
    }

    /// Kills its group, before it has been waited for.
    pub(crate) fn kill_group(&self) {
        // No such group: everyone has ended already, which is what we want.
        let _: rustix::io::Result<()> = match (self.status, self.group) {
            (Some(_), _) => Ok(()),
            (None, Group::Shared) => kill_process(self.pid, Signal::KILL),
            (None, Group::Own | Group::Session) => kill_process_group(self.pid, Signal::KILL),
        };
    }

    /// Ends the child and everything it started, also what left its group and is known by its mark.
    /// Returns when nothing of it lives, or with an error that names a survivor.
    pub fn kill_tree(&mut self, timing: KillTiming) -> Result<ExitStatus> {
        match kill_tree(&self.tree(), timing).survivors.first() {
            Some(&pid) => Err(Error::Unkillable { pid }),
            None => self.wait(),
        }
    }

    /// An error in waiting for the child or in reading its output.
    pub fn lost(&self, source: io::Error) -> Error {
        Error::Wait {
            program: self.program.clone(),
            source,
        }
    }

    pub(crate) fn cancelled(&self) -> Error {
        Error::Cancelled {
            program: self.program.clone(),
        }
    }

    pub(crate) fn past_deadline(&self, limit: Duration) -> Error {
        Error::Deadline {
            program: self.program.clone(),
            limit,
        }
    }
}

impl AsFd for Child {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.exit.as_fd()
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if self.kill_on_drop && self.status.is_none() {
            self.kill_group();
            // The caller has an error of its own to report.
            drop(self.wait());
        }
    }
}

impl ChildSpec {
    /// Starts the program.
    pub fn spawn(self) -> Result<Child> {
        if let Some(cwd) = &self.cwd
            && !cwd.is_dir()
        {
            // The system reports a missing directory as if the program were missing.
            return Err(Error::MissingDirectory {
                program: self.program,
                cwd: cwd.clone(),
            });
        }
        let program = self.program.clone();
        self.start()
            .map_err(|source| Error::Start { program, source })
    }

    /// Lends our terminal to the child and waits until it ends.
    pub fn run_interactive(mut self) -> Result<ExitStatus> {
        self.streams = Streams::Inherited;
        self.group = Group::Shared;
        self.spawn()?.wait()
    }

    fn start(mut self) -> io::Result<Child> {
        let streams = std::mem::replace(&mut self.streams, Streams::Inherited);
        let is_terminal = matches!(streams, Streams::Terminal(_));
        let mut ours = [None, None, None];
        let theirs = match streams {
            Streams::Inherited => None,
            Streams::Pipes { input } => {
                let [our_input, our_output, our_errors] = &mut ours;
                let input = if input {
                    let (reader, writer) = io::pipe()?;
                    *our_input = Some(writer.into());
                    reader.into()
                } else {
                    null()?
                };
                Some([input, output_pipe(our_output)?, output_pipe(our_errors)?])
            }
            Streams::Given { input, output } => {
                let output = output.map_or_else(null, Ok)?;
                let input = input.map_or_else(null, Ok)?;
                Some([input, output.try_clone()?, output])
            }
            Streams::Terminal(terminal) => {
                Some([terminal.try_clone()?, terminal.try_clone()?, terminal])
            }
        };
        let theirs = match theirs {
            Some([input, output, errors]) => Some([
                above_standard(input)?,
                above_standard(output)?,
                above_standard(errors)?,
            ]),
            None => None,
        };
        let numbers = theirs
            .as_ref()
            .map(|streams| streams.each_ref().map(AsRawFd::as_raw_fd));
        let started = clone::start(&self, numbers, is_terminal)?;
        Ok(Child::new(started, self, ours))
        // Our copies of the child's descriptors go here, before anyone waits for the end of a pipe.
    }
}

/// A pipe for output: puts our end into `ours` and returns the child's.
fn output_pipe(ours: &mut Option<OwnedFd>) -> io::Result<OwnedFd> {
    let (reader, writer) = io::pipe()?;
    *ours = Some(reader.into());
    Ok(writer.into())
}

fn null() -> io::Result<OwnedFd> {
    let flags = OFlags::RDWR | OFlags::CLOEXEC;
    Ok(rustix::fs::open("/dev/null", flags, Mode::empty())?)
}

/// A program that was started with a standard stream closed gets that number for something else; the
/// descriptor must not be overwritten before it has been passed on.
fn above_standard(descriptor: OwnedFd) -> io::Result<OwnedFd> {
    if descriptor.as_raw_fd() > 2 {
        return Ok(descriptor);
    }
    Ok(fcntl_dupfd_cloexec(&descriptor, 3)?)
}
