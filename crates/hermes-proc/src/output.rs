//! An output pipe and the part of it that is kept.

use std::io;
use std::os::fd::OwnedFd;

use crate::read_once;

const CHUNK: usize = 16 * 1024;

/// Which bytes of an output are kept, and at most how many.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Keep {
    First(usize),
    Last(usize),
}

/// One output pipe and what came out of it.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) pipe: Option<OwnedFd>,
    pub(crate) bytes: Vec<u8>,
    pub(crate) truncated: bool,
    keep: Keep,
}

impl Output {
    pub(crate) fn new(pipe: Option<OwnedFd>, keep: Keep) -> Self {
        Self {
            pipe,
            bytes: Vec::new(),
            truncated: false,
            keep,
        }
    }

    /// Reads once from a pipe that is ready. What is not kept is read all the same, so that the child
    /// never blocks.
    pub(crate) fn fill(&mut self) -> io::Result<()> {
        let mut chunk = [0; CHUNK];
        let bytes = read_once(&mut self.pipe, &mut chunk)?;
        match self.keep {
            Keep::First(most) => {
                let room = most.saturating_sub(self.bytes.len());
                self.truncated |= bytes.len() > room;
                let fitting = bytes.get(..room).unwrap_or(bytes);
                self.bytes.extend_from_slice(fitting);
            }
            Keep::Last(most) => {
                self.bytes.extend_from_slice(bytes);
                let excess = self.bytes.len().saturating_sub(most);
                self.truncated |= excess > 0;
                self.bytes.drain(..excess);
            }
        }
        Ok(())
    }
}
