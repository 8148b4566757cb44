//! Starting a program and waiting for it.
//!
//! A child gets the variables of its [`EnvPlan`] and no others. A captured or streamed
//! child runs in a process group of its own, and nothing of that group is left afterwards.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use crate::streamed::StreamedChild;
use crate::{EnvPlan, Error, Result};

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
        self.start_with(Stdio::null(), limit, max_output)?.finish()
    }

    /// Starts the child with an open input, to be written to or read from while it runs. At `limit`
    /// the child and all it started are killed; at most `max_output` bytes are kept of each output
    /// stream, beyond what is read.
    pub fn start_streamed(&self, limit: Duration, max_output: usize) -> Result<StreamedChild> {
        self.start_with(Stdio::piped(), limit, max_output)
    }

    fn start_with(
        &self,
        input: Stdio,
        limit: Duration,
        max_output: usize,
    ) -> Result<StreamedChild> {
        let mut command = self.command();
        command
            .stdin(input)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        let child = self.spawn(&mut command)?;
        StreamedChild::adopt(child, self.program.clone(), limit, max_output)
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
