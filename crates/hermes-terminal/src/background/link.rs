//! One end of the connection between Hermes and a supervisor.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use super::frame::{Frame, FrameReader};

/// A listener that is further behind than this is let go; it can come back and read the log.
const MOST_UNSENT: usize = 8 * 1024 * 1024;
/// Pieces read before what they hold is dealt with.
const MOST_READS: usize = 16;

/// A connection with what came in half and what has not gone out yet.
#[derive(Debug)]
pub(crate) struct Link {
    stream: UnixStream,
    reader: FrameReader,
    unsent: Vec<u8>,
}

impl Link {
    pub(super) fn new(stream: UnixStream) -> Self {
        Self {
            stream,
            reader: FrameReader::default(),
            unsent: Vec::new(),
        }
    }

    pub(super) fn set_nonblocking(&self) -> io::Result<()> {
        self.stream.set_nonblocking(true)
    }

    pub(super) fn set_read_timeout(&self, limit: Duration) -> io::Result<()> {
        self.stream.set_read_timeout(Some(limit))
    }

    pub(super) fn has_unsent(&self) -> bool {
        !self.unsent.is_empty()
    }

    /// Waits for a whole frame; `None` when the other side is gone. For blocking streams.
    pub(super) fn wait_for_frame(&mut self) -> io::Result<Option<Frame>> {
        let mut chunk = vec![0; 64 * 1024];
        loop {
            if let Some(frame) = self.next_frame()? {
                return Ok(Some(frame));
            }
            match self.stream.read(&mut chunk) {
                Ok(0) => return Ok(None),
                Ok(count) => self.reader.push(chunk.get(..count).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Sends a frame, waiting as long as it takes. For blocking streams.
    pub(super) fn send_now(&mut self, frame: &Frame) -> io::Result<()> {
        self.stream.write_all(&frame.encode())
    }

    /// Sends what goes without waiting and keeps the rest; `false` when the other side is gone or
    /// too far behind.
    pub(super) fn send(&mut self, bytes: &[u8]) -> bool {
        self.unsent.extend_from_slice(bytes);
        self.push_out() && self.unsent.len() <= MOST_UNSENT
    }

    /// Reads and writes what goes without waiting; `false` when the other side is gone.
    pub(super) fn exchange(&mut self) -> bool {
        let is_open = self.pull_in();
        self.push_out() && is_open
    }

    pub(super) fn next_frame(&mut self) -> io::Result<Option<Frame>> {
        self.reader.next()
    }

    /// Waits for the rest to go out.
    pub(super) fn flush(&mut self, limit: Duration) {
        let deadline = Instant::now() + limit;
        while !self.unsent.is_empty() && Instant::now() < deadline && self.push_out() {
            if !self.unsent.is_empty() {
                // Rare: the other side is slow at the very end.
                std::thread::sleep(Duration::from_millis(5));
            }
        }
    }

    fn pull_in(&mut self) -> bool {
        let mut chunk = vec![0; 64 * 1024];
        for _ in 0..MOST_READS {
            match self.stream.read(&mut chunk) {
                Ok(0) => return false,
                Ok(count) => self.reader.push(chunk.get(..count).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return true,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return false,
            }
        }
        // More is waiting: after what has come was dealt with.
        true
    }

    fn push_out(&mut self) -> bool {
        while !self.unsent.is_empty() {
            match self.stream.write(&self.unsent) {
                Ok(0) => return false,
                Ok(count) => drop(self.unsent.drain(..count)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return true,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return false,
            }
        }
        true
    }
}

impl AsFd for Link {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}
