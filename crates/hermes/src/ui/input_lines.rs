//! Standard input line by line, in a way that a raised flag ends.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::fd::AsFd;

use hermes_proc::{Wake, first_readable};

use crate::error::{CommandError, Result};

/// A longer line is not kept.
pub(crate) const MAX_LINE: usize = 16 * 1024 * 1024;

/// A line.
pub(crate) enum Line {
    Text(Vec<u8>),
    TooLong,
}

/// Standard input line by line, until it ends or the program is to.
pub(crate) struct Lines<'a> {
    input: BufReader<File>,
    interrupt: &'a Wake,
}

impl<'a> Lines<'a> {
    pub(crate) fn of_standard_input(interrupt: &'a Wake) -> Result<Self> {
        // A reader of our own: only it can tell whether a line is there already or must be waited for.
        let input =
            rustix::io::dup(rustix::stdio::stdin()).map_err(|errno| unread(&errno.into()))?;
        Ok(Self {
            input: BufReader::new(File::from(input)),
            interrupt,
        })
    }

    /// The next line; `None` at the end of input, or when the program is to end.
    pub(crate) fn next(&mut self) -> Result<Option<Line>> {
        let mut line = Vec::new();
        let mut too_long = false;
        let mut any = false;
        loop {
            let Some(buffer) = self.more()? else {
                return Ok(None);
            };
            let end = buffer.iter().position(|byte| *byte == b'\n');
            let piece = buffer
                .get(..end.unwrap_or(buffer.len()))
                .unwrap_or_default();
            let finished = end.is_some() || buffer.is_empty();
            any |= !buffer.is_empty();
            too_long |= line.len() + piece.len() > MAX_LINE;
            if !too_long {
                line.extend_from_slice(piece);
            }
            let taken = end.map_or(buffer.len(), |end| end + 1);
            self.input.consume(taken);
            if finished {
                let line = if too_long {
                    Line::TooLong
                } else {
                    Line::Text(line)
                };
                return Ok(any.then_some(line));
            }
        }
    }

    /// What has been read and not consumed, nothing at the end of input; `None` when the program is to
    /// end.
    fn more(&mut self) -> Result<Option<&[u8]>> {
        if self.interrupt.is_raised() {
            return Ok(None);
        }
        if self.input.buffer().is_empty() {
            let sources = [self.interrupt.as_fd(), self.input.get_ref().as_fd()];
            if first_readable(&sources, None).map_err(|error| unread(&error))? == Some(0) {
                return Ok(None);
            }
        }
        self.input
            .fill_buf()
            .map(Some)
            .map_err(|error| unread(&error))
    }
}

fn unread(error: &std::io::Error) -> CommandError {
    CommandError::environment(format!("could not read standard input: {error}"))
}
