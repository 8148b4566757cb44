//! A request to stop that a waiting tool can see: a flag, and a descriptor to poll.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::{EventfdFlags, eventfd};
use rustix::io::Errno;

/// Set once, seen by everyone who waits for it.
#[derive(Debug)]
pub struct Interrupt {
    set: AtomicBool,
    event: OwnedFd,
}

impl Interrupt {
    /// One that nobody has set yet. Fails when the process has no descriptor left.
    pub fn new() -> std::io::Result<Self> {
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self {
            set: AtomicBool::new(false),
            event,
        })
    }

    /// Asks to stop.
    pub fn set(&self) {
        self.set.store(true, Ordering::Release);
        match rustix::io::write(&self.event, &1_u64.to_ne_bytes()) {
            // A full counter is readable, which is all that matters.
            Ok(_) | Err(Errno::AGAIN) => {}
            Err(errno) => tracing::warn!("could not wake a waiting tool: {errno}"),
        }
    }

    /// Whether stopping was asked for.
    pub fn is_set(&self) -> bool {
        self.set.load(Ordering::Acquire)
    }

    /// Readable from the moment it is set.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
    }
}
