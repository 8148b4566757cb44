//! Waiting for several descriptors at once: the only caller of `poll` in the workspace.
//!
//! A loop builds a [`PollSet`] for each round from whatever it still waits for (pipes of a child, its
//! end, flags of other threads, sockets), waits with a limit, and asks which of them are ready.

use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// Descriptors that are waited for together.
#[derive(Debug, Default)]
pub struct PollSet<'fd> {
    watched: Vec<PollFd<'fd>>,
}

/// Some descriptors of a [`PollSet`]; possibly none.
#[derive(Debug, Clone)]
pub struct Watched(Range<usize>);

impl<'fd> PollSet<'fd> {
    /// A set without descriptors.
    pub fn new() -> Self {
        Self {
            watched: Vec::with_capacity(6),
        }
    }

    /// Adds descriptors that are ready when there is something to read, or their other end has been
    /// closed. An `Option` adds one or none.
    pub fn readable<F: AsFd + 'fd>(
        &mut self,
        descriptors: impl IntoIterator<Item = &'fd F>,
    ) -> Watched {
        self.add(descriptors, PollFlags::IN)
    }

    /// Adds descriptors that are ready when they take more bytes, or their other end has been closed.
    pub fn writable<F: AsFd + 'fd>(
        &mut self,
        descriptors: impl IntoIterator<Item = &'fd F>,
    ) -> Watched {
        self.add(descriptors, PollFlags::OUT)
    }

    fn add<F: AsFd + 'fd>(
        &mut self,
        descriptors: impl IntoIterator<Item = &'fd F>,
        flags: PollFlags,
    ) -> Watched {
        let start = self.watched.len();
        let descriptors = descriptors.into_iter();
        self.watched
            .extend(descriptors.map(|one| PollFd::new(one, flags)));
        Watched(start..self.watched.len())
    }

    /// Waits until a descriptor is ready; `false` if none is when the limit has passed. Without a
    /// limit the wait ends only with a descriptor. Signals do not end it.
    pub fn wait(&mut self, limit: impl Into<Option<Duration>>) -> io::Result<bool> {
        let mut left = limit.into();
        // A limit beyond what the clock can tell is as good as none.
        let deadline = left.and_then(|limit| Instant::now().checked_add(limit));
        loop {
            match poll(&mut self.watched, left.map(timespec).as_ref()) {
                Ok(count) => return Ok(count > 0),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
            left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        }
    }

    /// Whether one of these descriptors was ready when the last wait ended.
    pub fn is_ready(&self, watched: &Watched) -> bool {
        let descriptors = self.watched.get(watched.0.clone()).unwrap_or_default();
        descriptors.iter().any(|one| !one.revents().is_empty())
    }
}

fn timespec(duration: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(duration.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: duration.subsec_nanos().into(),
    }
}

/// Waits until one of the descriptors has something to read or has come to its end, and returns the
/// position of the first such; `None` if nothing happened within the limit.
pub fn first_readable(
    descriptors: &[BorrowedFd<'_>],
    limit: Option<Duration>,
) -> io::Result<Option<usize>> {
    let mut set = PollSet::new();
    set.readable(descriptors);
    set.wait(limit)?;
    let mut watched = set.watched.iter();
    Ok(watched.position(|one| !one.revents().is_empty()))
}

/// Reads once from a pipe; nothing if there is nothing at the moment. At its end, or when it cannot be
/// read, the pipe is closed.
pub fn read_once<'chunk>(
    pipe: &mut Option<OwnedFd>,
    chunk: &'chunk mut [u8],
) -> io::Result<&'chunk [u8]> {
    let Some(open) = pipe.as_ref() else {
        return Ok(&[]);
    };
    match rustix::io::read(open, &mut *chunk) {
        Ok(0) => {
            *pipe = None;
            Ok(&[])
        }
        Ok(count) => Ok(chunk.get(..count).unwrap_or_default()),
        Err(Errno::INTR | Errno::AGAIN) => Ok(&[]),
        Err(errno) => {
            *pipe = None;
            Err(errno.into())
        }
    }
}
