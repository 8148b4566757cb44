//! The context of a call: session, filesystem, guards, and the interrupt.
//!
//! Built by the caller and passed by reference; tools keep nothing of it.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hermes_secret::Redactor;

use crate::conversation::ToolConversation;
use crate::files::{FileLedger, Filesystem};
use crate::registry::ToolRegistry;
use hermes_proc::Wake;

/// Whether a call may write into the home of another profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CrossProfile {
    /// The call said `cross_profile: true`.
    Allowed,
    /// It did not.
    Refused,
}

/// Decides where the file tools may write.
pub trait WriteGuard: Send + Sync {
    /// The path that a write to `path` (absolute) changes, symbolic links resolved; or why it is
    /// refused, as a sentence for the model.
    fn check(&self, path: &Path, cross_profile: CrossProfile) -> Result<PathBuf, String>;
}

/// The state of a terminal session that other tools look at.
pub trait SessionState: Send + Sync {
    /// Where commands and relative paths start.
    fn cwd(&self) -> PathBuf;
    /// A variable as a command of the session would see it: an activated environment, `PATH`.
    fn variable(&self, name: &str) -> Option<OsString>;
}

/// A session that never changes.
#[derive(Clone, Default)]
pub struct FixedSession {
    /// Its directory.
    pub cwd: PathBuf,
    /// Its variables.
    pub variables: Vec<(OsString, OsString)>,
}

impl SessionState for FixedSession {
    fn cwd(&self) -> PathBuf {
        self.cwd.clone()
    }

    fn variable(&self, name: &str) -> Option<OsString> {
        let found = self.variables.iter().find(|(n, _)| n == OsStr::new(name));
        found.map(|(_, value)| value.clone())
    }
}

/// The surroundings of one call.
#[derive(Clone)]
pub struct CallContext {
    /// Key of the conversation's terminal.
    pub session_key: String,
    /// The conversation itself.
    pub conversation: ToolConversation,
    /// Its terminal.
    pub session: Arc<dyn SessionState>,
    /// `HOME` of children on this machine.
    pub child_home: PathBuf,
    /// Where its files are.
    pub filesystem: Filesystem,
    /// Masks secrets in every result.
    pub redactor: Arc<Redactor>,
    /// What the session has read and written.
    pub files: Arc<FileLedger>,
    /// Names of the tools the session may use; empty means all.
    pub enabled_tools: Vec<String>,
    /// Ends the call early.
    pub interrupt: Arc<Wake>,
    /// All tools, for those that call others.
    pub registry: Arc<ToolRegistry>,
}

impl CallContext {
    /// The absolute path a call means: `~` is the home of the session's commands, anything relative
    /// starts at the session's directory.
    pub fn resolve(&self, raw: &str) -> Result<PathBuf, String> {
        if raw.trim().is_empty() {
            return Err("The path is empty.".to_owned());
        }
        if raw.contains('\0') {
            return Err("The path contains a NUL character.".to_owned());
        }
        let path = self.below_home(Path::new(raw))?;
        if path.is_absolute() {
            return Ok(path);
        }
        Ok(self.working_directory()?.join(path))
    }

    /// The file on this machine that a call means, links followed as far as it exists; `None` if the
    /// session's files are on a remote host or the path is invalid.
    pub fn real_path(&self, raw: &str) -> Option<PathBuf> {
        let path = self.resolve(raw).ok()?;
        self.filesystem.operations().real_path(&path)
    }

    /// Where the session works. On a remote host that is `~` until the first command has run.
    pub(crate) fn working_directory(&self) -> Result<PathBuf, String> {
        self.below_home(&self.session.cwd())
    }

    /// The path with `~` replaced. `~name`, another user's home to a shell, is a plain file name here.
    fn below_home(&self, path: &Path) -> Result<PathBuf, String> {
        let Ok(below) = path.strip_prefix("~") else {
            return Ok(path.to_owned());
        };
        let home = self.filesystem.operations().home(self)?;
        // Joined with nothing, a path gets a slash at its end.
        Ok(if below.as_os_str().is_empty() {
            home
        } else {
            home.join(below)
        })
    }
}

impl std::fmt::Debug for CallContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CallContext")
            .field("session_key", &self.session_key)
            .finish_non_exhaustive()
    }
}
