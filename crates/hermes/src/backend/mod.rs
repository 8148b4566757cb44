//! Where commands run under the settings in effect: which backend, and what it needs to know.
//!
//! A backend that is not available is an error. Nothing here ever falls back to this machine.

mod containers;
mod elsewhere;
mod idle;
mod orphans;

use std::sync::Arc;

use hermes_terminal::environment::LiveEnvironment;

use crate::context::Context;
use crate::error::{CommandError, Result};

pub(crate) use self::containers::docker_host;
pub(crate) use self::elsewhere::{Elsewhere, Haste, PlaceRequest};
pub(crate) use self::idle::IdleWatch;
pub(crate) use self::orphans::OrphanSweep;

/// Names the settings accept.
const KNOWN: [&str; 6] = ["local", "docker", "ssh", "singularity", "modal", "daytona"];

/// A place for commands that this build has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Backend {
    /// This machine.
    Local,
    /// A container.
    Docker,
    /// Another machine.
    Ssh,
}

impl Backend {
    /// The one named on the command line, else the one of the settings.
    pub(crate) fn chosen(context: &Context, named: Option<&str>) -> Result<Self> {
        let config = context.config();
        // Whoever named a backend we do not know did not mean the next best one.
        if let (None, Some(wrong)) = (named, config.wrong_value("terminal.backend")) {
            return Err(CommandError::user(format!("{wrong}; nothing was run")).hint(wrong.hint()));
        }
        let configured = config.text("terminal.backend");
        match named.unwrap_or(configured).trim() {
            "" | "local" => Ok(Self::Local),
            "docker" => Ok(Self::Docker),
            "ssh" => Ok(Self::Ssh),
            other if KNOWN.contains(&other) => Err(CommandError::environment(format!(
                "backend '{other}' is not available in this build; nothing was run"
            ))
            .hint("`hermes config set terminal.backend local` runs commands on this machine")),
            other => Err(CommandError::user(format!(
                "there is no terminal backend '{other}'; nothing was run"
            ))
            .hint(format!("the backends are {}", KNOWN.join(", ")))),
        }
    }
}

/// What children of this profile may know, following changes of the settings.
pub(crate) fn live_environment(context: &Context) -> Arc<LiveEnvironment> {
    Arc::new(LiveEnvironment::new(
        context.sources(),
        context.environment_facts(),
    ))
}
