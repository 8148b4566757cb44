//! What hooks run with.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use hermes_proc::sandbox::Sandbox;

/// What hooks run with.
pub trait HookHost: Send + Sync {
    /// The variables of a hook, with further ones by name.
    fn variables(&self, passthrough: &[String]) -> Vec<(OsString, OsString)>;

    /// What confines hooks; the error is why they cannot be run.
    fn sandbox(&self) -> Result<Option<Arc<Sandbox>>, String>;

    /// The home directory of the account.
    fn account_home(&self) -> &Path;
}
