//! Signals that reach the process they are meant for, or nobody.
//!
//! A pidfd pins one process: opened first and compared with the identity afterwards, it can be
//! signalled and awaited without the pid ever being looked up again.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::{Error, ProcessIdentity, Result, first_readable, is_same_live_process};

/// How long the kernel gets to clear away a process after SIGKILL.
const KILL_WAIT: Duration = Duration::from_secs(5);

/// One live process, held by a descriptor.
#[derive(Debug)]
pub struct ProcessHandle {
    descriptor: OwnedFd,
    pid: u32,
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopped {
    Gracefully,
    Killed,
}

impl ProcessHandle {
    /// Opens the process if it is still the one meant; `None` if that one has ended.
    pub fn open(identity: &ProcessIdentity) -> Result<Option<Self>> {
        let Some(pid) = i32::try_from(identity.pid).ok().and_then(Pid::from_raw) else {
            return Ok(None);
        };
        let descriptor = match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(descriptor) => descriptor,
            // The second: a thread has this number now, so the process is gone.
            Err(Errno::SRCH | Errno::INVAL) => return Ok(None),
            Err(errno) => return Err(signal_error("open", identity.pid, errno)),
        };
        // After opening: from here on the descriptor cannot change its meaning.
        Ok(is_same_live_process(identity).then_some(Self {
            descriptor,
            pid: identity.pid,
        }))
    }

    /// The process.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Asks the process to end (SIGTERM). One that has ended already is no error.
    pub fn terminate(&self) -> Result<()> {
        self.send(Signal::TERM)
    }

    /// Asks a service to finish its work and to let itself be started anew (SIGUSR1).
    pub fn ask_to_restart(&self) -> Result<()> {
        self.send(Signal::USR1)
    }

    /// Ends the process (SIGKILL). One that has ended already is no error.
    pub fn kill(&self) -> Result<()> {
        self.send(Signal::KILL)
    }

    /// Sends a signal to everyone in the group that this process leads, at once; `false` where the
    /// kernel is too old for it (before 6.9) or nobody is in it.
    #[expect(unsafe_code, reason = "rustix has no flags for this call")]
    pub(crate) fn signal_group(&self, signal: Signal) -> bool {
        // SAFETY: a system call with numbers, a descriptor that is open, and no pointer.
        let sent = unsafe {
            libc::syscall(
                libc::SYS_pidfd_send_signal,
                self.descriptor.as_raw_fd(),
                signal.as_raw(),
                std::ptr::null::<libc::siginfo_t>(),
                libc::PIDFD_SIGNAL_PROCESS_GROUP,
            )
        };
        sent == 0
    }

    /// Waits until the process has ended; `false` if it still runs at the deadline.
    pub fn wait_for_exit(&self, limit: Duration) -> Result<bool> {
        let ready = first_readable(&[self.descriptor.as_fd()], Some(limit));
        let ready = ready.map_err(|source| signal_error("wait for", self.pid, source))?;
        Ok(ready.is_some())
    }

    /// SIGTERM, then `grace`, then SIGKILL. Returns when the process has ended.
    pub fn stop(&self, grace: Duration) -> Result<Stopped> {
        self.terminate()?;
        if self.wait_for_exit(grace)? {
            return Ok(Stopped::Gracefully);
        }
        self.kill()?;
        if self.wait_for_exit(KILL_WAIT)? {
            Ok(Stopped::Killed)
        } else {
            Err(Error::Unkillable { pid: self.pid })
        }
    }

    pub(crate) fn send(&self, signal: Signal) -> Result<()> {
        match pidfd_send_signal(self.descriptor.as_fd(), signal) {
            Ok(()) | Err(Errno::SRCH) => Ok(()),
            Err(errno) => Err(signal_error("signal", self.pid, errno)),
        }
    }
}

impl AsFd for ProcessHandle {
    /// Readable when the process has ended.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

fn signal_error(action: &'static str, pid: u32, source: impl Into<io::Error>) -> Error {
    Error::Signal {
        action,
        pid,
        source: source.into(),
    }
}
