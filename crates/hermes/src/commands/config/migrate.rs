//! `hermes config migrate`: to the current schema version, with copies of what was there.

use std::io::IsTerminal;

use hermes_config::settings::{MigrationReport, migrate};
use serde_json::json;

use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::ui::confirm;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only print what would change
    #[arg(long)]
    dry_run: bool,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    context.refuse_if_managed("config.yaml")?;
    let plan = migrate(&context.sources_to_write(), true)?;
    if plan.is_newer() {
        context.warn(format!(
            "config.yaml has schema version {}, newer than {}; it is used as is",
            plan.from, plan.to
        ))?;
    }
    let current = plan.from >= plan.to;
    if current || args.dry_run {
        return report(args, context, &plan, "would change");
    }
    let ask = !args.yes && !plan.changes.is_empty() && std::io::stdin().is_terminal();
    if ask {
        print_changes(context, &plan)?;
        if confirm(context.printer, "Make these changes?")? != Some(true) {
            return Err(CommandError::cancelled());
        }
    }
    let done = migrate(&context.sources_to_write(), false)?;
    context.start_logging();
    tracing::info!(from = done.from, to = done.to, "settings migrated");
    report(args, context, &done, "changed")?;
    Ok(())
}

fn print_changes(context: &Context, report: &MigrationReport) -> Result<()> {
    for change in &report.changes {
        context.line(format!("  - {change}"))?;
    }
    Ok(())
}

fn report(args: &Args, context: &Context, report: &MigrationReport, verb: &str) -> Result<()> {
    if args.json {
        let backups: Vec<String> = report
            .backups
            .iter()
            .map(|b| b.display().to_string())
            .collect();
        return context.json(&json!({
            "from": report.from,
            "to": report.to.max(report.from),
            "dry_run": args.dry_run,
            "changes": report.changes,
            "backups": backups,
        }));
    }
    if report.from >= report.to {
        return context.line(format!("Config version: {} ✓", report.from));
    }
    context.line(format!(
        "Config version: {} → {} ({verb})",
        report.from, report.to
    ))?;
    print_changes(context, report)?;
    for backup in &report.backups {
        context.line(format!("  backup: {}", context.display(backup)))?;
    }
    Ok(())
}
