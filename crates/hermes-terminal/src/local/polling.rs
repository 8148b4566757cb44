//! Small words for `poll`.

use std::os::fd::BorrowedFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec};

/// Adds a descriptor, if there is one, and says where its answer will be.
pub(crate) fn push<'fd>(
    watched: &mut Vec<PollFd<'fd>>,
    descriptor: Option<BorrowedFd<'fd>>,
    flags: PollFlags,
) -> Option<usize> {
    let place = watched.len();
    watched.push(PollFd::from_borrowed_fd(descriptor?, flags));
    Some(place)
}

/// A time limit; more than the type can hold means a very long one.
pub(crate) fn timespec(duration: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(duration.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: duration.subsec_nanos().into(),
    }
}
