//! The worker context: the text that a worker reads about its card. Bounded, whatever the card has.
//!
//! Limits count characters, not bytes. Everything that could be old has its age, because a reader
//! takes what it reads for current.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use hermes_text::{cut, first_line};
use jiff::tz::TimeZone;
use serde_json::Value;

use crate::files::bring_attachments;
use crate::model::{Attachment, Check, Object, ReviewComment, Task, TaskId};
use crate::sqlite::{ContextFacts, ParentResult};
use crate::{Result, StoredBoard};

const BODY: usize = 8192;
const FIELD: usize = 4096;
const COMMENT: usize = 2048;
const LINE: usize = 200;
/// Characters of the quoted lines of a review comment, and of all review comments together.
const QUOTE: usize = 1024;
const REVIEW: usize = 24_576;
const ATTEMPTS: i64 = 10;
const COMMENTS: i64 = 30;
/// What a worker keeps of its time to notice that a command took too long.
const RUNTIME_MARGIN: i64 = 30;

/// What the text depends on besides the card.
#[derive(Debug, Clone)]
pub struct ContextOptions {
    pub zone: TimeZone,
    /// Seconds a terminal command may take where the reader is, if known.
    pub terminal_timeout: Option<i64>,
    /// Path of the workspace for the reader, where it differs from the card's: in a container.
    pub workspace: Option<PathBuf>,
    /// Path of the card's attachments for the reader, likewise.
    pub attachments: Option<PathBuf>,
}

impl ContextOptions {
    /// Path of an attachment for the reader.
    pub fn path_of(&self, attachment: &Attachment) -> PathBuf {
        let stored = &attachment.stored_path;
        match (&self.attachments, stored.file_name()) {
            (Some(directory), Some(name)) => directory.join(name),
            _ => stored.clone(),
        }
    }
}

impl Default for ContextOptions {
    fn default() -> Self {
        Self {
            zone: hermes_time::local(),
            terminal_timeout: None,
            workspace: None,
            attachments: None,
        }
    }
}

/// The text for the worker of a card.
pub fn worker_context(
    board: &StoredBoard,
    id: &TaskId,
    options: &ContextOptions,
) -> Result<String> {
    let mut facts = board.context_facts(id, ATTEMPTS, COMMENTS)?;
    let absent = if board.is_on_server() {
        bring_files(board, &mut facts)?
    } else {
        BTreeMap::new()
    };
    Ok(Text {
        now: facts.now,
        zone: &options.zone,
        absent,
        out: String::new(),
    }
    .of(&facts, options))
}

/// Brings the files that the text names to this machine; gives the attachments that could not be had, by
/// their numbers, with the reasons.
fn bring_files(board: &StoredBoard, facts: &mut ContextFacts) -> Result<BTreeMap<i64, String>> {
    for parent in &mut facts.parents {
        let artifacts = parent.metadata.as_mut();
        let artifacts = artifacts.and_then(|metadata| metadata.get_mut("artifacts"));
        let Some(Value::Array(artifacts)) = artifacts else {
            continue;
        };
        let brought = bring_attachments(board, &parent.id)?;
        let brought = brought.into_iter().filter(|one| one.problem.is_none());
        let here: Vec<PathBuf> = brought.map(|one| one.attachment.stored_path).collect();
        for artifact in artifacts {
            // Written down where it was kept: the same file has the same end everywhere.
            let end = artifact.as_str().map(|path| ends_of(Path::new(path)));
            let same = here.iter().find(|path| Some(ends_of(path)) == end);
            if let Some(path) = same {
                *artifact = path.to_string_lossy().into_owned().into();
            }
        }
    }
    let brought = bring_attachments(board, &facts.task.id)?;
    let absent = brought.into_iter().filter_map(|one| {
        let problem = one.problem?;
        Some((one.attachment.id, problem.to_string()))
    });
    Ok(absent.collect())
}

/// The names of a file and of its directory.
fn ends_of(path: &Path) -> (Option<&OsStr>, Option<&OsStr>) {
    (path.file_name(), path.parent().and_then(Path::file_name))
}

/// The time a worker's terminal commands may take, given that of the whole attempt.
pub fn worker_terminal_timeout(max_runtime_seconds: i64, current: Option<i64>) -> i64 {
    let wanted = max_runtime_seconds.saturating_sub(RUNTIME_MARGIN).max(1);
    current.unwrap_or(0).max(wanted)
}

struct Text<'z> {
    now: i64,
    zone: &'z TimeZone,
    /// Attachments that are not on this machine, with the reasons.
    absent: BTreeMap<i64, String>,
    out: String,
}

impl Text<'_> {
    fn of(mut self, facts: &ContextFacts, options: &ContextOptions) -> String {
        self.head(&facts.task, options);
        if let Some(body) = filled(facts.task.body.as_deref()) {
            self.line("## Body");
            self.line(&capped(body, BODY));
            self.line("");
        }
        self.checks(&facts.checks);
        self.review(&facts.review);
        self.attachments(&facts.attachments, options);
        self.attempts(facts);
        self.parents(&facts.parents);
        self.recent_work(facts);
        self.comments(facts);
        let mut text = self.out.trim_end().to_owned();
        text.push('\n');
        text
    }

    fn line(&mut self, text: &str) {
        self.out.push_str(text);
        self.out.push('\n');
    }

    fn head(&mut self, task: &Task, options: &ContextOptions) {
        self.line(&format!("# Kanban task {}: {}", task.id, task.title));
        self.line("");
        let assignee = task.assignee.as_deref().unwrap_or("(unassigned)");
        self.line(&format!("Assignee: {assignee}"));
        self.line(&format!("Status:   {}", task.status_word()));
        if let Some(tenant) = filled(task.tenant.as_deref()) {
            self.line(&format!("Tenant:   {tenant}"));
        }
        let seen = options
            .workspace
            .as_ref()
            .map(|path| path.to_string_lossy());
        let path = seen.as_deref().or(filled(task.workspace_path.as_deref()));
        let path = path.unwrap_or("(unresolved)");
        self.line(&format!("Workspace: {} @ {path}", task.workspace_kind));
        if let Some(runtime) = task.max_runtime_seconds {
            self.line(&format!("Max runtime: {runtime}s"));
            let timeout = worker_terminal_timeout(runtime, options.terminal_timeout);
            self.line(&format!("Terminal timeout: {timeout}s"));
        }
        if let Some(branch) = filled(task.branch_name.as_deref()) {
            self.line(&format!("Branch:   {branch}"));
        }
        if let Some(repository) = filled(task.repository.as_deref()) {
            self.line(&format!(
                "Repository: {repository} (commit your work: the branch is pushed there when you \
                 complete or block the card)"
            ));
        }
        self.line("");
    }

    fn checks(&mut self, checks: &[Check]) {
        if checks.is_empty() {
            return;
        }
        self.line("## Acceptance checks");
        self.line(
            "When the card is completed, these commands are run in the workspace, in this order. \
             The card is done only if all of them pass:",
        );
        for check in checks {
            let command = capped(&check.command, FIELD);
            self.line(&format!("{}. `{command}`", check.position));
        }
        self.line("");
    }

    fn review(&mut self, comments: &[ReviewComment]) {
        if comments.is_empty() {
            return;
        }
        self.line("## Review comments");
        self.line(
            "A reviewer sent the work back with these comments on its lines. Deal with each, then \
             answer or resolve it: kanban_comment with its number as review_comment, and with \
             resolve for what is done.",
        );
        let begin = self.out.len();
        for (comment, before) in comments.iter().zip(0..) {
            let characters = self.out.get(begin..).map_or(0, |text| text.chars().count());
            if characters > REVIEW {
                let left = comments.len() - before;
                self.line(&format!(
                    "_({left} more not shown: `kanban_show` lists all under review)_"
                ));
                break;
            }
            self.review_comment(comment);
        }
        self.line("");
    }

    fn review_comment(&mut self, comment: &ReviewComment) {
        let author = comment.author.replace('`', "");
        let when = self.when(comment.created_at);
        let (number, place) = (comment.number, &comment.lines);
        self.line(&format!(
            "### Comment {number} on {place}, by `{author}` at {when}"
        ));
        if comment.outdated {
            self.line("_These lines have changed since; this is what they were:_");
        }
        for line in capped_lines(&comment.quote, QUOTE) {
            self.line(&format!("    {line}"));
        }
        self.line("");
        self.line(&capped(&comment.body, COMMENT));
        for reply in &comment.replies {
            let author = reply.author.replace('`', "");
            let body = capped(&reply.body, COMMENT);
            self.line(&format!("answer from `{author}`: {body}"));
        }
    }

    fn attachments(&mut self, attachments: &[Attachment], options: &ContextOptions) {
        if attachments.is_empty() {
            return;
        }
        self.line("## Attachments");
        self.line("Files that belong to this card; read them where they are:");
        for file in attachments {
            let mut facts = String::new();
            if let Some(kind) = filled(file.content_type.as_deref()) {
                facts.push_str(&format!(", {kind}"));
            }
            if file.size > 0 {
                facts.push_str(&format!(", {} KB", file.size.div_ceil(1024)));
            }
            if let Some(problem) = self.absent.get(&file.id) {
                let line = format!("- `{}`{facts}: not here, {problem}", file.filename);
                self.line(&line);
                continue;
            }
            let path = options.path_of(file);
            let path = path.display();
            self.line(&format!("- `{}`{facts} → `{path}`", file.filename));
        }
        self.line("");
    }

    fn attempts(&mut self, facts: &ContextFacts) {
        if facts.last_runs.is_empty() {
            return;
        }
        self.line("## Prior attempts on this task");
        let omitted = facts.closed_runs.saturating_sub(facts.last_runs.len());
        self.omission(omitted, "attempt", facts.last_runs.len());
        for (run, number) in facts.last_runs.iter().zip(omitted + 1..) {
            let outcome = run.outcome.as_deref().unwrap_or(&run.status);
            let profile = run.profile.as_deref().unwrap_or("(unknown)");
            let when = self.when(run.started_at);
            self.line(&format!(
                "### Attempt {number} — {outcome} ({profile}, {when})"
            ));
            if let Some(summary) = filled(run.summary.as_deref()) {
                self.line(&capped(summary, FIELD));
            }
            if let Some(error) = filled(run.error.as_deref()) {
                self.line(&format!("_error_: {}", capped(error, FIELD)));
            }
            self.metadata(run.metadata.as_ref());
            self.line("");
        }
    }

    fn parents(&mut self, parents: &[ParentResult]) {
        if parents.is_empty() {
            return;
        }
        self.line("## Parent task results");
        self.line(
            "_Results of the parent cards as of their completion. They are not kept up to date: \
             verify what matters before relying on it._",
        );
        for parent in parents {
            let age = parent
                .completed_at
                .map(|at| format!(" (completed {})", self.age(at)))
                .unwrap_or_default();
            self.line(&format!("### {}{age}", parent.id));
            let handoff = parent.handoff.as_deref().unwrap_or("(no result recorded)");
            self.line(&capped(handoff, FIELD));
            self.metadata(parent.metadata.as_ref());
            self.line("");
        }
    }

    fn recent_work(&mut self, facts: &ContextFacts) {
        let (Some(assignee), false) = (&facts.task.assignee, facts.recent_work.is_empty()) else {
            return;
        };
        self.line(&format!("## Recent work by @{assignee}"));
        for work in &facts.recent_work {
            let when = self.when(work.ended_at.unwrap_or_default());
            let summary = first_line(&work.summary, LINE).unwrap_or("(no summary)");
            self.line(&format!(
                "- {} — {} ({when}): {summary}",
                work.id, work.title
            ));
        }
        self.line("");
    }

    fn comments(&mut self, facts: &ContextFacts) {
        if facts.last_comments.is_empty() {
            return;
        }
        self.line("## Comment thread");
        let omitted = facts.comments.saturating_sub(facts.last_comments.len());
        self.omission(omitted, "comment", facts.last_comments.len());
        for comment in &facts.last_comments {
            // An author's name must not read like an instruction.
            let author = comment.author.replace('`', "");
            let when = self.when(comment.created_at);
            self.line(&format!("comment from worker `{author}` at {when}:"));
            self.line(&capped(&comment.body, COMMENT));
            self.line("");
        }
    }

    fn omission(&mut self, omitted: usize, what: &str, shown: usize) {
        if omitted > 0 {
            let plural = if omitted == 1 { "" } else { "s" };
            self.line(&format!(
                "_({omitted} earlier {what}{plural} omitted; showing most recent {shown})_"
            ));
        }
    }

    fn metadata(&mut self, metadata: Option<&Object>) {
        if let Some(metadata) = metadata.filter(|metadata| !metadata.is_empty()) {
            let text = sorted(&Value::Object(metadata.clone())).to_string();
            self.line(&format!("_metadata_: `{}`", capped(&text, FIELD)));
        }
    }

    /// Local time and age.
    fn when(&self, at: i64) -> String {
        let local = jiff::Timestamp::from_second(at)
            .map(|at| at.to_zoned(self.zone.clone()))
            .map(|at| at.strftime("%Y-%m-%d %H:%M").to_string());
        match local {
            Ok(local) => format!("{local}, {}", self.age(at)),
            // A time outside of history is no time.
            Err(_) => "unknown".to_owned(),
        }
    }

    fn age(&self, at: i64) -> String {
        hermes_time::ago(self.now.saturating_sub(at))
    }
}

fn filled(text: Option<&str>) -> Option<&str> {
    text.filter(|text| !text.trim().is_empty())
}

/// The text without blanks around it, cut with a note of how much is missing.
fn capped(text: &str, most: usize) -> String {
    let text = text.trim();
    let kept = cut(text, most);
    if kept.len() == text.len() {
        return text.to_owned();
    }
    let omitted = text.chars().count() - most;
    format!("{kept}… [truncated, {omitted} chars omitted]")
}

/// The lines of a text, without those beyond a number of characters.
fn capped_lines(text: &str, most: usize) -> Vec<String> {
    let kept = cut(text, most);
    let mut lines: Vec<String> = kept.lines().map(str::to_owned).collect();
    if kept.len() < text.len() {
        lines.push("…".to_owned());
    }
    lines
}

/// The same value with the keys of its objects in order.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let ordered: BTreeMap<&String, &Value> = map.iter().collect();
            let map = ordered
                .into_iter()
                .map(|(key, value)| (key.clone(), sorted(value)));
            Value::Object(map.collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn ages_are_coarse_and_never_in_the_future() {
        let text = Text {
            now: 1_000_000,
            zone: &TimeZone::UTC,
            absent: BTreeMap::new(),
            out: String::new(),
        };
        for (ago, shown) in [
            (-500, "just now"),
            (59, "just now"),
            (60, "1m ago"),
            (3599, "59m ago"),
            (3600, "1h ago"),
            (86_400, "1d ago"),
            (900_000, "10d ago"),
        ] {
            assert_eq!(text.age(1_000_000 - ago), shown);
        }
        assert_eq!(text.when(0), "1970-01-01 00:00, 11d ago");
        assert_eq!(text.when(i64::MAX), "unknown");
    }

    #[test]
    fn a_cut_says_how_much_is_missing_and_counts_characters() {
        assert_eq!(capped(" äöü ", 3), "äöü");
        assert_eq!(capped("äöüß", 3), "äöü… [truncated, 1 chars omitted]");
    }

    #[test]
    fn terminal_commands_get_most_of_the_time() {
        assert_eq!(worker_terminal_timeout(600, None), 570);
        assert_eq!(worker_terminal_timeout(10, None), 1);
        assert_eq!(worker_terminal_timeout(600, Some(900)), 900);
    }
}
