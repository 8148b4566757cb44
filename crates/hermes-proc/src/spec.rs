//! What to start, and with what.
//!
//! Every child of the program is described by a [`ChildSpec`] and started by `clone.rs`. It sees the
//! variables of its specification and no others, and of our descriptors only those named here.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;

use crate::EnvPlan;
use crate::agent_shell;
use crate::kernel_mark::ChosenBy;
use crate::sandbox::Sandbox;
use crate::tree::MARK;

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
    /// What confines it and everything it starts.
    pub sandbox: Option<Arc<Sandbox>>,
    /// What the kernel lets it, and each process it starts, have at most.
    pub limits: ResourceLimits,
}

/// Limits of the kernel for a process; each process that it starts has the same. `None` leaves one as
/// it is for us.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ResourceLimits {
    /// Bytes of address space.
    pub address_space: Option<u64>,
    pub open_files: Option<u64>,
    /// Bytes of a file that it writes.
    pub file_size: Option<u64>,
    /// Bytes of a core file.
    pub core_file: Option<u64>,
    /// By how much it gives way to others, 0 to 19.
    pub niceness: u8,
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
    pub(crate) fn set(&mut self, name: &str, value: OsString) {
        self.0.insert(OsString::from(name), value);
    }

    pub(crate) fn remove_prefixed(&mut self, prefix: &str) {
        self.0
            .retain(|name, _| !name.as_encoded_bytes().starts_with(prefix.as_bytes()));
    }

    pub(crate) fn variables(&self) -> &BTreeMap<OsString, OsString> {
        &self.0
    }

    /// The value of `HERMES_EXEC_ID`, which all processes of this child will carry.
    pub(crate) fn mark(&self) -> String {
        let mark = self.0.get(OsStr::new(MARK)).cloned();
        mark.unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Who chose what this child runs.
    pub(crate) fn chosen_by(&self) -> ChosenBy {
        match self.0.get(OsStr::new(agent_shell::MARK)) {
            Some(value) if !value.is_empty() => ChosenBy::Agent,
            Some(_) | None => ChosenBy::Person,
        }
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
            sandbox: None,
            limits: ResourceLimits::default(),
        }
    }
}
