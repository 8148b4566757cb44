//! `hermes skills publish`: what others would get.

use std::path::PathBuf;

use hermes_skills::check_text;
use hermes_skills::guard::{Trust, scan_directory};

use super::report::show_findings;
use crate::commands::named;
use crate::context::Context;
use crate::error::{CommandError, Result};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The directory of the skill, or its path below skills/
    skill_path: PathBuf,
    /// Where to: github or clawhub
    #[arg(long, default_value = "github", value_parser = named([
        ("github", "github"),
        ("clawhub", "clawhub"),
    ]))]
    to: &'static str,
    /// The repository, owner/name
    #[arg(long)]
    repo: Option<String>,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    let below = context.location.home.join("skills").join(&args.skill_path);
    let directory = if args.skill_path.join("SKILL.md").is_file() {
        args.skill_path.clone()
    } else {
        below
    };
    let text = hermes_fs::read_text_capped(&directory.join("SKILL.md"), 1024 * 1024)?;
    check_text(&text)?;
    let name = directory.file_name().unwrap_or_default().to_string_lossy();
    let report = scan_directory(&directory, &name, Trust::Community)?;
    context.line(format!("{name}: {}", report.verdict.as_str()))?;
    show_findings(&report, context)?;
    let target = args.repo.as_deref().unwrap_or(args.to);
    Err(CommandError::user(format!(
        "the skill was checked and not sent: publishing to {target} is not available in this version"
    ))
    .hint(format!(
        "commit {} to a repository; others add it with `hermes skills tap add owner/name`",
        context.display(&directory)
    )))
}
