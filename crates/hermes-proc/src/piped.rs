//! A child with pipes that its starter polls together with other descriptors.
//!
//! For callers with a loop of their own: they read the pipes, watch the exit descriptor and say
//! when it is enough. Killing reaches what the child started, also what left its process group.
//! Never reads the pipes itself and never decides about time.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, getpid, kill_process_group, pidfd_open};

use crate::session::ChildSetup;
use crate::{Error, KillTiming, ProcessTree, Result, kill_tree, start_time_of};

/// What to start. `Debug` shows no value of a variable.
pub struct PipedSpec {
    /// Path of the program; see [`crate::find_on_path`].
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Where it runs.
    pub cwd: PathBuf,
    /// All variables it sees, built by an environment plan.
    pub variables: Vec<(OsString, OsString)>,
}

impl std::fmt::Debug for PipedSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<&OsString> = self.variables.iter().map(|(name, _)| name).collect();
        f.debug_struct("PipedSpec")
            .field("program", &self.program)
            .field("args", &self.args)
            .field("cwd", &self.cwd)
            .field("variables", &names)
            .finish()
    }
}

/// A running child that leads a session. Dropped, the group is killed and the child reaped.
#[derive(Debug)]
pub struct PipedChild {
    child: Child,
    exit: OwnedFd,
    start_time: u64,
    program: PathBuf,
    reaped: bool,
}

impl PipedChild {
    /// Starts the child without input, both outputs piped, as leader of a session of its own. It
    /// does not outlive the thread that started it.
    pub fn spawn(spec: &PipedSpec) -> Result<Self> {
        Self::start(spec, Stdio::null(), Some(getpid()))
    }

    /// Starts the child with its input piped as well. It may outlive the thread that started it; for
    /// programs that end when their input does, as it does when we end.
    pub fn spawn_with_input(spec: &PipedSpec) -> Result<Self> {
        Self::start(spec, Stdio::piped(), None)
    }

    #[expect(clippy::disallowed_methods, reason = "this crate is the wrapper")]
    fn start(spec: &PipedSpec, input: Stdio, parent: Option<Pid>) -> Result<Self> {
        if !spec.cwd.is_dir() {
            // The system reports a missing directory as if the program were missing.
            return Err(Error::MissingDirectory {
                program: spec.program.clone(),
                cwd: spec.cwd.clone(),
            });
        }
        let mut command = Command::new(&spec.program);
        command
            .args(&spec.args)
            .env_clear()
            .envs(spec.variables.iter().map(|(name, value)| (name, value)))
            .current_dir(&spec.cwd)
            .stdin(input)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        ChildSetup {
            inherited: Vec::new(),
            is_terminal: false,
            parent,
        }
        .attach_to(&mut command);
        let mut child = command.spawn().map_err(|source| Error::Start {
            program: spec.program.clone(),
            source,
        })?;
        match pidfd_open(Pid::from_child(&child), PidfdFlags::empty()) {
            Ok(exit) => Ok(Self {
                // Not reaped yet, so the entry is there.
                start_time: start_time_of(child.id()).unwrap_or_default(),
                child,
                exit,
                program: spec.program.clone(),
                reaped: false,
            }),
            Err(errno) => {
                // Nobody could watch it, so it must not run.
                drop(child.kill());
                drop(child.wait());
                Err(Error::Wait {
                    program: spec.program.clone(),
                    source: errno.into(),
                })
            }
        }
    }

    /// Its pid, valid until it is reaped.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The write end of its standard input; given once, and only if it has one.
    pub fn take_stdin(&mut self) -> Option<OwnedFd> {
        self.child.stdin.take().map(Into::into)
    }

    /// The read end of its standard output; given once.
    pub fn take_stdout(&mut self) -> Option<OwnedFd> {
        self.child.stdout.take().map(Into::into)
    }

    /// The read end of its standard error; given once.
    pub fn take_stderr(&mut self) -> Option<OwnedFd> {
        self.child.stderr.take().map(Into::into)
    }

    /// Becomes readable when the child itself has ended.
    pub fn exit_descriptor(&self) -> BorrowedFd<'_> {
        self.exit.as_fd()
    }

    /// Waits for the child itself and reaps it. What it left behind goes on.
    pub fn wait(&mut self) -> Result<ExitStatus> {
        let status = self.child.wait().map_err(|source| self.lost(source))?;
        self.reaped = true;
        Ok(status)
    }

    /// Ends the whole tree, also what left the group and is known by `mark`, the value of
    /// `HERMES_EXEC_ID` in its environment. Returns when nothing of it lives, or with an error that
    /// names a survivor.
    pub fn kill_tree(&mut self, mark: &str, grace: Duration) -> Result<ExitStatus> {
        let tree = ProcessTree {
            leader: self.child.id(),
            start_time: self.start_time,
            mark: mark.to_owned(),
            leader_is_ours: true,
        };
        let timing = KillTiming {
            grace,
            ..KillTiming::default()
        };
        match kill_tree(&tree, timing).survivors.first() {
            Some(&pid) => Err(Error::Unkillable { pid }),
            None => self.wait(),
        }
    }

    fn lost(&self, source: io::Error) -> Error {
        Error::Wait {
            program: self.program.clone(),
            source,
        }
    }
}

impl Drop for PipedChild {
    fn drop(&mut self) {
        if !self.reaped {
            signal_group(Pid::from_child(&self.child), Signal::KILL);
            // Whoever dropped it has an error of its own to report.
            drop(self.child.wait());
        }
    }
}

fn signal_group(group: Pid, signal: Signal) {
    // No such group: everything has ended already, which is what we want.
    let _: std::result::Result<(), Errno> = kill_process_group(group, signal);
}
