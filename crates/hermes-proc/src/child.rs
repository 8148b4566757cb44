//! Starting a program and waiting for it.
//!
//! A child gets the variables of its [`EnvPlan`] and no others. A captured child runs in a process
//! group of its own, without input, and nothing of that group is left when the call returns.

use std::ffi::OsString;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

use crate::signal::timespec;
use crate::{EnvPlan, Error, Result};

/// How long output may still arrive after the child has ended and its group was killed: only a
/// process that left the group can hold the pipe longer, and it is not waited for.
const DRAIN: Duration = Duration::from_millis(500);

/// What to start.
#[derive(Debug, Clone)]
pub struct ChildSpec {
    /// Path of the program; see [`crate::find_on_path`].
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Where it runs; the parent's directory if `None`.
    pub cwd: Option<PathBuf>,
    /// All variables it sees.
    pub env: EnvPlan,
}

/// What a captured child left.
#[derive(Debug)]
pub struct Captured {
    /// How it ended.
    pub status: ExitStatus,
    /// The beginning of its standard output.
    pub stdout: Vec<u8>,
    /// The beginning of its standard error.
    pub stderr: Vec<u8>,
    /// Whether either was cut at the cap.
    pub truncated: bool,
}

impl ChildSpec {
    /// Lends the terminal to the child and waits until it ends.
    pub fn run_interactive(&self) -> Result<ExitStatus> {
        let mut child = self.spawn(&mut self.command())?;
        child.wait().map_err(|source| self.lost(source))
    }

    /// Runs the child without input and keeps at most `max_output` bytes of each output stream.
    /// At `limit` the child and all it started are killed, and that is an error.
    pub fn run_captured(&self, limit: Duration, max_output: usize) -> Result<Captured> {
        let mut command = self.command();
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        let mut group = Group {
            child: self.spawn(&mut command)?,
            reaped: false,
        };
        let mut stdout = Stream::of(group.child.stdout.take(), max_output);
        let mut stderr = Stream::of(group.child.stderr.take(), max_output);
        let exit = pidfd_open(Pid::from_child(&group.child), PidfdFlags::empty())
            .map_err(|errno| self.lost(errno.into()))?;

        let mut deadline = Instant::now() + limit;
        let mut ended = false;
        while !(ended && stdout.is_closed() && stderr.is_closed()) {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                if ended {
                    break;
                }
                return Err(Error::Deadline {
                    program: self.program.clone(),
                    limit,
                });
            }
            let readable = wait_for_any(
                &[&stdout.pipe, &stderr.pipe],
                (!ended).then_some(&exit),
                left,
            )
            .map_err(|errno| self.lost(errno.into()))?;
            let [out_ready, err_ready] = readable.streams;
            if out_ready {
                stdout.fill().map_err(|source| self.lost(source))?;
            }
            if err_ready {
                stderr.fill().map_err(|source| self.lost(source))?;
            }
            if readable.ended && !ended {
                ended = true;
                group.kill();
                deadline = Instant::now() + DRAIN;
            }
        }
        let status = group.reap().map_err(|source| self.lost(source))?;
        Ok(Captured {
            status,
            truncated: stdout.truncated || stderr.truncated,
            stdout: stdout.bytes,
            stderr: stderr.bytes,
        })
    }

    #[expect(clippy::disallowed_methods, reason = "this is the wrapper")]
    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(&self.args)
            .env_clear()
            .envs(self.env.variables());
        if let Some(cwd) = &self.cwd {
            command.current_dir(cwd);
        }
        command
    }

    #[expect(clippy::disallowed_methods, reason = "this is the wrapper")]
    fn spawn(&self, command: &mut Command) -> Result<Child> {
        if let Some(cwd) = &self.cwd
            && !cwd.is_dir()
        {
            // The system reports a missing directory as if the program were missing.
            return Err(Error::MissingDirectory {
                program: self.program.clone(),
                cwd: cwd.clone(),
            });
        }
        command.spawn().map_err(|source| Error::Start {
            program: self.program.clone(),
            source,
        })
    }

    fn lost(&self, source: io::Error) -> Error {
        Error::Wait {
            program: self.program.clone(),
            source,
        }
    }
}

/// A child that leads a process group; dropped, the group is killed and the child reaped.
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

    /// Reads once; beyond the cap bytes are read and dropped, so that the child never blocks.
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
        let room = self.cap.saturating_sub(self.bytes.len());
        self.truncated |= count > room;
        self.bytes
            .extend_from_slice(chunk.get(..count.min(room)).unwrap_or_default());
        self.pipe = Some(file.into());
        Ok(())
    }
}

struct Ready {
    streams: [bool; 2],
    ended: bool,
}

fn wait_for_any(
    streams: &[&Option<OwnedFd>; 2],
    exit: Option<&OwnedFd>,
    limit: Duration,
) -> std::result::Result<Ready, Errno> {
    let sources = [streams[0].as_ref(), streams[1].as_ref(), exit];
    let mut watched: Vec<PollFd<'_>> = sources
        .iter()
        .flatten()
        .map(|descriptor| PollFd::from_borrowed_fd(descriptor.as_fd(), PollFlags::IN))
        .collect();
    match poll(&mut watched, Some(&timespec(limit))) {
        Ok(_) | Err(Errno::INTR) => {}
        Err(errno) => return Err(errno),
    }
    let mut results = watched.iter().map(|fd| !fd.revents().is_empty());
    let mut ready = sources.map(|source| source.is_some() && results.next().unwrap_or(false));
    let ended = std::mem::take(&mut ready[2]);
    Ok(Ready {
        streams: [ready[0], ready[1]],
        ended,
    })
}
