//! `hermes checkpoints status`.

use hermes_checkpoints::{LegacyArchive, ProjectStatus};
use hermes_runtime::checkpoint_store;
use serde_json::{Value, json};

use crate::commands::sessions::ago;
use crate::context::Context;
use crate::error::Result;
use crate::ui::{Table, counted, human_size};

/// Directories that are listed.
const LISTED: usize = 20;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// List at most so many directories
    #[arg(long, value_name = "N", default_value_t = LISTED)]
    limit: usize,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Default for Args {
    fn default() -> Self {
        Self {
            limit: LISTED,
            json: false,
        }
    }
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    let status = checkpoint_store(context).status()?;
    let projects = status.projects.iter().take(args.limit);
    if args.json {
        return context.json(&json!({
            "base": status.base,
            "store_size_bytes": status.store_bytes,
            "legacy_size_bytes": status.legacy_bytes,
            "total_size_bytes": status.total_bytes,
            "project_count": status.projects.len(),
            "projects": projects.map(project).collect::<Vec<_>>(),
            "legacy_archives": status.legacy.iter().map(archive).collect::<Vec<_>>(),
        }));
    }
    let base = context.display(&status.base);
    let size = human_size(status.total_bytes);
    context.line(match status.projects.len() {
        0 => format!("No snapshots in {base}: {size}"),
        1 => format!("Snapshots of 1 directory in {base}: {size}"),
        count => format!("Snapshots of {count} directories in {base}: {size}"),
    })?;
    if !status.projects.is_empty() {
        let now = jiff::Timestamp::now().as_duration().as_secs_f64();
        let mut table = Table::new(&["Directory", "Snapshots", "Last change", "State"]);
        for project in projects {
            let snapshots = project.snapshots.map(|count| count.to_string());
            let last = project.last_touch.map(|then| ago(now, then));
            table.row(vec![
                project.directory.clone(),
                snapshots.unwrap_or_else(|| "?".to_owned()),
                last.unwrap_or_else(|| "-".to_owned()),
                if project.exists { "there" } else { "gone" }.to_owned(),
            ]);
        }
        context.out(&table.render())?;
        let left = status.projects.len().saturating_sub(args.limit);
        if left > 0 {
            context.note(format!("{left} more; --limit shows them."))?;
        }
    }
    if status
        .projects
        .iter()
        .any(|project| project.snapshots.is_none())
    {
        context.warn("git is not installed: snapshots can be neither counted nor taken")?;
    }
    if !status.legacy.is_empty() {
        context.note(format!(
            "{} of an old version take {}; `hermes checkpoints clear-legacy` deletes them.",
            counted(status.legacy.len(), "archive"),
            human_size(status.legacy_bytes)
        ))?;
    }
    if !context.config().flag("checkpoints.enabled") {
        context.note(
            "No new ones are taken: checkpoints.enabled is false. `hermes chat --checkpoints` takes \
             some.",
        )?;
    }
    Ok(())
}

fn project(project: &ProjectStatus) -> Value {
    json!({
        "hash": project.id,
        "workdir": project.directory,
        "exists": project.exists,
        "created_at": project.created_at,
        "last_touch": project.last_touch,
        "commits": project.snapshots,
    })
}

fn archive(archive: &LegacyArchive) -> Value {
    json!({
        "name": archive.name,
        "size_bytes": archive.bytes,
        "mtime": archive.modified,
    })
}
