//! What a policy is resolved from besides the settings.

use std::path::PathBuf;

/// What the settings do not tell. Paths need not be resolved.
#[derive(Debug, Clone, Default)]
pub struct SandboxFacts {
    /// The directory a session works in.
    pub workspace: PathBuf,
    /// A directory for temporary files, of the sandbox alone; `None` if there is none yet.
    pub temporary: Option<PathBuf>,
    /// Homes of the user: that of the account, and that which commands see.
    pub account_homes: Vec<PathBuf>,
    /// The Hermes home in use, and the root of all.
    pub hermes_homes: Vec<PathBuf>,
    /// The socket of an agent that holds the user's keys.
    pub ssh_agent: Option<PathBuf>,
    pub is_root: bool,
}
