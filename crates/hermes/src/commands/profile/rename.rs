//! `hermes profile rename`.

use hermes_home::ProfileName;
use hermes_home::profiles::rename;

use super::alias_step;
use crate::commands::gateway::slot;
use crate::context::Context;
use crate::error::Result;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The profile
    old: String,
    /// Its new name
    #[arg(allow_hyphen_values = true)]
    new: String,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    context.refuse_to_agents("renaming a profile")?;
    let old = ProfileName::parse(&args.old)?;
    let new = ProfileName::parse_new(&args.new)?;
    let program = alias_step::program()?;
    // A rename that is refused stops nothing.
    let taken = hermes_fs::exists_no_follow(&context.location.profile_home(&new));
    let had_slot = !taken && slot::unregister(context, &old)?;
    let renamed = alias_step::with_rules(context, |rules| {
        rename(&context.location, &old, &new, &program, rules)
    });
    let report = match renamed {
        Ok(report) => report,
        Err(error) => {
            if had_slot {
                slot::register_or_warn(context, &old)?;
            }
            return Err(error.into());
        }
    };
    if let Some(gateway) = &report.gateway {
        context.line(format!(
            "✓ Stopped its gateway (PID {}); start it again when ready",
            gateway.pid
        ))?;
    }
    for process in &report.processes {
        context.line(format!("✓ Stopped process {}", process.pid))?;
    }
    slot::register_or_warn(context, &new)?;
    for moved in &report.aliases {
        match &moved.new {
            Ok(alias) => context.line(format!("✓ Command {} → hermes -p {new}", alias.name))?,
            Err(error) => {
                context.warn(format!(
                    "could not update the command {}: {error}",
                    moved.old
                ))?;
                error.hint().map_or(Ok(()), |hint| context.hint(hint))?;
            }
        }
    }
    context.line(format!(
        "✓ Renamed '{old}' to '{new}' ({})",
        context.display(&report.location.home)
    ))
}
