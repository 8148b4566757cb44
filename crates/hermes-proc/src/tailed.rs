//! Running a command for its exit status and the end of its output, with nothing left behind.
//!
//! The command leads a session of its own without input; both of its outputs go into one pipe, so
//! that lines stand in the order in which they were written. When the command ends or its time is up,
//! everything it started is ended, also what left the session and is known by its mark. The command
//! does not outlive the thread that runs it.

use std::io;
use std::time::{Duration, Instant};

use crate::output::{Keep, Output};
use crate::{Child, ChildSpec, Error, ExitStatus, Group, KillTiming, PollSet, Result, Streams};

/// How long output may still arrive when everything has ended.
const DRAIN: Duration = Duration::from_millis(500);
/// How long killed processes may take to vanish: on a busy machine they first have to be scheduled.
const KILL_TIMEOUT: Duration = Duration::from_secs(15);

/// Limits of a command that is run by [`ChildSpec::run_tailed`].
#[derive(Debug, Clone, Copy)]
pub struct TailLimits {
    pub timeout: Duration,
    /// From SIGTERM to SIGKILL when its time is up.
    pub grace: Duration,
    /// How many bytes of the end of its output are kept.
    pub keep: usize,
}

/// What a tailed command left.
#[derive(Debug, PartialEq, Eq)]
pub struct Tailed {
    /// How it ended; `None` if its time was up.
    pub status: Option<ExitStatus>,
    pub output: Vec<u8>,
    pub truncated: bool,
    pub duration: Duration,
}

impl ChildSpec {
    /// Runs the command until it ends or its time is up.
    pub fn run_tailed(mut self, limits: TailLimits) -> Result<Tailed> {
        let (reader, writer) = io::pipe().map_err(|source| Error::Wait {
            program: self.program.clone(),
            source,
        })?;
        self.streams = Streams::Given {
            input: None,
            output: Some(writer.into()),
        };
        self.group = Group::Session;
        self.ends_with_thread = true;
        let began = Instant::now();
        let mut child = self.spawn()?;
        let mut tail = Output::new(Some(reader.into()), Keep::Last(limits.keep));
        let in_time = read_until_end(Some(&child), &mut tail, began + limits.timeout)
            .map_err(|source| child.lost(source))?;
        let duration = began.elapsed();
        let status = child.kill_tree(KillTiming {
            grace: if in_time {
                Duration::ZERO
            } else {
                limits.grace
            },
            timeout: KILL_TIMEOUT,
            force: true,
        })?;
        read_until_end(None, &mut tail, Instant::now() + DRAIN)
            .map_err(|source| child.lost(source))?;
        Ok(Tailed {
            status: in_time.then_some(status),
            truncated: tail.truncated,
            output: tail.bytes,
            duration,
        })
    }
}

/// Reads until the child has ended, or without one until the pipe has; `false` if the deadline came
/// first.
fn read_until_end(child: Option<&Child>, tail: &mut Output, deadline: Instant) -> io::Result<bool> {
    while child.is_some() || tail.pipe.is_some() {
        let left = deadline.saturating_duration_since(Instant::now());
        let mut set = PollSet::new();
        let exit = set.readable(child);
        let output = set.readable(tail.pipe.as_ref());
        set.wait(left)?;
        let has_ended = set.is_ready(&exit);
        if set.is_ready(&output) {
            tail.fill()?;
        } else if has_ended {
            return Ok(true);
        }
        if left.is_zero() {
            return Ok(has_ended);
        }
    }
    Ok(true)
}
