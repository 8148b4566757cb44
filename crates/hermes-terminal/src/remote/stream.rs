//! The streams of a program on the remote host as container engines send them: both outputs over one
//! socket, in frames; what is written to it is the program's input.
//!
//! A frame has eight bytes of head: which stream (1 output, 2 errors), three zeros, and the length,
//! most significant byte first.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::Shutdown;

const HEAD: usize = 8;
const CHUNK: usize = 64 * 1024;

/// A program that was started over a socket.
pub struct RemoteStream {
    pub socket: OwnedFd,
    /// What came behind the answer to its start.
    pub received: Vec<u8>,
    /// Asks for the exit code of the program, once it has ended.
    pub exit_code: Box<dyn Fn() -> Option<i32> + Send>,
}

impl std::fmt::Debug for RemoteStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RemoteStream")
            .field("socket", &self.socket)
            .finish_non_exhaustive()
    }
}

/// The socket with what has come and was not taken yet.
#[derive(Debug)]
pub(super) struct Frames {
    stream: RemoteStream,
    pub(super) output: VecDeque<u8>,
    pub(super) errors: VecDeque<u8>,
    /// The beginning of a head.
    head: Vec<u8>,
    /// The stream of the frame that is coming, and how much of it is missing.
    frame: (u8, usize),
    pub(super) has_ended: bool,
    chunk: Vec<u8>,
}

impl Frames {
    pub(super) fn new(mut stream: RemoteStream) -> Self {
        let received = std::mem::take(&mut stream.received);
        let mut frames = Self {
            stream,
            output: VecDeque::new(),
            errors: VecDeque::new(),
            head: Vec::with_capacity(HEAD),
            frame: (0, 0),
            has_ended: false,
            chunk: vec![0; CHUNK],
        };
        frames.sort(&received);
        frames
    }

    pub(super) fn socket(&self) -> &OwnedFd {
        &self.stream.socket
    }

    /// Whether something came that nobody has taken.
    pub(super) fn has_some(&self) -> bool {
        !self.output.is_empty() || !self.errors.is_empty()
    }

    /// Reads what is there without waiting.
    pub(super) fn read(&mut self) {
        let mut chunk = std::mem::take(&mut self.chunk);
        match rustix::io::read(&self.stream.socket, &mut chunk[..]) {
            Ok(0) => self.has_ended = true,
            Ok(count) => self.sort(chunk.get(..count).unwrap_or_default()),
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(_) => self.has_ended = true,
        }
        self.chunk = chunk;
    }

    /// Ends the program's input.
    pub(super) fn end_input(&self) {
        if let Err(errno) = rustix::net::shutdown(&self.stream.socket, Shutdown::Write) {
            tracing::debug!(%errno, "the other side has gone first");
        }
    }

    /// The exit code of the program, which has ended or is about to.
    pub(super) fn exit_code(&self) -> Option<i32> {
        (self.stream.exit_code)()
    }

    fn sort(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if self.frame.1 > 0 {
                let (piece, rest) = bytes.split_at(self.frame.1.min(bytes.len()));
                if self.frame.0 == 2 {
                    self.errors.extend(piece);
                } else {
                    self.output.extend(piece);
                }
                self.frame.1 -= piece.len();
                bytes = rest;
                continue;
            }
            let missing = HEAD - self.head.len();
            let (piece, rest) = bytes.split_at(missing.min(bytes.len()));
            self.head.extend_from_slice(piece);
            bytes = rest;
            if let [stream, _, _, _, a, b, c, d] = self.head[..] {
                let length = u32::from_be_bytes([a, b, c, d]);
                self.frame = (stream, usize::try_from(length).unwrap_or(usize::MAX));
                self.head.clear();
            }
        }
    }
}

/// Moves what fits from a queue to a chunk.
pub(super) fn take<'c>(queue: &mut VecDeque<u8>, chunk: &'c mut [u8]) -> &'c [u8] {
    let count = std::io::Read::read(queue, chunk).unwrap_or(0);
    chunk.get(..count).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;
    use pretty_assertions::assert_eq;

    fn frame(stream: u8, text: &str) -> Vec<u8> {
        let length = u32::try_from(text.len()).unwrap().to_be_bytes();
        [&[stream, 0, 0, 0], &length[..], text.as_bytes()].concat()
    }

    #[test]
    fn frames_are_sorted_however_they_are_cut() {
        let sent = [
            frame(1, "one "),
            frame(2, "error"),
            frame(1, ""),
            frame(1, "two"),
        ]
        .concat();
        for size in 1..sent.len() {
            let (ours, _theirs) = UnixStream::pair().unwrap();
            let mut pieces = sent.chunks(size);
            let mut frames = Frames::new(RemoteStream {
                socket: ours.into(),
                received: pieces.next().unwrap().to_vec(),
                exit_code: Box::new(|| Some(3)),
            });
            for piece in pieces {
                frames.sort(piece);
            }
            let mut chunk = [0; 64];
            assert_eq!(take(&mut frames.output, &mut chunk), b"one two");
            assert_eq!(take(&mut frames.errors, &mut chunk), b"error");
            assert!(!frames.has_some());
            assert_eq!(frames.exit_code(), Some(3));
        }
    }
}
