//! One card, whole: on a page of its own, and in the drawer of the board.

use std::path::Path;

use askama::Template;
use serde::Deserialize;
use serde_json::{Value, json};

use super::board::{Card, board_query, profile_names};
use super::frame::{self, now};
use super::shell::{Shell, Trouble};
use super::shown::{bytes, plural, segment, span};
use super::source::Source;
use crate::call::{Answered, Call};

/// Most attempts and events that are shown.
const MOST_RUNS: usize = 50;
const MOST_EVENTS: usize = 200;
/// Bytes of the worker's log that are shown.
const LOG_TAIL: usize = 32_768;
/// Longest line about an event.
const MOST_DETAIL: usize = 400;

#[derive(Template)]
#[template(path = "card.html")]
struct CardPage {
    shell: Shell,
    trouble: Option<Trouble>,
    query: String,
    card: Option<Whole>,
    why: Vec<String>,
    log: Option<String>,
    profiles: Vec<String>,
    /// Where its work is, for people.
    workspace: Option<String>,
    now: i64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Whole {
    task: Card,
    comments: Vec<Comment>,
    events: Vec<Event>,
    attachments: Vec<Attachment>,
    links: Links,
    runs: Vec<Run>,
    checks: Vec<Check>,
}

/// A file that belongs to the card.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Attachment {
    id: i64,
    filename: String,
    size: u64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Check {
    command: String,
    on_host: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Links {
    parents: Vec<String>,
    children: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Comment {
    id: i64,
    author: String,
    body: String,
    created_at: i64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Event {
    id: i64,
    kind: String,
    payload: Value,
    created_at: i64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Run {
    id: i64,
    profile: Option<String>,
    status: String,
    outcome: Option<String>,
    started_at: i64,
    ended_at: Option<i64>,
    summary: Option<String>,
    error: Option<String>,
}

/// A button of a card.
struct Action {
    label: &'static str,
    /// The request: method and path.
    call: String,
    body: String,
    /// The question before it; empty for none.
    confirm: &'static str,
    is_main: bool,
}

impl Whole {
    fn is_running(&self) -> bool {
        self.task.status == "running"
    }

    /// Whether there is work to look at.
    fn has_work(&self) -> bool {
        self.task.workspace_path.is_some() && self.task.started_at.is_some()
    }

    fn has_foreign_assignee(&self, profiles: &[String]) -> bool {
        let assignee = self.task.assignee_text();
        !assignee.is_empty() && profiles.iter().all(|profile| profile != assignee)
    }

    /// What came out of it.
    fn outcome(&self) -> Option<&str> {
        let summary = self.task.latest_summary.as_deref();
        let result = summary.or(self.task.result.as_deref())?.trim();
        (!result.is_empty()).then_some(result)
    }

    fn link_body(&self) -> String {
        json!({"child_id": self.task.id}).to_string()
    }

    fn newest_runs(&self) -> impl Iterator<Item = &Run> {
        self.runs.iter().rev().take(MOST_RUNS)
    }

    fn newest_events(&self) -> impl Iterator<Item = &Event> {
        self.events.iter().rev().take(MOST_EVENTS)
    }

    /// What can be done with the card as it stands.
    fn actions(&self) -> Vec<Action> {
        let own = format!("/api/plugins/kanban/tasks/{}", segment(&self.task.id));
        let set = |label, status: &str, is_main| Action {
            label,
            call: format!("PATCH {own}"),
            body: json!({"status": status}).to_string(),
            confirm: "",
            is_main,
        };
        let post = |label, verb: &str, confirm| Action {
            label,
            call: format!("POST {own}/{verb}"),
            body: "{}".to_owned(),
            confirm,
            is_main: false,
        };
        let archive = Action {
            confirm: "Archive this card? It leaves the board and can be brought back.",
            ..set("Archive", "archived", false)
        };
        let mut actions = match self.task.status.as_str() {
            "triage" => vec![
                post("Specify", "specify", ""),
                post("Split into cards", "decompose", ""),
                set("To do", "todo", false),
            ],
            "todo" | "scheduled" => vec![set("Make ready", "ready", true)],
            "ready" => vec![
                set("Done", "done", false),
                set("To triage", "triage", false),
            ],
            "running" => vec![post(
                "Take back",
                "reclaim",
                "End the worker of this card and make the card ready again?",
            )],
            "blocked" => vec![set("Unblock", "ready", true), set("Done", "done", false)],
            "review" => vec![set("Done", "done", true), set("Send back", "ready", false)],
            "done" | "archived" => vec![set("Reopen", "ready", false)],
            _ => Vec::new(),
        };
        if self.task.status != "archived" && !self.is_running() {
            actions.push(archive);
        }
        actions
    }
}

impl Attachment {
    fn size_text(&self) -> String {
        bytes(self.size)
    }
}

impl Event {
    /// What the event says, in one line.
    fn detail(&self) -> Option<String> {
        let fields = self.payload.as_object()?;
        let said = fields.iter().filter(|(_, value)| !value.is_null());
        let said = said.map(|(name, value)| match value {
            Value::String(text) => format!("{name}: {text}"),
            other => format!("{name}: {other}"),
        });
        let line = said.collect::<Vec<_>>().join(", ");
        (!line.is_empty()).then(|| hermes_text::cut(&line, MOST_DETAIL).to_string())
    }
}

impl Run {
    fn outcome_label(&self) -> String {
        let word = self.outcome.as_deref().unwrap_or(&self.status);
        word.replace('_', " ")
    }

    fn tone(&self) -> &'static str {
        match self.outcome.as_deref() {
            Some("completed") => "ok",
            Some("blocked" | "reclaimed" | "scheduled" | "rate_limited") => "warn",
            Some(_) => "bad",
            None => "info",
        }
    }

    fn took(&self) -> Option<String> {
        Some(span(self.ended_at? - self.started_at))
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Log {
    exists: bool,
    content: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Why {
    verdicts: Vec<Verdict>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Verdict {
    sentence: String,
}

pub(super) async fn page(call: Call) -> Answered {
    let source = Source::of(&call);
    let chosen = call.query("board");
    let query = board_query(chosen.as_deref());
    let id = segment(call.param("id"));
    let own = format!("/api/plugins/kanban/tasks/{id}");
    let whole: Result<Whole, Trouble> = source.get(&format!("{own}{query}")).await;
    let (card, trouble) = match whole {
        Ok(card) => (Some(card), None),
        Err(trouble) => (None, Some(trouble)),
    };
    let join = if query.is_empty() { "?" } else { "&" };
    let log: Log = match card {
        Some(_) => source
            .get(&format!("{own}/log{query}{join}tail={LOG_TAIL}"))
            .await
            .unwrap_or_default(),
        None => Log::default(),
    };
    let why: Why = match card {
        Some(_) => source
            .get(&format!("{own}/why{query}"))
            .await
            .unwrap_or_default(),
        None => Why::default(),
    };
    let status = if card.is_some() { 200 } else { 404 };
    let path = card
        .as_ref()
        .and_then(|card| card.task.workspace_path.as_ref());
    let context = call.context();
    let workspace = path.map(|path| context.location.display(Path::new(path)));
    let mut shell = frame::shell(&call, "Card", "board");
    shell.body = "text";
    shell.refresh = card.as_ref().map(|_| 5);
    let page = CardPage {
        shell,
        trouble,
        query,
        card,
        why: why.verdicts.into_iter().map(|one| one.sentence).collect(),
        log: log.exists.then_some(log.content),
        profiles: profile_names(&source).await,
        workspace,
        now: now(),
    };
    frame::html_with(status, &page)
}
