//! The review of a card's work: its diff with comments on lines, and the verdict.

use askama::Template;
use serde::Deserialize;
use serde_json::json;

use super::board::board_query;
use super::frame::{self, now};
use super::review_rows::{FileAnswer, FileView, Remark, place};
use super::shell::{Shell, Trouble};
use super::shown::{plural, segment};
use super::source::Source;
use crate::call::{Answered, Call};

/// Most files that are named as left out.
const MOST_OMITTED: usize = 50;
/// Characters of a commit that are shown.
const SHORT: usize = 12;

#[derive(Template)]
#[template(path = "review.html")]
struct ReviewPage {
    shell: Shell,
    trouble: Option<Trouble>,
    query: String,
    /// What a file is asked for with, at the end of an address.
    file_query: String,
    id: String,
    /// The path of the card's endpoints.
    api: String,
    work: Option<Work>,
    now: i64,
}

/// The work as the page shows it.
struct Work {
    title: String,
    status: String,
    on_approve: String,
    approval: Option<Approval>,
    diff: Option<DiffAnswer>,
    files: Vec<FileView>,
    /// Open comments whose lines are not on the page.
    elsewhere: Vec<Remark>,
    resolved: Vec<Remark>,
    open: usize,
    problem: Option<Trouble>,
    /// The only file on the page.
    only: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ReviewAnswer {
    title: String,
    status: String,
    on_approve: String,
    review: Said,
    diff: Option<DiffAnswer>,
    problem: Option<Problem>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Problem {
    message: String,
    hint: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Said {
    approval: Option<Approval>,
    comments: Vec<Remark>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Approval {
    by: String,
    at: i64,
    action: String,
    commit: Option<String>,
    branch: Option<String>,
}

impl Approval {
    /// What became of the work.
    fn outcome(&self) -> String {
        let branch = self.branch.as_deref().unwrap_or_default();
        let commit = short(self.commit.as_deref().unwrap_or_default());
        match self.action.split_once(':') {
            Some((_, remote)) => format!("pushed to {remote} as {branch} ({commit})"),
            None if self.action == "merge" => format!("merged into {branch} ({commit})"),
            None => "its branch was left as it is".to_owned(),
        }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct DiffAnswer {
    base: Base,
    branch: Option<String>,
    fingerprint: String,
    files: Vec<FileAnswer>,
    file_count: usize,
    more_files: usize,
    additions: usize,
    deletions: usize,
    omitted: Vec<Omitted>,
}

impl DiffAnswer {
    fn shown_omitted(&self) -> impl Iterator<Item = &Omitted> {
        self.omitted.iter().take(MOST_OMITTED)
    }

    fn more_omitted(&self) -> usize {
        self.omitted.len().saturating_sub(MOST_OMITTED)
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Base {
    commit: String,
    branch: Option<String>,
    origin: String,
}

impl Base {
    /// What the work is compared with.
    fn text(&self) -> String {
        let commit = short(&self.commit);
        let branch = self.branch.as_deref();
        match (self.origin.as_str(), branch) {
            ("nothing", _) => "everything is new".to_owned(),
            ("head", _) => format!("compared with {commit}: only what is not committed"),
            (_, Some(branch)) => format!("compared with {branch} at {commit}"),
            (_, None) => format!("compared with {commit}"),
        }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Omitted {
    path: String,
    reason: String,
}

fn short(commit: &str) -> &str {
    hermes_text::cut(commit, SHORT)
}

impl Work {
    fn of(answer: ReviewAnswer, only: Option<String>) -> Self {
        let mut diff = answer.diff;
        let files = diff.as_mut().map(|diff| std::mem::take(&mut diff.files));
        let mut files: Vec<FileView> = files
            .unwrap_or_default()
            .into_iter()
            .enumerate()
            .map(|(number, file)| FileView::new(number, file))
            .collect();
        let (open, resolved): (Vec<Remark>, Vec<Remark>) = answer
            .review
            .comments
            .into_iter()
            .partition(Remark::is_open);
        let count = open.len();
        Self {
            title: answer.title,
            status: answer.status,
            on_approve: answer.on_approve,
            approval: answer.review.approval,
            elsewhere: place(open, &mut files),
            open: count,
            resolved,
            diff,
            files,
            problem: answer.problem.map(|problem| Trouble {
                title: "The work cannot be shown".to_owned(),
                detail: problem.message,
                hint: problem.hint,
            }),
            only,
        }
    }

    fn can_approve(&self) -> bool {
        let fits = matches!(
            self.status.as_str(),
            "ready" | "blocked" | "review" | "done"
        );
        fits && self.approval.is_none()
    }

    fn can_send_back(&self) -> bool {
        matches!(
            self.status.as_str(),
            "ready" | "scheduled" | "blocked" | "review" | "done"
        )
    }

    /// Why there is no verdict to give; `None` if there is one.
    fn waits(&self) -> Option<&'static str> {
        match self.status.as_str() {
            "running" => Some("A worker is at it. The verdict can be given once it has ended."),
            "triage" | "todo" => Some("Nobody has begun with this card."),
            "archived" => Some("The card is archived."),
            _ => None,
        }
    }

    fn fingerprint(&self) -> &str {
        self.diff.as_ref().map_or("", |diff| &diff.fingerprint)
    }

    /// What approving does if nothing else is chosen.
    fn action_text(&self) -> String {
        let from = self
            .diff
            .as_ref()
            .and_then(|diff| diff.base.branch.as_deref());
        match (self.on_approve.split_once(':'), self.on_approve.as_str()) {
            (Some((_, remote)), _) => format!("push its branch to {remote}"),
            (None, "merge") => match from {
                Some(branch) => format!("merge its branch into {branch}"),
                None => "merge its branch into the one it came from".to_owned(),
            },
            (None, "push") => "push its branch".to_owned(),
            (None, _) => "leave its branch as it is".to_owned(),
        }
    }

    fn approve_body(&self) -> String {
        json!({"reviewed": self.fingerprint()}).to_string()
    }
}

/// `/board/{id}/review`.
pub(super) async fn page(call: Call) -> Answered {
    let source = Source::of(&call);
    let chosen = call.query("board");
    let query = board_query(chosen.as_deref());
    let join = if query.is_empty() { "?" } else { "&" };
    let id = segment(call.param("id"));
    let api = format!("/api/plugins/kanban/tasks/{id}");
    let only = call.query("file");
    let mut path = format!("{api}/review{query}");
    if let Some(file) = &only {
        path.push_str(&format!("{join}file={}", segment(file)));
    }
    let answer: Result<ReviewAnswer, Trouble> = source.get(&path).await;
    let (work, trouble) = match answer {
        Ok(answer) => (Some(Work::of(answer, only)), None),
        Err(trouble) => (None, Some(trouble)),
    };
    let status = if work.is_some() { 200 } else { 404 };
    let mut shell = frame::shell(&call, "Review", "board");
    shell.module = work.as_ref().map(|_| "review");
    shell.board = chosen;
    let page = ReviewPage {
        shell,
        trouble,
        file_query: format!("{query}{join}file="),
        query,
        id,
        api,
        work,
        now: now(),
    };
    frame::html_with(status, &page)
}
