//! A script that is about to run, wherever it runs.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::calls::Calls;
use super::capture::Capture;
use super::module::render;
use super::settings::{CodeSettings, ScriptMode};
use crate::tool::CallContext;

/// A script with what its run needs.
pub(super) struct Script<'a> {
    pub(super) code: &'a str,
    pub(super) allowed: Vec<&'static str>,
    pub(super) token: String,
    pub(super) calls: Arc<Calls>,
    pub(super) settings: &'a CodeSettings,
    pub(super) context: &'a CallContext,
    /// Set once left-overs of crashed runs were looked for.
    pub(super) swept: &'a AtomicBool,
    pub(super) warnings: Vec<String>,
}

impl Script<'_> {
    /// The module that the script imports to send requests through `client`.
    pub(super) fn module(&self, client: &str) -> String {
        render(client, &self.context.registry, &self.allowed)
    }

    /// Where the script runs: in `cwd` if that exists and the mode allows it, else in its `own`
    /// directory.
    pub(super) fn directory(&mut self, cwd: PathBuf, exists: bool, own: PathBuf) -> PathBuf {
        if self.settings.mode == ScriptMode::Strict {
            return own;
        }
        if exists {
            return cwd;
        }
        self.warnings.push(format!(
            "The working directory {} does not exist; the script ran in a temporary one.",
            cwd.display()
        ));
        own
    }
}

/// How a script ended.
#[derive(Debug)]
pub(super) enum ScriptEnding {
    /// With this exit code; for a signal, its negative number.
    Exited(i32),
    TimedOut,
    Interrupted,
}

/// The output of a script and how it ended.
pub(super) struct FinishedScript {
    pub(super) ending: ScriptEnding,
    pub(super) stdout: Capture,
    pub(super) stderr: Capture,
}
