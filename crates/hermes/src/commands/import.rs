//! `hermes import`: a backup, back into the root.

use std::path::PathBuf;

use hermes_home::backup::{Restore, RestoreLimits, RestoreRequest};
use hermes_home::profiles::list;
use hermes_home::{Aliases, ProfileName};

use super::backup::ProgressLine;
use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::ui::{confirm, human_size};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The zip file written by hermes backup
    file: PathBuf,
    /// Do not ask, and continue while a gateway is running (databases are then left alone)
    #[arg(short, long)]
    force: bool,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<()> {
    context.refuse_to_agents("restoring a backup over the settings")?;
    let mut restore = Restore::open(&args.file)?;
    let inspection = restore.inspect();
    let root = &context.location.root;
    context.note(format!(
        "Restoring {} files ({}) into {}",
        inspection.files,
        human_size(inspection.bytes),
        context.display(root)
    ))?;
    let running = running_gateways(context)?;
    if !running.is_empty() && !args.force {
        let names: Vec<String> = running.iter().map(ToString::to_string).collect();
        return Err(
            CommandError::user(format!("a gateway is running ({})", names.join(", ")))
                .hint("stop it first, or use --force to restore everything except the databases"),
        );
    }
    if hermes_fs::exists_no_follow(&root.join("config.yaml")) && !args.force {
        match confirm(context.printer, "Settings already exist. Overwrite them?")? {
            Some(true) => {}
            Some(false) => return Err(CommandError::cancelled()),
            None => {
                return Err(CommandError::user(
                    "settings already exist, and there is no terminal to ask for confirmation",
                )
                .hint("--force overwrites them"));
            }
        }
    }
    let request = RestoreRequest {
        root,
        skip_databases: !running.is_empty(),
        limits: RestoreLimits::default(),
    };
    let mut progress = ProgressLine::new(context);
    let report = restore.apply(&request, &mut |step| progress.show(step));
    progress.clear();
    let report = report?;
    for skipped in &report.skipped {
        context.warn(format!(
            "skipped {}: {}",
            skipped.path.display(),
            skipped.reason
        ))?;
    }
    recreate_aliases(context)?;
    let size = human_size(report.bytes);
    if report.is_complete() {
        context.line(format!(
            "✓ Restored {} files ({size}) into {}",
            report.restored,
            context.display(root)
        ))
    } else {
        context.note(format!(
            "Restore incomplete: {} files restored, {} skipped",
            report.restored,
            report.skipped.len()
        ))?;
        Err(CommandError::silent())
    }
}

fn running_gateways(context: &Context) -> Result<Vec<ProfileName>> {
    let profiles = list(&context.location, None)?.profiles;
    Ok(profiles
        .into_iter()
        .filter(|p| p.gateway_pid.is_some())
        .map(|p| p.name)
        .collect())
}

/// Restored profiles get their commands again, where the name is free.
fn recreate_aliases(context: &Context) -> Result<()> {
    let known = Aliases::of(&context.location).by_profile();
    for profile in list(&context.location, None)?.profiles {
        if !profile.name.is_default() && !known.contains_key(&profile.name) {
            super::profile::write_alias_quietly(context, &profile.name);
        }
    }
    Ok(())
}
