//! `hermes hooks revoke`.

use hermes_runtime::ProfileHooks;

use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::ui::{counted, one_line};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The command, as the settings have it
    command: String,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    context.refuse_to_agents("changing which hooks are accepted")?;
    let command = one_line(&args.command, 200);
    match ProfileHooks::with_gateway(context)
        .accepted
        .revoke(&args.command)?
    {
        0 => Err(
            CommandError::user(format!("no hook with the command '{command}' was accepted"))
                .hint("`hermes hooks list` shows the commands"),
        ),
        count => {
            context.line(format!(
                "✓ {} of '{command}' revoked",
                counted(count, "acceptance")
            ))?;
            context.note("Conversations that are open go on with it until they end.")
        }
    }
}
