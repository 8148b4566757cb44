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
    Local,
    Docker,
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
            other if KNOWN.contains(&other) => Err(Error::environment(
                format!("backend '{other}' is not available in this build; nothing was run"),
                Some("`hermes config set terminal.backend local` runs commands on this machine"),
            )),
            other => Err(Error::user(
                format!("unknown terminal backend '{other}'; nothing was run"),
                Some(&format!("the backends are {}", KNOWN.join(", "))),
            )),
        }
    }
}

/// What child processes of this profile may know, following changes of the settings.
pub fn live_environment(context: &Context) -> Arc<LiveEnvironment> {
    context.live_environment()
}
