//! `hermes sandbox rm --purge`: the container and what it kept on the host.

use hermes_docker::manage;

use super::{TaskArgs, host, report};
use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::ui::confirm;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    task: TaskArgs,
    /// Confirm that its files will be deleted: the home and workspace of the sandbox
    #[arg(long)]
    purge: bool,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    let task = &args.task.task;
    if !args.purge {
        return Err(CommandError::usage(
            "`rm` deletes the files of a sandbox and requires --purge",
        )
        .hint("`hermes sandbox reset` removes the container and keeps the files"));
    }
    let host = host(context)?;
    if !args.task.yes {
        let question = format!("Delete the sandbox '{task}' and all its files?");
        if confirm(context.printer, &question)? == Some(false) {
            return Err(CommandError::cancelled());
        }
    }
    let removed = manage::purge(&host, task)?;
    report(context, task, "Removed", &removed.containers)?;
    if let Some(directory) = &removed.directory {
        let shown = context.display(directory);
        context.line(format!("✓ Deleted {shown}"))?;
    }
    Ok(())
}
