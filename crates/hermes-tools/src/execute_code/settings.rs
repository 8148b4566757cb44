//! Settings of scripts: limits, environment, approval.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use hermes_proc::sandbox::Sandbox;
use hermes_terminal::backend::Confinement;
use serde_json::Value;

use crate::tool::CallContext;

/// Where a script runs (`code_execution.mode`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ScriptMode {
    /// In the session's directory, with the interpreter of the environment it has activated.
    #[default]
    Project,
    /// In its own directory, without the user's site packages.
    Strict,
}

impl ScriptMode {
    /// The mode of this name; unknown words mean `project`, with a warning.
    pub fn parse(text: &str) -> Self {
        match text.trim() {
            "strict" => Self::Strict,
            "project" | "" => Self::Project,
            other => {
                tracing::warn!(
                    "code_execution.mode: expected project or strict, got {other:?}; project is used"
                );
                Self::Project
            }
        }
    }
}

/// Limits and directories.
#[derive(Debug, Clone)]
pub struct CodeSettings {
    pub mode: ScriptMode,
    /// The interpreter to use before all others (`code_execution.python`).
    pub python: Option<PathBuf>,
    /// How long a script may run (`code_execution.timeout`).
    pub timeout: Duration,
    /// How many tools it may call (`code_execution.max_tool_calls`).
    pub max_tool_calls: usize,
    /// Bytes of standard output that are kept.
    pub max_stdout: usize,
    /// Directories of this program and of other installs of it, whose interpreters are never used.
    pub own_install_roots: Vec<PathBuf>,
    pub temp_dir: PathBuf,
}

impl Default for CodeSettings {
    fn default() -> Self {
        Self {
            mode: ScriptMode::Project,
            python: None,
            timeout: Duration::from_mins(5),
            max_tool_calls: 50,
            max_stdout: 50_000,
            own_install_roots: Vec::new(),
            temp_dir: PathBuf::from("/tmp"),
        }
    }
}

/// What a script needs to reach our tools.
#[derive(Clone)]
pub struct RpcEnv {
    /// Path of the socket, for `HERMES_RPC_SOCKET`.
    pub socket: PathBuf,
    /// What proves that a request comes from the script, for `HERMES_RPC_TOKEN`.
    pub token: String,
    /// What marks every process of the script, wherever it runs off to, for `HERMES_EXEC_ID`.
    pub mark: String,
}

impl RpcEnv {
    /// The variables every script gets besides those of its environment plan.
    pub fn variables(&self) -> Vec<(OsString, OsString)> {
        let mut variables = request_variables("HERMES_RPC_SOCKET", &self.socket, &self.token);
        variables.push(("HERMES_EXEC_ID".into(), (&self.mark).into()));
        variables
    }
}

/// The variables of every script, wherever it runs: where its requests go, and the token.
pub(super) fn request_variables(
    name: &str,
    target: impl AsRef<OsStr>,
    token: &str,
) -> Vec<(OsString, OsString)> {
    [
        (name, target.as_ref()),
        ("HERMES_RPC_TOKEN", token.as_ref()),
        ("PYTHONDONTWRITEBYTECODE", "1".as_ref()),
        ("PYTHONIOENCODING", "utf-8".as_ref()),
        ("PYTHONUTF8", "1".as_ref()),
    ]
    .map(|(name, value)| (name.into(), value.to_owned()))
    .into()
}

/// Builds the environment of scripts.
pub trait SandboxEnv: Send + Sync {
    /// All variables of one script of this machine, those of [`RpcEnv::variables`] included.
    fn variables(&self, rpc: &RpcEnv, context: &CallContext) -> Vec<(OsString, OsString)>;

    /// Further variables of a script that is confined.
    fn sandbox_variables(&self) -> Vec<(OsString, OsString)> {
        Vec::new()
    }

    /// What confines a script of this machine; the error is why it cannot be run.
    fn sandbox(&self, _confinement: Confinement) -> Result<Option<Arc<Sandbox>>, String> {
        Ok(None)
    }

    /// Ends every process with this mark if this program is killed while the returned value lives.
    fn guard_processes<'a>(&'a self, _mark: &str) -> Option<Box<dyn Send + 'a>> {
        None
    }

    /// What a script on a remote host gets besides what programs there have and what the session
    /// activated; never anything of this machine's environment.
    fn remote_variables(&self, _context: &CallContext) -> Vec<(OsString, OsString)> {
        Vec::new()
    }
}

/// Decides about whole scripts, before they start.
pub trait ScriptGate: Send + Sync {
    /// The decision about one script that would run with `context`, and whether it is confined; the
    /// error is the result of the call.
    fn decide(&self, code: &str, context: &CallContext) -> Result<Confinement, Value>;
}

/// Whether a path lies in one of these directories, links resolved on both sides.
pub(super) fn lies_in(path: &Path, roots: &[PathBuf]) -> bool {
    // The directory, not the file: an interpreter of a virtual environment is a link out of it.
    let parent = path.parent().unwrap_or(path);
    let real = hermes_fs::canonicalize(parent).unwrap_or_else(|_| parent.to_owned());
    roots.iter().any(|root| {
        let root = hermes_fs::canonicalize(root).unwrap_or_else(|_| root.clone());
        real.starts_with(&root)
    })
}
