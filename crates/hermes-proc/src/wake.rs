//! A flag another thread can wait for with `poll`.
//!
//! Interrupts and shutdowns are flags of this kind: raised once, they stay raised for everyone who
//! looks until someone clears them.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::io::Errno;

use crate::signal::timespec;

/// A flag with a descriptor that is readable while the flag is up.
#[derive(Debug)]
pub struct Wake {
    descriptor: OwnedFd,
}

impl Wake {
    /// A flag that is down.
    pub fn new() -> io::Result<Self> {
        let descriptor = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self { descriptor })
    }

    /// Raises the flag.
    pub fn raise(&self) {
        // The only failure is a counter about to overflow: then the flag is up already.
        let _: Result<usize, _> = rustix::io::write(&self.descriptor, &1_u64.to_ne_bytes());
    }

    /// Takes the flag down.
    pub fn clear(&self) {
        let mut count = [0; 8];
        // Fails when the flag is down, which is what was asked for.
        let _: Result<usize, _> = rustix::io::read(&self.descriptor, &mut count);
    }

    /// Whether the flag is up.
    pub fn is_raised(&self) -> bool {
        self.wait(Duration::ZERO)
    }

    /// Waits until the flag is up; `false` if it is still down after `limit`.
    pub fn wait(&self, limit: Duration) -> bool {
        let mut watched = [PollFd::new(&self.descriptor, PollFlags::IN)];
        // An interrupted wait counts as "not yet": callers look again.
        poll(&mut watched, Some(&timespec(limit))).is_ok_and(|ready| ready > 0)
    }
}

/// Waits until one of the flags is up and says which; `None` if all are still down after `limit`.
pub fn wait_for_any(flags: &[&Wake], limit: Duration) -> Option<usize> {
    let descriptors: Vec<BorrowedFd<'_>> = flags.iter().map(AsFd::as_fd).collect();
    // Fails for want of memory only: callers look again.
    first_readable(&descriptors, Some(limit)).unwrap_or(None)
}

/// Waits until one of the descriptors has something to read or has come to its end, and says which,
/// the first if there are several; `None` if nothing happened within `limit`.
pub fn first_readable(
    descriptors: &[BorrowedFd<'_>],
    limit: Option<Duration>,
) -> io::Result<Option<usize>> {
    let deadline = limit.map(|limit| Instant::now() + limit);
    loop {
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let mut watched: Vec<PollFd<'_>> = descriptors
            .iter()
            .map(|descriptor| PollFd::from_borrowed_fd(*descriptor, PollFlags::IN))
            .collect();
        match poll(&mut watched, left.map(timespec).as_ref()) {
            Ok(0) if left.is_some_and(|left| left.is_zero()) => return Ok(None),
            Ok(0) | Err(Errno::INTR) => {}
            Ok(_) => return Ok(watched.iter().position(|one| !one.revents().is_empty())),
            Err(errno) => return Err(errno.into()),
        }
    }
}

impl AsFd for Wake {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_stays_up_until_it_is_taken_down() {
        let wake = Wake::new().unwrap();
        assert!(!wake.is_raised());
        wake.raise();
        wake.raise();
        assert!(wake.is_raised());
        assert!(wake.is_raised());
        wake.clear();
        assert!(!wake.is_raised());
        wake.clear();
        assert!(!wake.is_raised());
    }
}
