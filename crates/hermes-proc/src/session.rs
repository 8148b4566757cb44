//! A child that leads a session of its own.
//!
//! Shells of agents and supervisors of background processes start here: a new session and group, so
//! that a terminal of ours is out of reach and everything they start can be found again; none of our
//! descriptors but the ones handed over; and only the variables given. It never decides which
//! variables those are, and never waits for more than the one child.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::io::{FdFlags, fcntl_setfd};
use rustix::process::{Pid, PidfdFlags, Signal, getpid, getppid, pidfd_open};

use crate::{Error, Result, start_time_of};

/// The three descriptors every program has.
#[derive(Debug)]
pub struct StandardStreams {
    /// Input; `/dev/null` if `None`.
    pub input: Option<OwnedFd>,
    /// Output and errors; `/dev/null` if `None`.
    pub output: Option<OwnedFd>,
    /// Whether the input is a terminal that becomes the controlling one of the session.
    pub is_terminal: bool,
}

/// What to start as the leader of a new session.
#[derive(Debug)]
pub struct SessionSpec<'a> {
    /// Path of the program.
    pub program: &'a Path,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Where it runs; must exist.
    pub cwd: &'a Path,
    /// All variables it sees.
    pub variables: &'a [(OsString, OsString)],
    /// Input and output.
    pub streams: StandardStreams,
    /// Descriptors it gets under the numbers they have here. All others stay ours.
    pub inherited: Vec<OwnedFd>,
    /// Whether the kernel kills it when the thread that started it ends.
    pub ends_with_us: bool,
}

/// How a child ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// By itself, with this code.
    Exited(i32),
    /// By this signal.
    Signalled(i32),
}

impl Ended {
    /// The code results show: the exit code, or the negated number of the signal.
    pub fn code(self) -> i32 {
        match self {
            Self::Exited(code) => code,
            Self::Signalled(signal) => -signal,
        }
    }
}

/// A running session leader. Until [`SessionChild::reap`] its pid and group cannot mean anyone else.
#[derive(Debug)]
pub struct SessionChild {
    program: PathBuf,
    child: Child,
    exit: OwnedFd,
}

impl SessionSpec<'_> {
    /// Starts it.
    pub fn start(self) -> Result<SessionChild> {
        let program = self.program.to_owned();
        let started = self.command().and_then(|mut command| {
            // The command holds our copies of the child's descriptors: dropped here, before anyone
            // waits for the end of a pipe.
            spawn(&mut command)
        });
        let child = match started {
            Ok(child) => child,
            Err(source) => return Err(Error::Start { program, source }),
        };
        match pidfd_open(Pid::from_child(&child), PidfdFlags::empty()) {
            Ok(exit) => Ok(SessionChild {
                program,
                child,
                exit,
            }),
            Err(errno) => Err(abandon(child, program, errno.into())),
        }
    }

    #[expect(clippy::disallowed_methods, reason = "this is the wrapper")]
    fn command(self) -> io::Result<Command> {
        let mut command = Command::new(self.program);
        command
            .args(&self.args)
            .env_clear()
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .current_dir(self.cwd);
        let StandardStreams {
            input,
            output,
            is_terminal,
        } = self.streams;
        let errors = output.as_ref().map(OwnedFd::try_clone).transpose()?;
        command
            .stdin(input.map_or_else(Stdio::null, Stdio::from))
            .stdout(output.map_or_else(Stdio::null, Stdio::from))
            .stderr(errors.map_or_else(Stdio::null, Stdio::from));
        let setup = ChildSetup {
            inherited: self.inherited,
            is_terminal,
            parent: self.ends_with_us.then(getpid),
        };
        setup.attach_to(&mut command);
        Ok(command)
    }
}

/// What happens in the child between fork and exec.
pub(crate) struct ChildSetup {
    pub(crate) inherited: Vec<OwnedFd>,
    pub(crate) is_terminal: bool,
    /// Whose end is the child's end, too.
    pub(crate) parent: Option<Pid>,
}

impl ChildSetup {
    #[expect(
        unsafe_code,
        reason = "the standard library has no other way to call setsid between fork and exec"
    )]
    pub(crate) fn attach_to(self, command: &mut Command) {
        // SAFETY: the closure runs in the forked child, where only calls that are safe after a fork
        // of a threaded program are allowed. It makes plain system calls on descriptors and
        // allocates, locks and frees nothing.
        unsafe {
            command.pre_exec(move || self.run());
        }
    }

    fn run(&self) -> io::Result<()> {
        rustix::process::setsid()?;
        if self.is_terminal {
            // Zero is the terminal already: the standard streams are set up before this runs.
            rustix::process::ioctl_tiocsctty(rustix::stdio::stdin())?;
        }
        close_all_on_exec();
        for descriptor in &self.inherited {
            fcntl_setfd(descriptor, FdFlags::empty())?;
        }
        if let Some(parent) = self.parent {
            rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
            // Too late to be told: the parent ended before we asked.
            if getppid() != Some(parent) {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
        }
        Ok(())
    }
}

/// Descriptors that whoever started us left open are not for our children.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "rustix has no close_range")]
fn close_all_on_exec() {
    // SAFETY: a system call with three numbers; with this flag it closes nothing in this process.
    // An old kernel without it says ENOSYS and everything stays as it was, as it is everywhere else.
    unsafe {
        libc::syscall(
            libc::SYS_close_range,
            3_u32,
            u32::MAX,
            libc::CLOSE_RANGE_CLOEXEC,
        );
    }
}

#[cfg(not(target_os = "linux"))]
fn close_all_on_exec() {}

#[expect(clippy::disallowed_methods, reason = "this is the wrapper")]
fn spawn(command: &mut Command) -> io::Result<Child> {
    command.spawn()
}

/// A child that cannot be watched is not left running.
fn abandon(mut child: Child, program: PathBuf, source: io::Error) -> Error {
    // The reason we are here is being reported.
    drop(child.kill());
    drop(child.wait());
    Error::Wait { program, source }
}

impl SessionChild {
    /// Its pid, which is also its group and its session.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// When it started, in clock ticks since boot; zero where the system does not say.
    pub fn start_time(&self) -> u64 {
        start_time_of(self.pid()).unwrap_or(0)
    }

    /// Becomes readable when the child has ended.
    pub fn exit_descriptor(&self) -> BorrowedFd<'_> {
        self.exit.as_fd()
    }

    /// Waits for the end and lets the pid go.
    pub fn reap(mut self) -> Result<Ended> {
        let status = self.child.wait().map_err(|source| Error::Wait {
            program: self.program.clone(),
            source,
        })?;
        Ok(match (status.code(), status.signal()) {
            (Some(code), _) => Ended::Exited(code),
            (None, signal) => Ended::Signalled(signal.unwrap_or(0)),
        })
    }
}
