//! `hermes kanban review comment`, `list`, `reply` and `resolve`.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;

use hermes_board::model::{DiffSide, RepoPath, TaskId};
use hermes_board::review::{self, CommentRequest};
use serde_json::json;

use super::super::session::{BoardSession, Kanban, usage};
use super::{Reviewed, comment_text, located};
use crate::error::Result;
use crate::ui::{counted, one_line};

#[derive(Debug, clap::Args)]
pub(crate) struct CommentArgs {
    /// The card
    id: TaskId,
    /// File and line, or first and last line: src/main.rs:12, src/main.rs:12-20
    #[arg(value_name = "FILE:LINE[-LINE]")]
    place: OsString,
    /// Text of the comment
    #[arg(required = true)]
    text: Vec<String>,
    /// Side of the diff whose lines are counted: old is before the work, new is after it
    #[arg(long, value_name = "SIDE", value_parser = ["old", "new"], default_value = "new")]
    side: String,
    /// Author
    #[arg(long, value_name = "NAME")]
    author: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ListArgs {
    /// The card
    id: TaskId,
    /// Also resolved comments
    #[arg(long)]
    all: bool,
    /// Print JSON, with resolved comments
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ReplyArgs {
    /// The card
    id: TaskId,
    /// Number of the comment
    #[arg(value_name = "N")]
    number: u32,
    /// Text of the answer
    #[arg(required = true)]
    text: Vec<String>,
    /// Author
    #[arg(long, value_name = "NAME")]
    author: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ResolveArgs {
    /// The card
    id: TaskId,
    /// Numbers of the comments
    #[arg(required = true, value_name = "N")]
    numbers: Vec<u32>,
}

pub(super) fn comment(args: &CommentArgs, kanban: &Kanban<'_>) -> Result<()> {
    let (file, lines) = place(&args.place)?;
    let mut session = kanban.open()?;
    session.caller()?.may_change(&args.id, "review")?;
    let author = session.author(args.author.as_ref())?;
    let reviewed = Reviewed::open(&session, &args.id)?;
    let request = CommentRequest {
        file: &file,
        side: DiffSide::parse(&args.side).unwrap_or(DiffSide::New),
        lines,
        author: &author,
        body: &args.text.join(" "),
    };
    let number = review::comment(&mut session.store, &args.id, &reviewed.work, &request)?;
    if args.json {
        return kanban.json(&json!({"task_id": args.id, "comment": number}));
    }
    kanban.line(format!("Comment {number} added to {}", args.id))
}

pub(super) fn list(args: &ListArgs, kanban: &Kanban<'_>) -> Result<()> {
    let session = kanban.open()?;
    let review = located(&session, &args.id)?;
    if args.json {
        return kanban.json(&review.comments);
    }
    let shown = review
        .comments
        .iter()
        .filter(|one| args.all || one.is_open());
    let mut count = 0;
    for comment in shown {
        count += 1;
        kanban.out(&comment_text(kanban, comment))?;
    }
    let resolved = review.comments.len() - review.open().count();
    if count == 0 {
        kanban.line("(no open comments)")?;
    }
    if resolved > 0 && !args.all {
        kanban.hint(format!(
            "--all also shows {}",
            counted(resolved, "resolved comment")
        ))?;
    }
    Ok(())
}

pub(super) fn reply(args: &ReplyArgs, kanban: &Kanban<'_>) -> Result<()> {
    let mut session = kanban.open()?;
    session.caller()?.may_change(&args.id, "review")?;
    let author = session.author(args.author.as_ref())?;
    let text = args.text.join(" ");
    session
        .store
        .reply_to_review(&args.id, args.number, &author, &text)?;
    kanban.line(format!("Answered comment {} of {}", args.number, args.id))
}

pub(super) fn resolve(args: &ResolveArgs, kanban: &Kanban<'_>) -> Result<()> {
    let mut session = kanban.open()?;
    session
        .caller()?
        .may_change(&args.id, "resolve review comments of")?;
    for number in &args.numbers {
        resolve_one(&mut session, kanban, &args.id, *number)?;
    }
    Ok(())
}

fn resolve_one(
    session: &mut BoardSession<'_>,
    kanban: &Kanban<'_>,
    id: &TaskId,
    number: u32,
) -> Result<()> {
    let author = session.author(None)?;
    let was_open = session.store.resolve_review(id, number, &author)?;
    kanban.line(if was_open {
        format!("Resolved comment {number} of {id}")
    } else {
        format!("Comment {number} of {id} was resolved already")
    })
}

/// A file and its first and last line.
pub(super) fn place(text: &OsStr) -> Result<(RepoPath, (u32, u32))> {
    let shown = || one_line(&text.to_string_lossy(), 200);
    let wrong = || {
        usage(format!("'{}' is not FILE:LINE or FILE:LINE-LINE", shown()))
            .hint("for example src/main.rs:12 or src/main.rs:12-20")
    };
    let bytes = text.as_bytes();
    let colon = bytes
        .iter()
        .rposition(|byte| *byte == b':')
        .ok_or_else(wrong)?;
    let (file, lines) = bytes.split_at(colon);
    let lines = std::str::from_utf8(lines.get(1..).unwrap_or_default()).map_err(|_| wrong())?;
    if file.is_empty() {
        return Err(wrong());
    }
    let range = line_range(lines).ok_or_else(wrong)?;
    Ok((RepoPath::parse(OsStr::from_bytes(file)), range))
}

/// `12`, or `12-20`.
pub(super) fn line_range(text: &str) -> Option<(u32, u32)> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
    (first >= 1 && last >= first).then_some((first, last))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn place_is_a_file_and_lines_from_one_on() {
        let parsed = |text: &str| place(OsStr::new(text)).ok();
        let path = |text: &str| RepoPath::from_bytes(text);
        assert_eq!(
            parsed("src/a b.rs:12"),
            Some((path("src/a b.rs"), (12, 12)))
        );
        assert_eq!(parsed("a:b:3-5"), Some((path("a:b"), (3, 5))));
        assert_eq!(parsed("\"a\\nb\":1"), Some((path("a\nb"), (1, 1))));
        for wrong in [
            "",
            "a",
            ":3",
            "a:",
            "a:0",
            "a:5-3",
            "a:x",
            "a:1-",
            "a:-1",
            "a:99999999999",
        ] {
            assert_eq!(parsed(wrong), None, "{wrong}");
        }
    }
}
