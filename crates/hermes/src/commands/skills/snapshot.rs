//! `hermes skills snapshot`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::Value;

use super::{fetch_tools, hub};
use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::ui::{counted, one_line};

/// Largest file that is read.
const MAX_BYTES: u64 = 8 * 1024 * 1024;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Option<Verb>,
}

crate::commands::verbs! { Context;
    /// Write what was installed to a file
    Export(ExportArgs) => export,
    /// Install what a file names
    Import(ImportArgs) => import,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ExportArgs {
    /// The file; - for standard output
    output: PathBuf,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ImportArgs {
    /// The file
    input: PathBuf,
    /// Install skills although the scan advises caution
    #[arg(long)]
    force: bool,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<ExitCode> {
    match &args.verb {
        Some(verb) => verb.run(context),
        None => {
            crate::commands::help(context, &["skills", "snapshot"])?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn export(args: &ExportArgs, context: &Context) -> Result<()> {
    let snapshot = hub(context).snapshot()?;
    if args.output == Path::new("-") {
        return context.json(&snapshot);
    }
    let text = format!("{snapshot:#}\n");
    hermes_fs::write_atomic(&args.output, text.as_bytes(), 0o644)?;
    let count = snapshot["skills"].as_array().map_or(0, Vec::len);
    context.line(format!(
        "✓ Wrote {} to {}",
        counted(count, "skill"),
        context.display(&args.output)
    ))
}

fn import(args: &ImportArgs, context: &Context) -> Result<()> {
    context.refuse_to_agents("installing skills")?;
    let text = hermes_fs::read_text_capped(&args.input, MAX_BYTES)?;
    let snapshot: Value = serde_json::from_str(&text)
        .map_err(|_| CommandError::user(format!("{} is not JSON", context.display(&args.input))))?;
    context.ensure_home()?;
    let results = hub(context).import_snapshot(&snapshot, args.force, &fetch_tools(context))?;
    let mut failed = 0;
    for one in &results {
        match &one.result {
            Ok(name) => context.line(format!("✓ Installed {name}"))?,
            Err(reason) => {
                failed += 1;
                let identifier = one_line(&one.identifier, 120);
                context.warn(format!("{identifier}: {}", one_line(reason, 300)))?;
            }
        }
    }
    if failed > 0 {
        let message = format!("{} not installed", counted(failed, "skill"));
        return Err(CommandError::user(message));
    }
    context.line(format!("{} installed", counted(results.len(), "skill")))
}
