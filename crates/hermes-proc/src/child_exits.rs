//! Exits of child processes, delivered as events, and children that were somebody else's before.

use std::io::{self, Read};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use rustix::process::{Pid, WaitOptions, getpid, set_child_subreaper, waitpid};
use signal_hook::consts::SIGCHLD;
use signal_hook::low_level::pipe;

use crate::Child;

/// Becomes readable when a child of this process has exited. Which one is for its owner to find out:
/// nothing is reaped here.
#[derive(Debug)]
pub struct ChildExits {
    reader: UnixStream,
}

impl ChildExits {
    /// Starts to listen.
    pub fn listen() -> io::Result<Self> {
        let (reader, writer) = UnixStream::pair()?;
        reader.set_nonblocking(true)?;
        pipe::register(SIGCHLD, writer)?;
        Ok(Self { reader })
    }

    /// Forgets the exits so far.
    pub fn clear(&self) {
        let mut bytes = [0; 64];
        while (&self.reader).read(&mut bytes).is_ok_and(|count| count > 0) {}
    }
}

impl AsFd for ChildExits {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.reader.as_fd()
    }
}

/// Makes this process the parent of whatever its descendants leave behind, in place of the first
/// process of the machine. Orphans have to be reaped from then on.
pub fn adopt_orphans() -> io::Result<()> {
    Ok(set_child_subreaper(Some(getpid()))?)
}

/// Reaps the orphans that have ended. The one child that we started ourselves is left to its owner.
pub fn reap_orphans(started: &Child) {
    while let Some(pid) = first_ended().filter(|pid| is_other(*pid, started)) {
        if waitpid(Some(pid), WaitOptions::NOHANG).is_err() {
            return;
        }
    }
}

fn is_other(pid: Pid, started: &Child) -> bool {
    pid.as_raw_nonzero().get().unsigned_abs() != started.pid()
}

/// A child that has ended and was not reaped; `None` if there is none.
#[expect(unsafe_code, reason = "rustix does not say which child it was")]
fn first_ended() -> Option<Pid> {
    let mut ended = MaybeUninit::<libc::siginfo_t>::zeroed();
    let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: a system call that fills the structure, which is valid when zeroed; its process id is
    // set whenever the call succeeds, to zero if there was nobody.
    unsafe {
        if libc::waitid(libc::P_ALL, 0, ended.as_mut_ptr(), options) < 0 {
            return None;
        }
        Pid::from_raw(ended.assume_init().si_pid())
    }
}
