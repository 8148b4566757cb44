//! `hermes skills check` and `update`.

use hermes_skills::Error;
use hermes_skills::hub::{InstalledSkill, UpdateState};

use super::report::{not_installed, show_findings};
use super::{fetch_tools, hub};
use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::ui::one_line;

#[derive(Debug, clap::Args)]
pub(crate) struct CheckArgs {
    /// The skill; without one, all that were installed
    name: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct UpdateArgs {
    /// The skill; without one, all that were installed
    name: Option<String>,
    /// Replace copies that were changed here, and accept caution of the scan
    #[arg(long)]
    force: bool,
}

pub(super) fn check(args: &CheckArgs, context: &Context) -> Result<()> {
    let tools = fetch_tools(context);
    for skill in chosen(args.name.as_deref(), context)? {
        let state = match hub(context).update_state(&skill, &tools).0 {
            UpdateState::UpToDate => "up to date".to_owned(),
            UpdateState::Available => "update available".to_owned(),
            UpdateState::Unavailable(reason) => format!("unknown: {}", one_line(&reason, 200)),
        };
        context.line(format!("{}: {state}", skill.name))?;
    }
    Ok(())
}

pub(super) fn update(args: &UpdateArgs, context: &Context) -> Result<()> {
    context.refuse_to_agents("updating a skill")?;
    context.start_logging();
    let tools = fetch_tools(context);
    let hub = hub(context);
    let mut failed = 0;
    for skill in chosen(args.name.as_deref(), context)? {
        match hub.update_state(&skill, &tools) {
            (UpdateState::UpToDate, _) => context.line(format!("{}: up to date", skill.name))?,
            (UpdateState::Available, Some(fetched)) => {
                match hub.replace(&skill, &fetched, args.force) {
                    Ok(done) => {
                        show_findings(&done.report, context)?;
                        context.line(format!("✓ Updated {}", done.name))?;
                    }
                    Err(error) => {
                        failed += 1;
                        if let Error::Blocked { report, .. } = &error {
                            show_findings(report, context)?;
                        }
                        context.warn(error.to_string())?;
                        if let Some(hint) = error.hint() {
                            context.hint(hint)?;
                        }
                    }
                }
            }
            (UpdateState::Available, None) => {}
            (UpdateState::Unavailable(reason), _) => {
                failed += 1;
                context.warn(format!("{}: {}", skill.name, one_line(&reason, 300)))?;
            }
        }
    }
    if failed > 0 {
        let message = match failed {
            1 => "1 skill was not updated".to_owned(),
            count => format!("{count} skills were not updated"),
        };
        return Err(CommandError::user(message));
    }
    Ok(())
}

fn chosen(name: Option<&str>, context: &Context) -> Result<Vec<InstalledSkill>> {
    let mut installed = hub(context).installed()?;
    let Some(name) = name else {
        if installed.is_empty() {
            context.line("No skills were installed")?;
        }
        return Ok(installed.into_values().collect());
    };
    let found = installed.remove(name);
    Ok(vec![found.ok_or_else(|| not_installed(name))?])
}
