//! What to start, and with what.
//!
//! Every child of the program is described by a [`ChildSpec`] and started by `clone.rs`. It sees the
//! variables of its specification and no others, and of our descriptors only those named here.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::time::Duration;

use rustix::fs::{Mode, OFlags};
use rustix::io::fcntl_dupfd_cloexec;

use crate::child::{Child, ExitStatus};
use crate::streamed::{Captured, StreamedChild};
use crate::tree::MARK;
use crate::{EnvPlan, Error, Result, clone};

/// A program to start. [`ChildSpec::new`] has the usual values of all but the first fields.
#[derive(Debug)]
pub struct ChildSpec {
    /// Path of the program; see [`crate::find_on_path`].
    pub program: PathBuf,
    pub args: Vec<OsString>,
    pub env: ChildEnv,
    /// Where it runs; the parent's directory if `None`.
    pub cwd: Option<PathBuf>,
    pub streams: Streams,
    pub group: Group,
    /// Descriptors it gets under the numbers they have here. All others stay ours.
    pub inherited: Vec<OwnedFd>,
    /// Whether the kernel kills it when the thread that started it ends.
    pub ends_with_thread: bool,
    /// Whether it is killed, with its group, when the [`Child`] is dropped before it was waited for.
    pub kill_on_drop: bool,
}

/// Standard streams of a child.
#[derive(Debug)]
pub enum Streams {
    Inherited,
    /// Pipes, whose other ends the [`Child`] has. Without an input it reads from `/dev/null`.
    Pipes {
        input: bool,
    },
    /// These descriptors, or `/dev/null`; errors go where the output goes.
    Given {
        input: Option<OwnedFd>,
        output: Option<OwnedFd>,
    },
    /// A terminal, which becomes the controlling one of the child's session.
    Terminal(OwnedFd),
}

/// The process group of a child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// Ours: it can use our terminal.
    Shared,
    /// One of its own, in our session.
    Own,
    /// One of its own, in a session of its own: our terminal is out of reach.
    Session,
}

/// All variables of a child. Values are never shown.
#[derive(Clone, Default)]
pub struct ChildEnv(BTreeMap<OsString, OsString>);

impl std::fmt::Debug for ChildEnv {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl From<EnvPlan> for ChildEnv {
    fn from(plan: EnvPlan) -> Self {
        Self(plan.into_variables())
    }
}

impl From<&EnvPlan> for ChildEnv {
    fn from(plan: &EnvPlan) -> Self {
        Self(plan.variables().clone())
    }
}

/// Variables that a plan was built for earlier, or elsewhere. Of two values of one name the later
/// counts.
impl From<&[(OsString, OsString)]> for ChildEnv {
    fn from(variables: &[(OsString, OsString)]) -> Self {
        Self(variables.iter().cloned().collect())
    }
}

impl From<Vec<(OsString, OsString)>> for ChildEnv {
    fn from(variables: Vec<(OsString, OsString)>) -> Self {
        Self(variables.into_iter().collect())
    }
}

impl ChildEnv {
    pub(crate) fn variables(&self) -> &BTreeMap<OsString, OsString> {
        &self.0
    }

    /// The value of `HERMES_EXEC_ID`, which all processes of this child will carry.
    pub(crate) fn mark(&self) -> String {
        let mark = self.0.get(OsStr::new(MARK)).cloned();
        mark.unwrap_or_default().to_string_lossy().into_owned()
    }
}

impl ChildSpec {
    /// A child with its outputs piped and no input, in a group of its own, killed when dropped.
    pub fn new<A: Into<OsString>>(
        program: impl Into<PathBuf>,
        args: impl IntoIterator<Item = A>,
        env: impl Into<ChildEnv>,
    ) -> Self {
        Self {
            program: program.into(),
            args: args.into_iter().map(Into::into).collect(),
            env: env.into(),
            cwd: None,
            streams: Streams::Pipes { input: false },
            group: Group::Own,
            inherited: Vec::new(),
            ends_with_thread: false,
            kill_on_drop: true,
        }
    }

    /// Starts the program.
    pub fn spawn(self) -> Result<Child> {
        if let Some(cwd) = &self.cwd
            && !cwd.is_dir()
        {
            // The system reports a missing directory as if the program were missing.
            return Err(Error::MissingDirectory {
                program: self.program,
                cwd: cwd.clone(),
            });
        }
        let program = self.program.clone();
        self.start()
            .map_err(|source| Error::Start { program, source })
    }

    /// Lends our terminal to the child and waits until it ends.
    pub fn run_interactive(mut self) -> Result<ExitStatus> {
        self.streams = Streams::Inherited;
        self.group = Group::Shared;
        self.spawn()?.wait()
    }

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

    fn start(mut self) -> io::Result<Child> {
        let streams = std::mem::replace(&mut self.streams, Streams::Inherited);
        let is_terminal = matches!(streams, Streams::Terminal(_));
        let mut ours = [None, None, None];
        let theirs = match streams {
            Streams::Inherited => None,
            Streams::Pipes { input } => {
                let [our_input, our_output, our_errors] = &mut ours;
                let input = if input {
                    let (reader, writer) = io::pipe()?;
                    *our_input = Some(writer.into());
                    reader.into()
                } else {
                    null()?
                };
                Some([input, output_pipe(our_output)?, output_pipe(our_errors)?])
            }
            Streams::Given { input, output } => {
                let output = output.map_or_else(null, Ok)?;
                let input = input.map_or_else(null, Ok)?;
                Some([input, output.try_clone()?, output])
            }
            Streams::Terminal(terminal) => {
                Some([terminal.try_clone()?, terminal.try_clone()?, terminal])
            }
        };
        let theirs = match theirs {
            Some([input, output, errors]) => Some([
                above_standard(input)?,
                above_standard(output)?,
                above_standard(errors)?,
            ]),
            None => None,
        };
        let numbers = theirs
            .as_ref()
            .map(|streams| streams.each_ref().map(AsRawFd::as_raw_fd));
        let started = clone::start(&self, numbers, is_terminal)?;
        Ok(Child::new(started, self, ours))
        // Our copies of the child's descriptors go here, before anyone waits for the end of a pipe.
    }
}

/// A pipe for output: puts our end into `ours` and returns the child's.
fn output_pipe(ours: &mut Option<OwnedFd>) -> io::Result<OwnedFd> {
    let (reader, writer) = io::pipe()?;
    *ours = Some(reader.into());
    Ok(writer.into())
}

fn null() -> io::Result<OwnedFd> {
    let flags = OFlags::RDWR | OFlags::CLOEXEC;
    Ok(rustix::fs::open("/dev/null", flags, Mode::empty())?)
}

/// A program that was started with a standard stream closed gets that number for something else; the
/// descriptor must not be overwritten before it has been passed on.
fn above_standard(descriptor: OwnedFd) -> io::Result<OwnedFd> {
    if descriptor.as_raw_fd() > 2 {
        return Ok(descriptor);
    }
    Ok(fcntl_dupfd_cloexec(&descriptor, 3)?)
}
