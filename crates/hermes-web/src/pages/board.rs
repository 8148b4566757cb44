//! The board.

use askama::Template;
use serde::Deserialize;

use super::frame::{self, html, now};
use super::shell::{Shell, Trouble};
use super::shown::{Seconds, ago, nullable, plural, segment};
use super::source::Source;
use crate::call::{Answered, Call};

/// Most characters of a card's text that filters look at.
const MOST_TEXT: usize = 600;

#[derive(Template)]
#[template(path = "board.html")]
struct BoardPage {
    shell: Shell,
    trouble: Option<Trouble>,
    slug: String,
    query: String,
    with_archived: bool,
    boards: Vec<BoardName>,
    columns: Vec<Column>,
    tenants: Vec<String>,
    assignees: Vec<String>,
    profiles: Vec<String>,
    total: usize,
    now: i64,
}

impl BoardPage {
    fn archived_link(&self) -> String {
        match (self.query.is_empty(), self.with_archived) {
            (_, true) => self.query.clone(),
            (true, false) => "?archived=1".to_owned(),
            (false, false) => format!("{}&archived=1", self.query),
        }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct BoardAnswer {
    columns: Vec<Column>,
    tenants: Vec<String>,
    assignees: Vec<String>,
    latest_event_id: i64,
    now: i64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Column {
    name: String,
    tasks: Vec<Card>,
}

impl Column {
    fn label(&self) -> String {
        status_label(&self.name)
    }

    fn tone(&self) -> &'static str {
        status_tone(&self.name)
    }

    /// Whether people cannot put cards there.
    fn is_closed(&self) -> bool {
        !self.closed_because().is_empty()
    }

    fn closed_because(&self) -> &'static str {
        match self.name.as_str() {
            "running" => "Only the dispatcher starts a card: move it to Ready.",
            "review" => "A card comes here when its worker hands it over for review.",
            _ => "",
        }
    }

    fn when_empty(&self) -> &'static str {
        match self.name.as_str() {
            "triage" => "Nothing to specify",
            "todo" => "Nothing waits for other cards",
            "scheduled" => "Nothing is parked",
            "ready" => "Nothing to take up",
            "running" => "Nobody works",
            "blocked" => "Nothing is blocked",
            "review" => "Nothing to review",
            "done" => "Nothing done yet",
            _ => "Nothing here",
        }
    }
}

/// A card as the board shows it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Card {
    pub(super) id: String,
    pub(super) title: String,
    pub(super) status: String,
    pub(super) body: Option<String>,
    pub(super) assignee: Option<String>,
    pub(super) tenant: Option<String>,
    pub(super) priority: i64,
    pub(super) created_at: i64,
    pub(super) created_by: Option<String>,
    pub(super) started_at: Option<i64>,
    pub(super) completed_at: Option<i64>,
    pub(super) workspace_kind: String,
    pub(super) workspace_path: Option<String>,
    pub(super) branch_name: Option<String>,
    pub(super) result: Option<String>,
    #[serde(deserialize_with = "nullable")]
    pub(super) consecutive_failures: i64,
    pub(super) last_failure_error: Option<String>,
    pub(super) latest_summary: Option<String>,
    comment_count: usize,
    progress: Option<Progress>,
    #[serde(deserialize_with = "nullable")]
    pub(super) diagnostics: Vec<Diagnostic>,
}

/// Something that is wrong with a card.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Diagnostic {
    pub(super) severity: String,
    pub(super) title: String,
    #[serde(deserialize_with = "nullable")]
    pub(super) detail: String,
}

impl Diagnostic {
    pub(super) fn tone(&self) -> &'static str {
        match self.severity.as_str() {
            "error" | "critical" => "bad",
            _ => "warn",
        }
    }
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct Progress {
    done: u32,
    total: u32,
}

impl Progress {
    fn percent(self) -> u32 {
        (self.done * 100).checked_div(self.total).unwrap_or(0)
    }
}

struct Tag {
    tone: &'static str,
    text: String,
}

impl Card {
    pub(super) fn assignee_text(&self) -> &str {
        self.assignee.as_deref().unwrap_or_default()
    }

    fn assignee_label(&self) -> &str {
        self.assignee.as_deref().unwrap_or("nobody")
    }

    fn tenant_text(&self) -> &str {
        self.tenant.as_deref().unwrap_or_default()
    }

    pub(super) fn status_label(&self) -> String {
        status_label(&self.status)
    }

    pub(super) fn tone(&self) -> &'static str {
        status_tone(&self.status)
    }

    /// What filters look at.
    fn search_text(&self) -> String {
        let body = self.body.as_deref().unwrap_or_default();
        let text = format!("{} {} {} {body}", self.title, self.id, self.assignee_text());
        hermes_text::cut(&text.to_lowercase(), MOST_TEXT).to_string()
    }

    fn trouble_flag(&self) -> &'static str {
        if self.diagnostics.is_empty() {
            "0"
        } else {
            "1"
        }
    }

    fn warning_tag(&self) -> Option<Tag> {
        let first = self.diagnostics.first()?;
        let tone = first.tone();
        let text = match self.diagnostics.len() {
            1 => hermes_text::cut(&first.title, 60).to_string(),
            count => format!("{count} problems"),
        };
        Some(Tag { tone, text })
    }

    /// What the last attempt reported, where it says more than the title.
    fn shown_summary(&self) -> Option<&str> {
        let summary = self.latest_summary.as_deref()?.trim();
        let is_shown = matches!(self.status.as_str(), "done" | "blocked" | "review");
        (is_shown && !summary.is_empty()).then_some(summary)
    }

    /// The moment that says most about a card in its column.
    fn when(&self) -> i64 {
        match self.status.as_str() {
            "done" | "archived" => self.completed_at.unwrap_or(self.created_at),
            "running" => self.started_at.unwrap_or(self.created_at),
            _ => self.created_at,
        }
    }

    fn age_text(&self, now: impl Seconds) -> String {
        ago(now, self.when())
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Boards {
    boards: Vec<BoardName>,
    current: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct BoardName {
    slug: String,
    name: String,
}

impl BoardName {
    fn label(&self) -> &str {
        if self.name.is_empty() {
            &self.slug
        } else {
            &self.name
        }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Roster {
    profiles: Vec<RosterProfile>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct RosterProfile {
    name: String,
}

/// The names of all profiles, for choices.
pub(super) async fn profile_names(source: &Source) -> Vec<String> {
    let roster: Result<Roster, Trouble> = source.get("/api/plugins/kanban/profiles").await;
    // A choice that cannot be offered is left out; the page itself says what is wrong.
    let roster = roster.unwrap_or_default();
    roster.profiles.into_iter().map(|one| one.name).collect()
}

/// What a board is chosen with in a query; empty for the current one.
pub(super) fn board_query(slug: Option<&str>) -> String {
    slug.map(|slug| format!("?board={}", segment(slug)))
        .unwrap_or_default()
}

pub(super) async fn page(call: Call) -> Answered {
    let source = Source::of(&call);
    let chosen = call.query("board");
    let query = board_query(chosen.as_deref());
    let with_archived = call.query("archived").is_some();
    let mut path = format!("/api/plugins/kanban/board{query}");
    if with_archived {
        path.push(if query.is_empty() { '?' } else { '&' });
        path.push_str("include_archived=true");
    }
    let answer: Result<BoardAnswer, Trouble> = source.get_shared(&path).await;
    let (answer, trouble) = match answer {
        Ok(answer) => (answer, None),
        Err(trouble) => (BoardAnswer::default(), Some(trouble)),
    };
    let boards: Boards = source
        .get("/api/plugins/kanban/boards")
        .await
        .unwrap_or_default();
    let slug = chosen.clone().unwrap_or(boards.current);
    let name = boards.boards.iter().find(|one| one.slug == slug);
    let title = match name {
        Some(name) if slug != "default" => name.label().to_owned(),
        _ => "Board".to_owned(),
    };
    let mut shell = frame::shell(&call, &title, "board");
    shell.module = Some("board");
    shell.body = "board";
    shell.events = Some(answer.latest_event_id);
    shell.board = chosen;
    let page = BoardPage {
        shell,
        trouble,
        slug,
        query,
        with_archived,
        boards: boards.boards,
        total: answer.columns.iter().map(|column| column.tasks.len()).sum(),
        columns: answer.columns,
        tenants: answer.tenants,
        assignees: answer.assignees,
        profiles: profile_names(&source).await,
        now: if answer.now > 0 { answer.now } else { now() },
    };
    html(&page)
}

fn status_label(status: &str) -> String {
    match status {
        "todo" => "To do".to_owned(),
        other => {
            let mut letters = other.chars();
            match letters.next() {
                Some(first) => first.to_uppercase().chain(letters).collect(),
                None => String::new(),
            }
        }
    }
}

fn status_tone(status: &str) -> &'static str {
    match status {
        "running" => "info",
        "blocked" => "bad",
        "review" => "violet",
        "done" => "ok",
        "triage" | "scheduled" => "warn",
        _ => "",
    }
}
