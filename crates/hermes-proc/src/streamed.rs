//! A child that is fed, or whose output is read, while it runs.
//!
//! One poll loop and no thread: whoever writes to the child also empties its output pipes, so neither
//! side waits for the other for ever. Of what is not read, only a beginning is kept. The child leads a
//! process group of its own, and nothing of that group is left afterwards. Never decides what is sent
//! or what an answer means.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

use crate::child::Captured;
use crate::signal::timespec;
use crate::{Error, Result};

/// How long output may still arrive after the child has ended and its group was killed: only a
/// process that left the group can hold the pipe longer, and it is not waited for.
const DRAIN: Duration = Duration::from_millis(500);

/// A running child with open pipes. What is written goes to its standard input, what is read comes
/// from its standard output. Dropped, its group is killed and the child reaped.
///
/// Writing fails with `BrokenPipe` when the child has stopped reading, both fail with `TimedOut` at
/// the deadline; [`StreamedChild::finish`] then tells what happened.
#[derive(Debug)]
pub struct StreamedChild {
    program: PathBuf,
    group: Group,
    exit: OwnedFd,
    ended: bool,
    limit: Duration,
    deadline: Instant,
    input: Option<OwnedFd>,
    stdout: Stream,
    stderr: Stream,
}

/// What a round of waiting brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Event {
    /// The child takes more input.
    Input,
    /// There is standard output to read.
    Output,
    /// Something else happened and was dealt with.
    Other,
    /// The time is up: the deadline, or the wait for output after the child's end.
    Silence,
}

impl StreamedChild {
    /// Takes over a child that leads its process group and has pipes where it should have them.
    pub(crate) fn adopt(
        mut child: Child,
        program: PathBuf,
        limit: Duration,
        max_output: usize,
    ) -> Result<Self> {
        let input = child.stdin.take().map(OwnedFd::from);
        let stdout = Stream::of(child.stdout.take(), max_output);
        let stderr = Stream::of(child.stderr.take(), max_output);
        let group = Group {
            child,
            reaped: false,
        };
        let lost = |errno: Errno| Error::Wait {
            program: program.clone(),
            source: errno.into(),
        };
        if let Some(input) = &input {
            // Our end alone: the child's is another open file.
            rustix::io::ioctl_fionbio(input, true).map_err(lost)?;
        }
        let exit = pidfd_open(Pid::from_child(&group.child), PidfdFlags::empty()).map_err(lost)?;
        Ok(Self {
            program,
            group,
            exit,
            ended: false,
            limit,
            deadline: Instant::now() + limit,
            input,
            stdout,
            stderr,
        })
    }

    /// Tells the child that there is no more input.
    pub fn close_input(&mut self) {
        self.input = None;
    }

    /// Waits for the end. What of the output has not been read is kept up to the cap. A child that
    /// is still running at the deadline is killed with all it started, and that is an error.
    pub fn finish(mut self) -> Result<Captured> {
        self.close_input();
        while !(self.ended && self.stdout.is_closed() && self.stderr.is_closed()) {
            let event = self.wait().map_err(|source| self.lost(source))?;
            match event {
                Event::Output => self.stdout.fill().map_err(|source| self.lost(source))?,
                Event::Silence if self.ended => break,
                Event::Silence => {
                    return Err(Error::Deadline {
                        program: self.program.clone(),
                        limit: self.limit,
                    });
                }
                Event::Input | Event::Other => {}
            }
        }
        let status = self.group.reap().map_err(|source| self.lost(source))?;
        Ok(Captured {
            status,
            truncated: self.stdout.truncated || self.stderr.truncated,
            stdout: std::mem::take(&mut self.stdout.bytes),
            stderr: std::mem::take(&mut self.stderr.bytes),
        })
    }

    /// Waits until something happens. Standard error and the end of the child are dealt with here.
    fn wait(&mut self) -> io::Result<Event> {
        let left = if self.ended {
            DRAIN
        } else {
            self.deadline.saturating_duration_since(Instant::now())
        };
        if left.is_zero() {
            return Ok(Event::Silence);
        }
        let sources = [
            self.stderr.pipe.as_ref().map(|fd| (fd, PollFlags::IN)),
            self.stdout.pipe.as_ref().map(|fd| (fd, PollFlags::IN)),
            self.input.as_ref().map(|fd| (fd, PollFlags::OUT)),
            (!self.ended).then_some((&self.exit, PollFlags::IN)),
        ];
        let mut watched: Vec<PollFd<'_>> = sources
            .iter()
            .flatten()
            .map(|(fd, flags)| PollFd::from_borrowed_fd(fd.as_fd(), *flags))
            .collect();
        let count = match poll(&mut watched, Some(&timespec(left))) {
            Ok(count) => count,
            Err(Errno::INTR) => return Ok(Event::Other),
            Err(errno) => return Err(errno.into()),
        };
        let mut happened = watched.iter().map(|fd| !fd.revents().is_empty());
        let [errors, output, input, exit] =
            sources.map(|source| source.is_some() && happened.next().unwrap_or(false));
        if count == 0 {
            return Ok(Event::Silence);
        }
        if errors {
            self.stderr.fill()?;
        }
        if exit {
            self.ended = true;
            self.input = None;
            self.group.kill();
        }
        Ok(match (output, input && !exit) {
            (true, _) => Event::Output,
            (false, true) => Event::Input,
            (false, false) => Event::Other,
        })
    }

    fn lost(&self, source: io::Error) -> Error {
        Error::Wait {
            program: self.program.clone(),
            source,
        }
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
                // Not what the writer is here for, but the child may wait for it to be taken.
                Event::Output => self.stdout.fill()?,
                Event::Silence if !self.ended => return Err(io::ErrorKind::TimedOut.into()),
                Event::Silence | Event::Input | Event::Other => {}
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Read for StreamedChild {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while !self.stdout.is_closed() {
            match self.wait()? {
                Event::Output => {
                    if let Some(count) = self.stdout.read_into(buffer)? {
                        return Ok(count);
                    }
                }
                Event::Silence if self.ended => break,
                Event::Silence => return Err(io::ErrorKind::TimedOut.into()),
                Event::Input | Event::Other => {}
            }
        }
        Ok(0)
    }
}

/// A child that leads a process group; dropped, the group is killed and the child reaped.
#[derive(Debug)]
struct Group {
    child: Child,
    reaped: bool,
}

impl Group {
    /// Kills what is left of the group. Called only before the leader is reaped: until then its pid
    /// cannot be given out again, so the group is ours.
    fn kill(&mut self) {
        if !self.reaped {
            // No such group: everything has ended already, which is what we want.
            let _: std::result::Result<(), Errno> =
                kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        }
    }

    fn reap(&mut self) -> io::Result<ExitStatus> {
        let status = self.child.wait()?;
        self.reaped = true;
        Ok(status)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if !self.reaped {
            self.kill();
            // The error that brought us here is the one to report.
            drop(self.child.wait());
        }
    }
}

/// One output pipe and what came out of it.
#[derive(Debug)]
struct Stream {
    pipe: Option<OwnedFd>,
    bytes: Vec<u8>,
    cap: usize,
    truncated: bool,
}

impl Stream {
    fn of(pipe: Option<impl Into<OwnedFd>>, cap: usize) -> Self {
        Self {
            pipe: pipe.map(Into::into),
            bytes: Vec::new(),
            cap,
            truncated: false,
        }
    }

    fn is_closed(&self) -> bool {
        self.pipe.is_none()
    }

    /// Reads once; `None` if that was interrupted. Nothing at all is the end of the stream.
    fn read_into(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        let Some(pipe) = &self.pipe else {
            return Ok(Some(0));
        };
        match rustix::io::read(pipe, buffer) {
            Ok(0) => {
                self.pipe = None;
                Ok(Some(0))
            }
            Ok(count) => Ok(Some(count)),
            Err(Errno::INTR) => Ok(None),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Reads once; beyond the cap bytes are read and dropped, so that the child never blocks.
    fn fill(&mut self) -> io::Result<()> {
        let mut chunk = [0; 16 * 1024];
        let count = self.read_into(&mut chunk)?.unwrap_or(0);
        let room = self.cap.saturating_sub(self.bytes.len());
        self.truncated |= count > room;
        self.bytes
            .extend_from_slice(chunk.get(..count.min(room)).unwrap_or_default());
        Ok(())
    }
}
