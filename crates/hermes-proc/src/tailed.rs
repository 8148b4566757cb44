//! Running a command for its verdict: the end of what it printed, and nothing left behind.
//!
//! The command leads a session of its own without input; both of its outputs go into one pipe, so
//! that lines stand in the order in which they were written. When it ends or its time is up, all it
//! started is ended with it, also what left the session and is known by its mark. It does not
//! outlive the thread that runs it.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

use crate::signal::timespec;
use crate::{
    Ended, EnvPlan, Error, KillTiming, ProcessTree, Result, SessionChild, SessionSpec,
    StandardStreams, kill_tree,
};

/// How long output may still arrive when everything has ended.
const DRAIN: Duration = Duration::from_millis(500);
/// How long what was killed may take to vanish: on a machine that is busy with other things it first
/// has to get a turn. Nobody waits longer than it takes.
const PATIENCE: Duration = Duration::from_secs(15);

/// A command and its limits.
#[derive(Debug)]
pub struct TailedSpec<'a> {
    /// Path of the program; see [`crate::find_on_path`].
    pub program: &'a Path,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Where it runs.
    pub cwd: &'a Path,
    /// All variables it sees.
    pub env: &'a EnvPlan,
    /// How long it may run.
    pub limit: Duration,
    /// From SIGTERM to SIGKILL when its time is up.
    pub grace: Duration,
    /// How many bytes of the end of its output are kept.
    pub keep: usize,
}

/// What came of it.
#[derive(Debug, PartialEq, Eq)]
pub struct Tailed {
    /// How it ended; `None` if its time was up.
    pub ended: Option<Ended>,
    /// The end of its output.
    pub output: Vec<u8>,
    /// Whether there was more.
    pub truncated: bool,
    /// How long it ran.
    pub duration: Duration,
}

impl TailedSpec<'_> {
    /// Runs it to the end, its own or that of its time.
    pub fn run(self) -> Result<Tailed> {
        let program = self.program.to_owned();
        let lost = |source: io::Error| Error::Wait {
            program: program.clone(),
            source,
        };
        if !self.cwd.is_dir() {
            // The system reports a missing directory as if the program were missing.
            return Err(Error::MissingDirectory {
                program,
                cwd: self.cwd.to_owned(),
            });
        }
        let (reader, writer) = io::pipe().map_err(lost)?;
        let mark = self.env.get("HERMES_EXEC_ID").unwrap_or_default();
        let mark = mark.to_string_lossy().into_owned();
        let variables: Vec<(OsString, OsString)> = self
            .env
            .variables()
            .iter()
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        let began = Instant::now();
        let child = SessionSpec {
            program: self.program,
            args: self.args,
            cwd: self.cwd,
            variables: &variables,
            streams: StandardStreams {
                input: None,
                output: Some(writer.into()),
                is_terminal: false,
            },
            inherited: Vec::new(),
            ends_with_us: true,
        }
        .start()?;
        let mut tail = Tail::new(reader.into(), self.keep);
        let in_time = read_until_end(&child, &mut tail, began + self.limit).map_err(lost)?;
        let duration = began.elapsed();
        let tree = ProcessTree {
            leader: child.pid(),
            start_time: child.start_time(),
            mark,
            leader_is_ours: true,
        };
        let timing = KillTiming {
            grace: if in_time { Duration::ZERO } else { self.grace },
            patience: PATIENCE,
            force: true,
        };
        if let Some(&pid) = kill_tree(&tree, timing).survivors.first() {
            return Err(Error::Unkillable { pid });
        }
        tail.drain(Instant::now() + DRAIN).map_err(lost)?;
        let ended = child.reap()?;
        Ok(Tailed {
            ended: in_time.then_some(ended),
            truncated: tail.truncated,
            output: tail.bytes.into(),
            duration,
        })
    }
}

/// Reads until the child has ended; `false` if the deadline came first.
fn read_until_end(child: &SessionChild, tail: &mut Tail, deadline: Instant) -> io::Result<bool> {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let mut watched = vec![PollFd::from_borrowed_fd(
            child.exit_descriptor(),
            PollFlags::IN,
        )];
        if let Some(pipe) = &tail.pipe {
            watched.push(PollFd::from_borrowed_fd(pipe.as_fd(), PollFlags::IN));
        }
        match poll(&mut watched, Some(&timespec(left))) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        let has_ended = watched.first().is_some_and(|fd| !fd.revents().is_empty());
        let is_readable = watched.get(1).is_some_and(|fd| !fd.revents().is_empty());
        if is_readable {
            tail.fill()?;
        } else if has_ended {
            return Ok(true);
        }
        if left.is_zero() {
            return Ok(has_ended);
        }
    }
}

/// The end of what comes out of a pipe.
struct Tail {
    pipe: Option<OwnedFd>,
    bytes: VecDeque<u8>,
    keep: usize,
    truncated: bool,
}

impl Tail {
    fn new(pipe: OwnedFd, keep: usize) -> Self {
        Self {
            pipe: Some(pipe),
            bytes: VecDeque::new(),
            keep,
            truncated: false,
        }
    }

    fn fill(&mut self) -> io::Result<()> {
        let Some(pipe) = self.pipe.take() else {
            return Ok(());
        };
        let mut file = std::fs::File::from(pipe);
        let mut chunk = [0; 16 * 1024];
        let count = match file.read(&mut chunk) {
            Ok(0) => return Ok(()),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => 0,
            Err(error) => return Err(error),
        };
        self.bytes.extend(chunk.get(..count).unwrap_or_default());
        let excess = self.bytes.len().saturating_sub(self.keep);
        self.truncated |= excess > 0;
        self.bytes.drain(..excess);
        self.pipe = Some(file.into());
        Ok(())
    }

    /// Takes what is still in the pipe.
    fn drain(&mut self, deadline: Instant) -> io::Result<()> {
        while let Some(pipe) = &self.pipe {
            let left = deadline.saturating_duration_since(Instant::now());
            let mut watched = [PollFd::from_borrowed_fd(pipe.as_fd(), PollFlags::IN)];
            match poll(&mut watched, Some(&timespec(left))) {
                Ok(0) => return Ok(()),
                Ok(_) => self.fill()?,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(())
    }
}
