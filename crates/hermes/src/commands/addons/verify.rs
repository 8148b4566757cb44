//! `hermes addons verify`.

use hermes_addons::{Addons, InstallRequest, Verified, VerifyMode};
use serde_json::json;

use super::progress::install_with_progress;
use super::{addons, failed, succeeded};
use crate::context::Context;
use crate::error::{CommandError, Result};

/// Names of files that are shown of one kind of damage.
const SHOWN: usize = 5;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The features; all installed ones if none is given
    #[arg(value_name = "FEATURE")]
    features: Vec<String>,
    /// Compare sizes and modes only
    #[arg(long)]
    fast: bool,
    /// Install damaged features again
    #[arg(long)]
    repair: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    let addons = addons(context)?;
    let mode = if args.fast {
        VerifyMode::Fast
    } else {
        VerifyMode::Full
    };
    let mut found = succeeded(context, addons.verify(&args.features, mode), args.json)?;
    if args.repair && found.iter().any(|one| !one.ok) {
        context.start_logging();
        repair(args, context, &addons, &found)?;
        found = succeeded(context, addons.verify(&args.features, mode), args.json)?;
    }
    let ok = found.iter().all(|one| one.ok);
    if args.json {
        context.json(&json!({ "ok": ok, "addons": found }))?;
    } else {
        report(context, &found)?;
    }
    CommandError::silent_unless(ok)
}

fn repair(args: &Args, context: &Context, addons: &Addons, found: &[Verified]) -> Result<()> {
    for damaged in found.iter().filter(|one| !one.ok) {
        let request = InstallRequest {
            feature: damaged.feature.clone(),
            force: true,
            ..InstallRequest::default()
        };
        if let Err(error) = install_with_progress(context, addons, request)? {
            return Err(failed(context, error, args.json)?);
        }
    }
    Ok(())
}

fn report(context: &Context, found: &[Verified]) -> Result<()> {
    if found.is_empty() {
        return context.line("Nothing to verify: no add-ons are installed.");
    }
    for one in found {
        if one.ok {
            context.line(format!(
                "✓ {}: {} files as recorded",
                one.feature, one.checked
            ))?;
            continue;
        }
        context.line(format!("✗ {} is damaged", one.feature))?;
        if let Some(problem) = &one.problem {
            context.line(format!("    {problem}"))?;
        }
        for (kind, paths) in [
            ("missing", &one.missing),
            ("changed", &one.changed),
            ("extra", &one.extra),
        ] {
            for path in paths.iter().take(SHOWN) {
                context.line(format!("    {kind}: {path}"))?;
            }
            if paths.len() > SHOWN {
                context.line(format!("    {kind}: {} more", paths.len() - SHOWN))?;
            }
        }
    }
    if found.iter().any(|one| !one.ok) {
        context.hint("`hermes addons verify --repair` installs damaged features again")?;
    }
    Ok(())
}
