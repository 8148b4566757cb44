//! `hermes profile export`.

use std::path::PathBuf;

use hermes_home::ProfileName;
use hermes_home::archive::{ExportRequest, export_profile};
use hermes_home::profiles::existing;

use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::ui::human_size;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The profile
    name: String,
    /// File to write (default: NAME.tar.gz in the current directory)
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    let name = ProfileName::parse(&args.name)?;
    let home = existing(&context.location, &name)?.home;
    let start = context.system.start_dir.as_ref();
    let output = match (&args.output, start) {
        (Some(output), _) => with_suffix(output),
        (None, Some(start)) => start.join(format!("{name}.tar.gz")),
        (None, None) => {
            return Err(CommandError::user("the current directory no longer exists")
                .hint("specify the file to write with -o"));
        }
    };
    let request = ExportRequest {
        home: &home,
        name: name.as_str(),
        is_default: name.is_default(),
        output: &output,
    };
    let report = export_profile(&request)?;
    context.line(format!("✓ Exported '{name}' to {}", report.path.display()))?;
    context.line(format!(
        "  {} files, {}",
        report.files,
        human_size(report.bytes)
    ))?;
    if !report.blanked.is_empty() {
        context.warn(format!(
            "left out plain-text secrets: {}",
            report.blanked.join(", ")
        ))?;
        context.hint("move them to .env and refer to them as ${NAME} in config.yaml")?;
    }
    for left_out in &report.left_out {
        context.warn(format!(
            "left out {}: {}",
            left_out.path.display(),
            left_out.reason
        ))?;
    }
    Ok(())
}

/// The reference always ends the name in `.tar.gz`.
fn with_suffix(output: &std::path::Path) -> PathBuf {
    let name = output.file_name().unwrap_or_default().to_string_lossy();
    let stem = name
        .strip_suffix(".tar.gz")
        .or_else(|| name.strip_suffix(".tgz"))
        .unwrap_or(&name);
    output.with_file_name(format!("{stem}.tar.gz"))
}
