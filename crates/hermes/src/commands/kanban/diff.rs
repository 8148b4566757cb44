//! `hermes kanban diff`: what the work on a card changed.

use std::ffi::OsString;
use std::io::{IsTerminal, Write as _};

use hermes_board::model::{RepoPath, TaskId};

use super::review::{Reviewed, base_text, file_text, name_omitted, stat_text};
use super::session::{Kanban, refusal};
use crate::error::Result;
use crate::ui::one_line;

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
