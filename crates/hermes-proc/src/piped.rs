//! A child with two output pipes that its starter polls together with other descriptors.
//!
//! For callers with a loop of their own: they read the pipes, watch the exit descriptor and say
//! when it is enough. Killing reaches what the child started, also what left its process group.
//! Never reads the pipes itself and never decides about time.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, getpgid, kill_process_group, pidfd_open};

use crate::{
    Error, ProcessHandle, ProcessIdentity, Result, environment_of, identity_of, linux, pids_of_user,
};

/// How long the kernel gets to clear away what was killed.
const KILL_WAIT: Duration = Duration::from_secs(2);
/// How often the search for survivors is repeated: each round kills everything it finds, so only a
/// tree that forks faster than we look needs more than two.
const SWEEPS: usize = 16;

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

/// A variable only processes of one tree have, by which those that left it are found again.
#[derive(Clone, Copy)]
pub struct TreeMarker<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its value, unique to the tree.
    pub value: &'a OsStr,
}

/// A running child that leads a process group. Dropped, the group is killed and the child reaped.
#[derive(Debug)]
pub struct PipedChild {
    child: Child,
    exit: OwnedFd,
    program: PathBuf,
    reaped: bool,
}

impl PipedChild {
    /// Starts the child without input, both outputs piped, in a process group of its own.
    #[expect(clippy::disallowed_methods, reason = "this crate is the wrapper")]
    pub fn spawn(spec: &PipedSpec) -> Result<Self> {
        if !spec.cwd.is_dir() {
            // The system reports a missing directory as if the program were missing.
            return Err(Error::MissingDirectory {
                program: spec.program.clone(),
                cwd: spec.cwd.clone(),
            });
        }
        let mut child = Command::new(&spec.program)
            .args(&spec.args)
            .env_clear()
            .envs(spec.variables.iter().map(|(name, value)| (name, value)))
            .current_dir(&spec.cwd)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(|source| Error::Start {
                program: spec.program.clone(),
                source,
            })?;
        match pidfd_open(Pid::from_child(&child), PidfdFlags::empty()) {
            Ok(exit) => Ok(Self {
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

    /// Ends the whole tree: SIGTERM to the group, `grace` for the group to end, SIGKILL to the
    /// group, then SIGKILL to every descendant and every bearer of the marker that is left.
    /// Returns when nothing of it lives, or with an error that names a survivor.
    pub fn kill_tree(&mut self, marker: TreeMarker<'_>, grace: Duration) -> Result<ExitStatus> {
        let leader = self.child.id();
        let group = Pid::from_child(&self.child);
        let mut tree = tree_of(leader, marker);
        signal_group(group, Signal::TERM);
        let deadline = Instant::now() + grace;
        wait_for(
            tree.iter().filter(|identity| in_group(identity.pid, group)),
            deadline,
        )?;
        // The leader is not reaped yet, so its number still means this group.
        signal_group(group, Signal::KILL);
        let mut survivor = None;
        for _ in 0..SWEEPS {
            // What was born since, or lost its parent: the marker still leads to it.
            tree.extend(tree_of(leader, marker));
            tree.retain(crate::is_same_live_process);
            survivor = tree.first().map(|identity| identity.pid);
            if survivor.is_none() {
                break;
            }
            for identity in &tree {
                if let Some(handle) = ProcessHandle::open(identity)? {
                    handle.kill()?;
                }
            }
            wait_for(tree.iter(), Instant::now() + KILL_WAIT)?;
        }
        if let Some(pid) = survivor {
            return Err(Error::Unkillable { pid });
        }
        self.wait()
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

fn in_group(pid: u32, group: Pid) -> bool {
    let raw = i32::try_from(pid).ok().and_then(Pid::from_raw);
    raw.is_some_and(|pid| getpgid(Some(pid)) == Ok(group))
}

/// The leader, its descendants by parent links, and every process with the marker.
fn tree_of(leader: u32, marker: TreeMarker<'_>) -> Vec<ProcessIdentity> {
    let pids = pids_of_user(rustix::process::geteuid().as_raw());
    let parents: Vec<(u32, u32)> = pids
        .iter()
        .filter_map(|&pid| Some((pid, linux::stat(pid)?.parent)))
        .collect();
    let mut members = vec![leader];
    let mut next = 0;
    while let Some(&parent) = members.get(next) {
        for &(pid, its_parent) in &parents {
            if its_parent == parent && !members.contains(&pid) {
                members.push(pid);
            }
        }
        next += 1;
    }
    for &pid in &pids {
        if !members.contains(&pid) && bears(pid, marker) {
            members.push(pid);
        }
    }
    members.into_iter().filter_map(identity_of).collect()
}

fn bears(pid: u32, marker: TreeMarker<'_>) -> bool {
    environment_of(pid).is_some_and(|variables| {
        variables
            .iter()
            .any(|(name, value)| name == marker.name && value == marker.value)
    })
}

fn wait_for<'a>(
    processes: impl Iterator<Item = &'a ProcessIdentity>,
    deadline: Instant,
) -> Result<()> {
    for identity in processes {
        if let Some(handle) = ProcessHandle::open(identity)? {
            // A late one is killed in the next step.
            handle.wait_for_exit(deadline.saturating_duration_since(Instant::now()))?;
        }
    }
    Ok(())
}
