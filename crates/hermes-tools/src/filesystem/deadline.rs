//! Ending the reading of a long file when the call is interrupted or takes too long.
//!
//! Checking between files is not enough: a log of many gigabytes is one file.

use std::io::{self, Read};
use std::time::{Duration, Instant};

use hermes_proc::Wake;

/// Bytes read between two checks: a few milliseconds, from any disk.
const CHECK_INTERVAL: usize = 256 * 1024;

/// Why reading stopped before the end of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum ReadStopped {
    #[error("the call was interrupted")]
    Interrupted,
    #[error("it took too long")]
    TooLong,
}

impl ReadStopped {
    /// The reason why an [`InterruptibleReader`] stopped, if the error is one.
    pub(super) fn from_error(error: &io::Error) -> Option<Self> {
        error.get_ref()?.downcast_ref().copied()
    }
}

/// When a call must stop reading.
#[derive(Clone, Copy)]
pub(super) struct ReadDeadline<'a> {
    interrupt: &'a Wake,
    end: Instant,
}

impl<'a> ReadDeadline<'a> {
    /// Until the interrupt is raised or this time has passed.
    pub(super) fn new(interrupt: &'a Wake, limit: Duration) -> Self {
        Self {
            interrupt,
            end: Instant::now() + limit,
        }
    }

    /// Why the call must end now, if so.
    pub(super) fn stopped(self) -> Option<ReadStopped> {
        if self.interrupt.is_raised() {
            Some(ReadStopped::Interrupted)
        } else if Instant::now() > self.end {
            Some(ReadStopped::TooLong)
        } else {
            None
        }
    }
}

/// A reader that fails with [`ReadStopped`] when the deadline has passed or the call is interrupted.
pub(super) struct InterruptibleReader<'a, R> {
    inner: R,
    deadline: ReadDeadline<'a>,
    since_check: usize,
    interval: usize,
}

impl<'a, R> InterruptibleReader<'a, R> {
    pub(super) fn new(inner: R, deadline: ReadDeadline<'a>) -> Self {
        Self {
            inner,
            deadline,
            since_check: 0,
            interval: CHECK_INTERVAL,
        }
    }

    /// Checks at least whenever so many bytes were read, for readers that take long for them.
    pub(super) fn checked_every(self, bytes: usize) -> Self {
        Self {
            interval: bytes.min(CHECK_INTERVAL),
            ..self
        }
    }
}

impl<R: Read> Read for InterruptibleReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.since_check >= self.interval {
            self.since_check = 0;
            if let Some(stopped) = self.deadline.stopped() {
                return Err(io::Error::other(stopped));
            }
        }
        let count = self.inner.read(buffer)?;
        self.since_check += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endless_input_is_stopped() {
        let interrupt = Wake::new().unwrap();
        let deadline = ReadDeadline::new(&interrupt, Duration::from_mins(10));
        let mut reader = InterruptibleReader::new(io::repeat(b'x'), deadline);
        let mut chunk = vec![0; CHECK_INTERVAL];
        assert_eq!(reader.read(&mut chunk).unwrap(), CHECK_INTERVAL);
        assert_eq!(reader.read(&mut chunk).unwrap(), CHECK_INTERVAL);
        interrupt.raise();
        let error = reader.read(&mut chunk).unwrap_err();
        assert_eq!(
            ReadStopped::from_error(&error),
            Some(ReadStopped::Interrupted)
        );
        let deadline = ReadDeadline::new(&interrupt, Duration::ZERO);
        assert_eq!(deadline.stopped(), Some(ReadStopped::Interrupted));
        let quiet = Wake::new().unwrap();
        let mut reader =
            InterruptibleReader::new(io::repeat(b'x'), ReadDeadline::new(&quiet, Duration::ZERO));
        assert_eq!(reader.read(&mut chunk).unwrap(), CHECK_INTERVAL);
        let error = reader.read(&mut chunk).unwrap_err();
        assert_eq!(ReadStopped::from_error(&error), Some(ReadStopped::TooLong));
        assert_eq!(ReadStopped::from_error(&io::Error::other("else")), None);
    }
}
