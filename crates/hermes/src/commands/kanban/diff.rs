//! `hermes kanban diff`: what the work on a card changed.

use std::ffi::OsString;
use std::io::{IsTerminal, Write as _};

use hermes_board::model::{RepoPath, TaskId};
use hermes_board::review::{Diff, DiffBase, OmittedFile, Origin};

use super::review::{Reviewed, file_text, stat_text};
use super::session::{Kanban, refusal};
use crate::error::Result;
use crate::ui::{counted, one_line};

/// Files that are named as left out.
const NAMED: usize = 20;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The card
    id: TaskId,
    /// Only list the changed files
    #[arg(long)]
    stat: bool,
    /// Only this file; can be repeated
    #[arg(long = "file", value_name = "PATH")]
    files: Vec<OsString>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, kanban: &Kanban<'_>) -> Result<()> {
    let session = kanban.open()?;
    let reviewed = Reviewed::open(&session, &args.id)?;
    let only: Vec<RepoPath> = args
        .files
        .iter()
        .map(|file| RepoPath::parse(file))
        .collect();
    let diff = reviewed.work.diff(&only)?;
    if let Some(missing) = only.iter().find(|path| {
        diff.file(path).is_none() && !diff.omitted.iter().any(|file| file.path == **path)
    }) {
        return Err(refusal(format!(
            "{} is not part of the changes of {}",
            one_line(&missing.to_string(), 200),
            args.id
        ))
        .hint(format!(
            "`hermes kanban diff {} --stat` lists the files",
            args.id
        )));
    }
    if args.json {
        return kanban.json(&diff);
    }
    if args.stat {
        kanban.note(base_text(&diff.base))?;
        kanban.out(&stat_text(kanban, &diff))?;
        return name_omitted(kanban, &diff.omitted);
    }
    if std::io::stdout().is_terminal() {
        kanban.note(base_text(&diff.base))?;
        for file in &diff.files {
            kanban.out(&file_text(kanban, file, usize::MAX))?;
        }
        return name_omitted(kanban, &diff.omitted);
    }
    let patch = reviewed.work.patch(&diff, &only)?;
    let mut out = kanban.printer.stream();
    out.write_all(&patch.bytes)?;
    out.flush()?;
    drop(out);
    name_omitted(kanban, &patch.omitted)
}

/// What the work is compared with, in a sentence.
pub(super) fn base_text(base: &DiffBase) -> String {
    let commit: String = base.commit.chars().take(12).collect();
    let branch = base.branch.as_deref().map(|branch| one_line(branch, 100));
    let of = branch
        .map(|branch| format!(" ({branch})"))
        .unwrap_or_default();
    match base.origin {
        Origin::Recorded => format!("against {commit}{of}, where the work began"),
        Origin::MergeBase => format!("against {commit}{of}, where the branches part"),
        Origin::Head => {
            format!("against {commit}, which is checked out: only what is not committed")
        }
        Origin::Nothing => "against nothing: every file is new".to_owned(),
    }
}

/// Names files that changed and are not shown.
pub(super) fn name_omitted(kanban: &Kanban<'_>, omitted: &[OmittedFile]) -> Result<()> {
    for file in omitted.iter().take(NAMED) {
        kanban.warn(format!(
            "not shown: {} ({})",
            one_line(&file.path.to_string(), 200),
            one_line(&file.reason, 200)
        ))?;
    }
    let more = omitted.len().saturating_sub(NAMED);
    if more > 0 {
        kanban.warn(format!("not shown: {}", counted(more, "more file")))?;
    }
    Ok(())
}

/// `3 files changed, 10 lines added, 2 removed`.
pub(super) fn totals(diff: &Diff) -> String {
    let added: usize = diff.files.iter().map(|file| file.additions).sum();
    let removed: usize = diff.files.iter().map(|file| file.deletions).sum();
    format!(
        "{} changed, {} added, {removed} removed",
        counted(diff.files.len(), "file"),
        counted(added, "line")
    )
}
