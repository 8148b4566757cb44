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
    /// The zip written by hermes backup
    file: PathBuf,
    /// Do not ask, and go on while a gateway runs (databases are then left alone)
    #[arg(short, long)]
    force: bool,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<()> {
    let mut restore = Restore::open(&args.file)?;
    let inspection = restore.inspect();
    let root = &context.location.root;
    let printer = &context.printer;
    printer.note(format!(
        "Restoring {} files ({}) into {}",
        inspection.files,
        human_size(inspection.bytes),
        context.display(root)
    ))?;
    let running = running_gateways(context)?;
    if !running.is_empty() && !args.force {
        let names: Vec<String> = running.iter().map(ToString::to_string).collect();
        return Err(
            CommandError::user(format!("a gateway runs ({})", names.join(", ")))
                .hint("stop it first, or restore all but the databases with --force"),
        );
    }
    if hermes_fs::exists_no_follow(&root.join("config.yaml")) && !args.force {
        match confirm(printer, "There are settings already. Overwrite them?")? {
            Some(true) => {}
            Some(false) => return Err(CommandError::cancelled()),
            None => {
                return Err(
                    CommandError::user("there are settings already, and nobody to ask")
                        .hint("--force overwrites them"),
                );
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
        printer.warn(
            format!("skipped {}: {}", skipped.path.display(), skipped.reason),
            None,
        )?;
    }
    recreate_aliases(context)?;
    let size = human_size(report.bytes);
    if report.is_complete() {
        printer.line(format!(
            "✓ Restored {} files ({size}) into {}",
            report.restored,
            context.display(root)
        ))?;
        Ok(())
    } else {
        printer.note(format!(
            "Restore partial: {} files restored, {} skipped",
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
