//! Which backend the settings or the command line choose.

use std::sync::Arc;

use hermes_terminal::environment::LiveEnvironment;

use crate::context::Context;
use crate::error::{Error, Result};

/// Names the settings accept.
const KNOWN: &[&str] = &["local", "docker", "ssh", "singularity", "modal", "daytona"];

/// A backend that this build has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BackendKind {
    /// This machine.
    Local,
    /// A container.
    Docker,
    /// Another machine.
    Ssh,
}

impl BackendKind {
    /// The named backend, else the configured one.
    pub fn choose(context: &Context, named: Option<&str>) -> Result<Self> {
        let config = context.config();
        // A misspelt backend must not become the next best one.
        if let (None, Some(wrong)) = (named, config.wrong_value("terminal.backend")) {
            return Err(Error::WrongBackendSetting(wrong));
        }
        let configured = config.text("terminal.backend");
        match named.unwrap_or(configured).trim() {
            "" | "local" => Ok(Self::Local),
            "docker" => Ok(Self::Docker),
            "ssh" => Ok(Self::Ssh),
            other if KNOWN.contains(&other) => Err(Error::UnavailableBackend(other.to_owned())),
            other => Err(Error::UnknownBackend {
                name: other.to_owned(),
                known: KNOWN,
            }),
        }
    }
}

/// What child processes of this profile may know, following changes of the settings.
pub fn live_environment(context: &Context) -> Arc<LiveEnvironment> {
    Arc::new(LiveEnvironment::new(
        context.sources(),
        context.environment_facts(),
    ))
}
