//! A child that is fed, or whose output is read, while it runs.
//!
//! One poll loop and no thread: writing to the child also empties its output pipes, so neither side
//! waits for the other for ever. Of what is not read, only a beginning is kept. When the child has
//! ended, nothing of its process group is left. What is sent and what an answer means is the caller's.

use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::io::Errno;

use crate::output::{Keep, Output};
use crate::{Child, ChildSpec, ExitStatus, PollSet, Result, Streams, Wake, read_once};

/// How long output may still arrive after the child has ended and its group was killed: only a
/// process that left the group can hold the pipe longer, and it is not waited for.
const DRAIN: Duration = Duration::from_millis(500);

/// What a captured child left.
#[derive(Debug)]
pub struct Captured {
    pub status: ExitStatus,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    pub truncated: bool,
}

/// A running child with open pipes. What is written goes to its standard input, what is read comes
/// from its standard output. Dropped, its group is killed.
///
/// Writing fails with `BrokenPipe` when the child has stopped reading; both fail with `TimedOut` at
/// the deadline. [`StreamedChild::finish`] then says what happened.
#[derive(Debug)]
pub struct StreamedChild {
    child: Child,
    has_ended: bool,
    limit: Duration,
    deadline: Instant,
    input: Option<OwnedFd>,
    stdout: Output,
    stderr: Output,
    /// Ends it early.
    cancel: Option<Arc<Wake>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Event {
    Output,
    /// Something else happened and was dealt with, or the child takes more input.
    Other,
    /// The time is up: the deadline, or the wait for output after the child's end.
    TimeUp,
    Cancelled,
}

impl ChildSpec {
    /// Runs the child without input and keeps at most `max_output` bytes of each output stream.
    /// At `limit` the child and its group are killed, and that is an error.
    pub fn run_captured(self, limit: Duration, max_output: usize) -> Result<Captured> {
        StreamedChild::start(self, false, limit, max_output)?.finish()
    }

    /// Starts the child with an open input, to be written to or read from while it runs. At `limit`
    /// the child and its group are killed; of what is not read, at most `max_output` bytes are kept
    /// of each output stream.
    pub fn start_streamed(self, limit: Duration, max_output: usize) -> Result<StreamedChild> {
        StreamedChild::start(self, true, limit, max_output)
    }
}

impl StreamedChild {
    fn start(mut spec: ChildSpec, input: bool, limit: Duration, max_output: usize) -> Result<Self> {
        spec.streams = Streams::Pipes { input };
        let mut child = spec.spawn()?;
        let input = child.take_stdin();
        if let Some(input) = &input {
            // Our end alone: the child's is another open file.
            rustix::io::ioctl_fionbio(input, true).map_err(|errno| child.lost(errno.into()))?;
        }
        Ok(Self {
            has_ended: false,
            limit,
            deadline: Instant::now() + limit,
            input,
            stdout: Output::new(child.take_stdout(), Keep::First(max_output)),
            stderr: Output::new(child.take_stderr(), Keep::First(max_output)),
            cancel: None,
            child,
        })
    }

    /// Lets a wake end the child early, which is an error.
    #[must_use]
    pub fn cancelled_by(mut self, cancel: Arc<Wake>) -> Self {
        self.cancel = Some(cancel);
        self
    }

    /// Tells the child that there is no more input.
    pub fn close_input(&mut self) {
        self.input = None;
    }

    /// Waits for the end. What of the output has not been read is kept up to the cap. A child that
    /// is still running at the deadline is killed with its group, and that is an error.
    pub fn finish(mut self) -> Result<Captured> {
        self.close_input();
        while !self.has_ended || self.stdout.pipe.is_some() || self.stderr.pipe.is_some() {
            let event = self.wait();
            match event.map_err(|source| self.child.lost(source))? {
                Event::Output => {
                    let filled = self.stdout.fill();
                    filled.map_err(|source| self.child.lost(source))?;
                }
                Event::TimeUp if self.has_ended => break,
                Event::TimeUp => return Err(self.child.past_deadline(self.limit)),
                Event::Cancelled => return Err(self.child.cancelled()),
                Event::Other => {}
            }
        }
        Ok(Captured {
            status: self.child.wait()?,
            truncated: self.stdout.truncated || self.stderr.truncated,
            stdout: self.stdout.bytes,
            stderr: self.stderr.bytes,
        })
    }

    /// Waits until something happens. Standard error and the end of the child are dealt with here.
    fn wait(&mut self) -> io::Result<Event> {
        let left = if self.has_ended {
            DRAIN
        } else {
            self.deadline.saturating_duration_since(Instant::now())
        };
        if left.is_zero() {
            return Ok(Event::TimeUp);
        }
        let mut set = PollSet::new();
        let errors = set.readable(self.stderr.pipe.as_ref());
        let output = set.readable(self.stdout.pipe.as_ref());
        set.writable(self.input.as_ref());
        let exit = set.readable((!self.has_ended).then_some(&self.child));
        let cancel = set.readable(self.cancel.as_deref().filter(|_| !self.has_ended));
        if !set.wait(left)? {
            return Ok(Event::TimeUp);
        }
        if set.is_ready(&cancel) && !set.is_ready(&exit) {
            return Ok(Event::Cancelled);
        }
        let (errors, output) = (set.is_ready(&errors), set.is_ready(&output));
        if set.is_ready(&exit) {
            self.has_ended = true;
            self.input = None;
            self.child.kill_group();
        }
        if errors {
            self.stderr.fill()?;
        }
        Ok(if output { Event::Output } else { Event::Other })
    }
}

impl Write for StreamedChild {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            let Some(input) = &self.input else {
                return Err(io::ErrorKind::BrokenPipe.into());
            };
            match rustix::io::write(input, bytes) {
                Ok(count) => return Ok(count),
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(errno) => {
                    self.input = None;
                    return Err(errno.into());
                }
            }
            match self.wait()? {
                // Not the writer's concern, but the child may wait for it to be read.
                Event::Output => self.stdout.fill()?,
                Event::TimeUp if !self.has_ended => return Err(io::ErrorKind::TimedOut.into()),
                // Not "interrupted", which writers take for "try again".
                Event::Cancelled => return Err(io::ErrorKind::ConnectionAborted.into()),
                Event::TimeUp | Event::Other => {}
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Read for StreamedChild {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.stdout.pipe.is_some() {
            match self.wait()? {
                Event::Output => {
                    let count = read_once(&mut self.stdout.pipe, buffer)?.len();
                    if count > 0 {
                        return Ok(count);
                    }
                }
                Event::TimeUp if self.has_ended => break,
                Event::TimeUp => return Err(io::ErrorKind::TimedOut.into()),
                Event::Cancelled => return Err(io::ErrorKind::ConnectionAborted.into()),
                Event::Other => {}
            }
        }
        Ok(0)
    }
}
