//! Looking up from a long file: whether somebody wants the call to end, and whether it took long
//! enough.
//!
//! Between files is not often enough: a log of many gigabytes is one file.

use std::io::{self, Read};
use std::time::{Duration, Instant};

use hermes_proc::Wake;

/// How much is read between two looks: a few milliseconds, from any disk.
const STRIDE: usize = 256 * 1024;

/// Why a reading ended before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Stopped {
    /// Somebody wanted the call to end.
    #[error("the call was interrupted")]
    Interrupted,
    /// The time was over.
    #[error("it took too long")]
    TooLong,
}

impl Stopped {
    /// Why a reading through [`Attentive`] failed, if that is why.
    pub(super) fn behind(error: &io::Error) -> Option<Self> {
        error.get_ref()?.downcast_ref().copied()
    }
}

/// How long a call may go on.
#[derive(Clone, Copy)]
pub(super) struct Patience<'a> {
    interrupt: &'a Wake,
    deadline: Instant,
}

impl<'a> Patience<'a> {
    /// Until the interrupt is raised or this time has passed.
    pub(super) fn new(interrupt: &'a Wake, limit: Duration) -> Self {
        Self {
            interrupt,
            deadline: Instant::now() + limit,
        }
    }

    /// Why the call must end now, if so.
    pub(super) fn ended(self) -> Option<Stopped> {
        if self.interrupt.is_raised() {
            Some(Stopped::Interrupted)
        } else if Instant::now() > self.deadline {
            Some(Stopped::TooLong)
        } else {
            None
        }
    }
}

/// A reader that ends with [`Stopped`] when its patience does.
pub(super) struct Attentive<'a, R> {
    inner: R,
    patience: Patience<'a>,
    since_look: usize,
}

impl<'a, R> Attentive<'a, R> {
    pub(super) fn new(inner: R, patience: Patience<'a>) -> Self {
        Self {
            inner,
            patience,
            since_look: 0,
        }
    }
}

impl<R: Read> Read for Attentive<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.since_look >= STRIDE {
            self.since_look = 0;
            if let Some(stopped) = self.patience.ended() {
                return Err(io::Error::other(stopped));
            }
        }
        let count = self.inner.read(buffer)?;
        self.since_look += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reading_without_end_ends() {
        let interrupt = Wake::new().unwrap();
        let patience = Patience::new(&interrupt, Duration::from_mins(10));
        let mut reader = Attentive::new(io::repeat(b'x'), patience);
        let mut chunk = vec![0; STRIDE];
        assert_eq!(reader.read(&mut chunk).unwrap(), STRIDE);
        assert_eq!(reader.read(&mut chunk).unwrap(), STRIDE);
        interrupt.raise();
        let error = reader.read(&mut chunk).unwrap_err();
        assert_eq!(Stopped::behind(&error), Some(Stopped::Interrupted));
        let patience = Patience::new(&interrupt, Duration::ZERO);
        assert_eq!(patience.ended(), Some(Stopped::Interrupted));
        let quiet = Wake::new().unwrap();
        let mut reader = Attentive::new(io::repeat(b'x'), Patience::new(&quiet, Duration::ZERO));
        assert_eq!(reader.read(&mut chunk).unwrap(), STRIDE);
        let error = reader.read(&mut chunk).unwrap_err();
        assert_eq!(Stopped::behind(&error), Some(Stopped::TooLong));
        assert_eq!(Stopped::behind(&io::Error::other("else")), None);
    }
}
