//! A flag another thread can wait for, together with descriptors.
//!
//! Interrupts and shutdowns are flags of this kind: raised once, they stay raised until cleared.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::{EventfdFlags, eventfd};

use crate::first_readable;

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
        wait_for_any(&[self], limit).is_some()
    }
}

/// Waits until one of the flags is up and returns its position; `None` if all are still down after
/// `limit`.
pub fn wait_for_any(flags: &[&Wake], limit: Duration) -> Option<usize> {
    let descriptors: Vec<BorrowedFd<'_>> = flags.iter().map(AsFd::as_fd).collect();
    // Fails for want of memory only, which counts as "not yet": callers wait again.
    first_readable(&descriptors, Some(limit)).unwrap_or(None)
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
    fn raised_flag_stays_up_until_cleared() {
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
