//! `hermes skills install` and `uninstall`.

use hermes_skills::Error;

use super::report::show_findings;
use super::{fetch_tools, hub};
use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::ui::{confirm, counted, one_line};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The skill: owner/repository/path, an address, a directory or a name
    identifier: String,
    /// The category to put it in
    #[arg(long)]
    category: Option<String>,
    /// Install it under this name
    #[arg(long)]
    name: Option<String>,
    /// Install it although the scan advises caution
    #[arg(long)]
    force: bool,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct UninstallArgs {
    /// The skill
    name: String,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    context.refuse_to_agents("installing a skill")?;
    context.ensure_home()?;
    context.start_logging();
    let hub = hub(context);
    let skill = hub.fetch(&args.identifier, &fetch_tools(context))?;
    let name = args
        .name
        .as_deref()
        .or(skill.name.as_deref())
        .unwrap_or("?");
    context.note(format!(
        "{}: {} ({} from {}, {})",
        one_line(name, 64),
        one_line(&skill.description, 120),
        counted(skill.files.len(), "file"),
        one_line(&skill.identifier, 160),
        skill.trust.as_str()
    ))?;
    if !args.yes && confirm(context.printer, "Install this skill?")? == Some(false) {
        return Err(CommandError::user("nothing was installed"));
    }
    let installed = hub.install(
        &skill,
        args.name.as_deref(),
        args.category.as_deref(),
        args.force,
    );
    let installed = match installed {
        Err(Error::Blocked { message, report }) => {
            show_findings(&report, context)?;
            return Err(CommandError::user(message));
        }
        other => other?,
    };
    show_findings(&installed.report, context)?;
    tracing::info!(skill = installed.name, "skill installed");
    context.line(format!(
        "✓ Installed {} in {}",
        installed.name,
        context.display(&installed.directory)
    ))?;
    context.hint(format!(
        "load it with `hermes -s {0}` or, in a conversation, /{0}",
        installed.name
    ))
}

pub(super) fn uninstall(args: &UninstallArgs, context: &Context) -> Result<()> {
    context.refuse_to_agents("removing a skill")?;
    let hub = hub(context);
    let known = hub.installed()?.contains_key(&args.name);
    let question = format!("Remove the skill {}?", one_line(&args.name, 64));
    if known && !args.yes && confirm(context.printer, &question)? == Some(false) {
        return Err(CommandError::user("nothing was removed"));
    }
    let directory = hub.uninstall(&args.name)?;
    context.start_logging();
    tracing::info!(skill = args.name, "skill removed");
    context.line(format!("✓ Removed {}", context.display(&directory)))
}
