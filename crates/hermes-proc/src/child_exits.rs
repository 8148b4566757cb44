//! Exits of child processes, delivered as events.

use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use signal_hook::consts::SIGCHLD;
use signal_hook::low_level::pipe;

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
