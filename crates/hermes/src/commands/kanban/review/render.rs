//! How changed files and comments look. Names and lines are of others: the printer lets none of them
//! steer a terminal.

use hermes_board::model::{OnApprove, Review, ReviewComment};
use hermes_board::review::{Change, Diff, DiffBase, DiffFile, LineKind, OmittedFile, Origin};

use crate::context::Context;
use crate::error::Result;
use crate::ui::{Style, counted, one_line, visible};

/// Characters of a path on a line.
const PATH: usize = 300;
/// Characters of a line of code.
const CODE: usize = 1000;
/// Files that are named as left out.
const NAMED: usize = 20;
/// Lines of code that are quoted with a comment.
const QUOTED: usize = 8;

/// The changed files, one per line, and their sum.
pub(in super::super) fn stat_text(context: &Context, diff: &Diff) -> String {
    let mut out = String::new();
    for file in &diff.files {
        out.push_str(&format!("  {}\n", headline(context, file)));
    }
    out.push_str(&format!("  {}\n", totals(diff)));
    out
}

/// `modified  src/a.rs  +3 -1`.
fn headline(context: &Context, file: &DiffFile) -> String {
    let path = one_line(&file.path.to_string(), PATH);
    let path = match &file.old_path {
        Some(old) => format!("{} → {path}", one_line(&old.to_string(), PATH)),
        None => path,
    };
    let mut text = format!("{:<8}  {path}", file.change.as_str());
    if file.binary {
        text.push_str("  (no text, or too large)");
    } else if file.additions + file.deletions > 0 {
        let added = context
            .printer
            .paint(Style::GOOD, &format!("+{}", file.additions));
        let removed = context
            .printer
            .paint(Style::BAD, &format!("-{}", file.deletions));
        text.push_str(&format!("  {added} {removed}"));
    }
    match (&file.old_mode, &file.mode) {
        (Some(old), Some(new)) if old != new => text.push_str(&format!("  mode {old} → {new}")),
        (None, Some(new)) if file.change == Change::Added && new != "100644" => {
            text.push_str(&format!("  mode {new}"));
        }
        _ => {}
    }
    text
}

/// A changed file with its lines, at most this many.
pub(in super::super) fn file_text(context: &Context, file: &DiffFile, most: usize) -> String {
    let mut out = context
        .printer
        .paint(Style::HEADING, &headline(context, file));
    out.push('\n');
    let mut shown = 0;
    for hunk in &file.hunks {
        if shown >= most {
            break;
        }
        let range = format!(
            "@@ -{},{} +{},{} @@ {}",
            hunk.old_start,
            hunk.old_lines,
            hunk.new_start,
            hunk.new_lines,
            one_line(&hunk.heading, 100)
        );
        out.push_str(&format!("{}\n", range.trim_end()));
        for line in &hunk.lines {
            if shown >= most {
                break;
            }
            shown += 1;
            let number = |number: Option<u32>| number.map(|n| n.to_string()).unwrap_or_default();
            let text = one_line_of_code(&line.text);
            let (sign, style) = match line.kind {
                LineKind::Added => ("+", Some(Style::GOOD)),
                LineKind::Removed => ("-", Some(Style::BAD)),
                LineKind::Context => (" ", None),
            };
            let code = format!("{sign}{text}");
            let code = match style {
                Some(style) => context.printer.paint(style, &code),
                None => code,
            };
            out.push_str(&format!(
                "{:>5} {:>5} {code}\n",
                number(line.old),
                number(line.new)
            ));
            if line.no_newline {
                out.push_str("            (no line break at the end of the file)\n");
            }
        }
    }
    let all: usize = file.hunks.iter().map(|hunk| hunk.lines.len()).sum();
    if all > shown {
        out.push_str(&format!("… {}\n", counted(all - shown, "more line")));
    }
    out
}

/// A line of code for a terminal: tabs stay, everything else that moves the cursor does not.
fn one_line_of_code(text: &str) -> String {
    visible(hermes_text::cut(text, CODE))
}

/// A comment with the lines it is about.
pub(in super::super) fn comment_text(context: &Context, comment: &ReviewComment) -> String {
    let state = match (&comment.resolved_by, comment.outdated) {
        (Some(by), _) => format!("  resolved by {}", one_line(by, 64)),
        (None, true) => "  outdated: these lines are not there any more".to_owned(),
        (None, false) => String::new(),
    };
    let place = one_line(&comment.lines.to_string(), PATH);
    let head = format!(
        "#{} {place}  {} {}{state}",
        comment.number,
        one_line(&comment.author, 64),
        context.minute(comment.created_at),
    );
    let mut out = format!("  {}\n", context.printer.paint(Style::HEADING, &head));
    let lines: Vec<&str> = comment.quote.split('\n').collect();
    for line in lines.iter().take(QUOTED) {
        out.push_str(&format!("    | {}\n", one_line_of_code(line)));
    }
    if lines.len() > QUOTED {
        out.push_str("    | …\n");
    }
    out.push_str(&indented(&comment.body));
    for reply in &comment.replies {
        let who = one_line(&reply.author, 64);
        out.push_str(&format!(
            "    ↳ {who} {}:\n",
            context.minute(reply.created_at)
        ));
        out.push_str(&indented(&reply.body));
    }
    out
}

fn indented(text: &str) -> String {
    let mut out = String::new();
    for line in text.trim_end().lines() {
        out.push_str(&format!("    {}\n", visible(line)));
    }
    out
}

/// What happens to the work when it is approved.
pub(in super::super) fn action_text(action: &OnApprove) -> String {
    match action {
        OnApprove::Keep => "approving it leaves its branch as it is".to_owned(),
        OnApprove::Merge => "approving it merges its branch into the one it came from".to_owned(),
        OnApprove::Push(None) => "approving it pushes its branch".to_owned(),
        OnApprove::Push(Some(remote)) => {
            format!(
                "approving it pushes its branch to {}",
                one_line(remote, 100)
            )
        }
    }
}

/// The review of a card in a sentence; `None` if there is nothing to say.
pub(in super::super) fn review_line(context: &Context, review: &Review) -> Option<String> {
    let open = review.open().count();
    let outdated = review.open().filter(|comment| comment.outdated).count();
    let mut parts = Vec::new();
    if let Some(approval) = &review.approval {
        let by = one_line(&approval.by, 64);
        let mut text = format!("approved by {by} at {}", context.minute(approval.at));
        if let Some(branch) = &approval.branch {
            let commit: String = approval
                .commit
                .iter()
                .flat_map(|id| id.chars())
                .take(12)
                .collect();
            let branch = one_line(branch, 100);
            text.push_str(&match approval.action.split_once(':') {
                Some((_, remote)) => format!(
                    ", pushed to {} as {branch} ({commit})",
                    one_line(remote, 64)
                ),
                None => format!(", merged into {branch} ({commit})"),
            });
        }
        parts.push(text);
    }
    if !review.comments.is_empty() {
        let resolved = review.comments.len() - open;
        parts.push(format!(
            "{} ({outdated} outdated), {resolved} resolved",
            counted(open, "open comment")
        ));
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// What the work is compared with, in a sentence.
pub(in super::super) fn base_text(base: &DiffBase) -> String {
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
pub(in super::super) fn name_omitted(context: &Context, omitted: &[OmittedFile]) -> Result<()> {
    for file in omitted.iter().take(NAMED) {
        context.warn(format!(
            "not shown: {} ({})",
            one_line(&file.path.to_string(), 200),
            one_line(&file.reason, 200)
        ))?;
    }
    let more = omitted.len().saturating_sub(NAMED);
    if more > 0 {
        context.warn(format!("not shown: {}", counted(more, "more file")))?;
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
