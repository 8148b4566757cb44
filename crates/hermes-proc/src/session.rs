//! A child that leads a session of its own.
//!
//! Shells of agents and supervisors of background processes start here: a new session and group, so
//! that a terminal of ours is out of reach and everything they start can be found again; none of our
//! descriptors but the ones handed over; and only the variables given. It never decides which
//! variables those are, and never waits for more than the one child.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rustix::fs::{Mode, OFlags};
use rustix::io::{Errno, FdFlags, fcntl_dupfd_cloexec, fcntl_setfd};
use rustix::process::{Pid, Signal, WaitOptions, getppid, waitpid};

use crate::clone::{CloneSpec, Cloned};
use crate::{Error, Result, first_readable, start_time_of};

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
    pid: Pid,
    exit: OwnedFd,
}

impl SessionSpec<'_> {
    /// Starts it.
    pub fn start(self) -> Result<SessionChild> {
        let program = self.program.to_owned();
        match self.start_clone() {
            Ok(Cloned { pid, exit }) => Ok(SessionChild { program, pid, exit }),
            Err(source) => Err(Error::Start { program, source }),
        }
    }

    fn start_clone(self) -> io::Result<Cloned> {
        let StandardStreams {
            input,
            output,
            is_terminal,
        } = self.streams;
        let input = out_of_the_way(input.map_or_else(nowhere, Ok)?)?;
        let output = out_of_the_way(output.map_or_else(nowhere, Ok)?)?;
        let inherited: Vec<RawFd> = self.inherited.iter().map(AsRawFd::as_raw_fd).collect();
        CloneSpec {
            program: self.program,
            args: &self.args,
            cwd: self.cwd,
            variables: self.variables,
            streams: [&input, &output, &output].map(AsRawFd::as_raw_fd),
            is_terminal,
            inherited: &inherited,
            ends_with_us: self.ends_with_us,
        }
        .start()
        // Our copies of the child's descriptors go here, before anyone waits for the end of a pipe.
    }
}

fn nowhere() -> io::Result<OwnedFd> {
    let flags = OFlags::RDWR | OFlags::CLOEXEC;
    Ok(rustix::fs::open("/dev/null", flags, Mode::empty())?)
}

/// A program that was started with a standard stream closed gets that number for something else; it
/// must not be overwritten before it has been passed on.
fn out_of_the_way(descriptor: OwnedFd) -> io::Result<OwnedFd> {
    if descriptor.as_raw_fd() > 2 {
        return Ok(descriptor);
    }
    Ok(fcntl_dupfd_cloexec(&descriptor, 3)?)
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

impl SessionChild {
    /// Its pid, which is also its group and its session.
    pub fn pid(&self) -> u32 {
        self.pid.as_raw_nonzero().get().unsigned_abs()
    }

    /// When it started, in clock ticks since boot; zero where the system does not say.
    pub fn start_time(&self) -> u64 {
        start_time_of(self.pid()).unwrap_or(0)
    }

    /// Becomes readable when the child has ended.
    pub fn exit_descriptor(&self) -> BorrowedFd<'_> {
        self.exit.as_fd()
    }

    /// Whether it has ended.
    pub fn has_ended(&self) -> bool {
        // No answer is taken for no.
        matches!(
            first_readable(&[self.exit.as_fd()], Some(Duration::ZERO)),
            Ok(Some(_))
        )
    }

    /// Kills the child, which must have started nobody, and lets the pid go.
    pub fn kill_alone(self) -> Result<Ended> {
        // One that has ended already cannot be killed, and need not be.
        let _: rustix::io::Result<()> = rustix::process::kill_process(self.pid, Signal::KILL);
        self.reap()
    }

    /// Waits for the end and lets the pid go.
    pub fn reap(self) -> Result<Ended> {
        loop {
            match waitpid(Some(self.pid), WaitOptions::empty()) {
                Ok(Some((_, status))) => {
                    return Ok(match (status.exit_status(), status.terminating_signal()) {
                        (Some(code), _) => Ended::Exited(code),
                        (None, signal) => Ended::Signalled(signal.unwrap_or(0)),
                    });
                }
                Ok(None) | Err(Errno::INTR) => {}
                Err(errno) => {
                    return Err(Error::Wait {
                        program: self.program,
                        source: errno.into(),
                    });
                }
            }
        }
    }
}
