//! `hermes memory setup` and `hermes memory off`: services that remember elsewhere.

use hermes_config::settings::{SetRequest, set};

use crate::commands::NoArgs;
use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::ui::one_line;

/// Services that the Python runtime knows.
const KNOWN: &str =
    "byterover, hindsight, holographic, honcho, mem0, openviking, retaindb, supermemory";

#[derive(Debug, clap::Args)]
pub(crate) struct SetupArgs {
    /// The service
    provider: Option<String>,
}

pub(super) fn setup(args: &SetupArgs, _: &Context) -> Result<()> {
    let message = match &args.provider {
        Some(name) => format!(
            "the memory service '{}' is not available in this version",
            one_line(name, 60)
        ),
        None => format!("no memory service is available in this version: {KNOWN}"),
    };
    Err(CommandError::user(message)
        .hint("MEMORY.md and USER.md need no setup; `hermes memory` shows them"))
}

pub(super) fn off(_: &NoArgs, context: &Context) -> Result<()> {
    context.refuse_if_managed("config.yaml")?;
    if context.config().text("memory.provider").trim().is_empty() {
        return context.line("No memory service is set; MEMORY.md and USER.md are used");
    }
    let request = SetRequest {
        key: "memory.provider",
        value: "",
        force: false,
    };
    context.ensure_home()?;
    set(&context.sources_to_write(), &request)?;
    context.line("✓ Only MEMORY.md and USER.md are used from the next session on")
}
