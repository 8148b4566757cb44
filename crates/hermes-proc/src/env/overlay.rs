//! What a session's shells changed, to be laid over the next plan.

use std::collections::BTreeMap;
use std::ffi::OsString;

/// Changes to variables; `None` means unset.
pub type VariableChanges = BTreeMap<OsString, Option<OsString>>;

/// What the shells of a session changed, by who did it.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Overlay {
    /// What the user's shell start-up files changed.
    pub login: VariableChanges,
    /// What commands of the session changed since.
    pub session: VariableChanges,
}

impl std::fmt::Debug for Overlay {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Overlay")
            .field("login", &self.login.keys())
            .field("session", &self.session.keys())
            .finish()
    }
}
