//! `hermes backup`: everything into one zip, or the essentials into a snapshot.

use std::io::IsTerminal;
use std::path::PathBuf;

use hermes_config::vars;
use hermes_home::backup::{
    BackupProgress, BackupReport, BackupRequest, QuickRequest, create_full, create_quick,
};

use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::ui::human_size;

/// Largest file taken unless a variable says otherwise.
const DEFAULT_MAX_MB: u64 = 2048;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// File or directory to write to (default: your home directory)
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
    /// Only take a snapshot of the essentials, stored inside the home
    #[arg(short, long)]
    quick: bool,
    /// Label to include in the name of the snapshot
    #[arg(short, long, value_name = "LABEL", requires = "quick")]
    label: Option<String>,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<()> {
    if !args.quick {
        // The file holds every key; a snapshot stays inside the home.
        context.refuse_to_agents("backing up the home with its keys")?;
    }
    if args.quick {
        return quick(args, context);
    }
    let output = output_path(args, context);
    let request = BackupRequest {
        root: &context.location.root,
        output: &output,
        max_file_bytes: max_file_bytes(context)?,
    };
    let mut progress = ProgressLine::new(context);
    let report = create_full(&request, &mut |step| progress.show(step));
    progress.clear();
    let report = report?;
    say(context, &report)?;
    CommandError::silent_unless(report.is_complete())
}

fn say(context: &Context, report: &BackupReport) -> Result<()> {
    for large in &report.too_large {
        context.warn(format!(
            "left out {}: {} is over the limit",
            large.path.display(),
            human_size(large.size)
        ))?;
        context.hint("raise the limit with HERMES_BACKUP_MAX_FILE_MB; 0 means no limit")?;
    }
    for failed in &report.failed {
        context.warn(format!(
            "could not back up {}: {}",
            failed.path.display(),
            failed.reason
        ))?;
    }
    let what = format!(
        "{} ({} files, {} uncompressed, {} compressed)",
        report.path.display(),
        report.files,
        human_size(report.bytes),
        human_size(report.size)
    );
    if report.is_complete() {
        context.line(format!("✓ Backup written to {what}"))?;
        context.line(format!(
            "  Restore it with: hermes import {}",
            report.path.display()
        ))?;
    } else {
        context.note(format!(
            "Backup incomplete: {} of the files above are missing from {what}",
            report.failed.len()
        ))?;
    }
    Ok(())
}

fn quick(args: &Args, context: &Context) -> Result<()> {
    if args.output.is_some() {
        return Err(CommandError::usage(
            "--quick stores its snapshot in the home and cannot be used with -o",
        ));
    }
    let request = QuickRequest {
        home: &context.location.home,
        label: args.label.as_deref(),
        now: jiff::Timestamp::now(),
    };
    let report = create_quick(&request)?;
    for failed in &report.failed {
        context.warn(format!(
            "could not save {}: {}",
            failed.path.display(),
            failed.reason
        ))?;
    }
    context.line(format!(
        "✓ Snapshot {} ({} files, {}) in {}",
        report.id,
        report.files,
        human_size(report.bytes),
        context.display(&report.path)
    ))?;
    CommandError::silent_unless(report.failed.is_empty())
}

fn output_path(args: &Args, context: &Context) -> PathBuf {
    let stamp = hermes_time::now().strftime("%Y-%m-%d-%H%M%S");
    let name = format!("hermes-backup-{stamp}.zip");
    match &args.output {
        None => context.location.user_home.join(name),
        Some(given) if given.is_dir() => given.join(name),
        Some(given) if given.extension().is_some_and(|e| e == "zip") => given.clone(),
        Some(given) => given.with_added_extension("zip"),
    }
}

fn max_file_bytes(context: &Context) -> Result<Option<u64>> {
    let var = &vars::HERMES_BACKUP_MAX_FILE_MB;
    let megabytes = match context.env.text(var) {
        None => DEFAULT_MAX_MB,
        Some(text) => text.parse().map_err(|_| {
            CommandError::user(format!(
                "{} must be a number of megabytes, not '{text}'",
                var.name
            ))
        })?,
    };
    Ok((megabytes > 0).then(|| megabytes.saturating_mul(1024 * 1024)))
}

/// One line on a terminal that says how far we are.
pub(super) struct ProgressLine<'a> {
    context: &'a Context,
    visible: bool,
    last: u64,
}

impl<'a> ProgressLine<'a> {
    pub(super) fn new(context: &'a Context) -> Self {
        Self {
            context,
            visible: std::io::stderr().is_terminal(),
            last: u64::MAX,
        }
    }

    pub(super) fn show(&mut self, step: BackupProgress) {
        let percent = (step.bytes_done * 100)
            .checked_div(step.bytes_total)
            .unwrap_or(100);
        if self.visible && percent != self.last {
            self.last = percent;
            let text = format!(
                "{percent:>3} %  {} of {} files",
                step.files_done, step.files_total
            );
            // A terminal that has gone is found out when the result is printed.
            drop(self.context.printer.replace_line(&text));
        }
    }

    pub(super) fn clear(&self) {
        if self.visible {
            drop(self.context.printer.replace_line(""));
        }
    }
}
