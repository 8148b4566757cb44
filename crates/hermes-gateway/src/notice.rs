//! What a follower of a card is told about an event, in a line or two.

use hermes_board::model::{Event, Task};
use hermes_text::{first_line, one_line};
use serde_json::Value;

/// Most characters of a title, a summary or an error, and a reason.
const TITLE: usize = 120;
const DETAIL: usize = 200;
const REASON: usize = 160;
/// Files of a result that are named.
const MOST_FILES: usize = 10;

/// The notice about an event; `None` for one that nobody has to hear of.
pub(crate) fn notice(board: &str, task: &Task, event: &Event) -> Option<String> {
    let text = |key: &str, most: usize| {
        let text = event.text(key).and_then(|text| first_line(text, most));
        text.map(|text| one_line(text, most))
    };
    let (icon, said) = match event.kind.as_str() {
        "completed" => {
            let result = task.result.as_deref();
            let result = result.and_then(|text| first_line(text, DETAIL));
            let detail = text("summary", DETAIL).or(result.map(|text| one_line(text, DETAIL)));
            let mut said = format!("done: {}", one_line(&task.title, TITLE));
            for line in detail.into_iter().chain(files(event)) {
                said.push('\n');
                said.push_str(&line);
            }
            ("✔", said)
        }
        "blocked" => ("⏸", with("blocked", text("reason", REASON))),
        "block_loop_detected" => (
            "⏸",
            with("blocked again, now in triage", text("reason", REASON)),
        ),
        "gave_up" => ("✖", with("given up after failures", text("error", DETAIL))),
        "crashed" => (
            "✖",
            with("worker crashed, will be tried again", text("error", DETAIL)),
        ),
        "timed_out" => {
            let limit = event
                .payload
                .as_ref()
                .and_then(|all| all["limit_seconds"].as_i64());
            let limit = limit.map(|limit| format!("the limit is {limit} s"));
            ("⏱", with("timed out, will be tried again", limit))
        }
        "changes_requested" => {
            let comments = event.payload.as_ref();
            let comments = comments
                .and_then(|all| all["comments"].as_u64())
                .unwrap_or(0);
            let comments = (comments > 0).then(|| format!("{comments} review comments"));
            let detail = text("text", REASON).or(comments);
            ("↩", with("sent back by its reviewer", detail))
        }
        "approved" => {
            let by = text("by", REASON).unwrap_or_default();
            let branch = text("branch", REASON);
            let landed = match event
                .text("action")
                .and_then(|action| action.split_once(':'))
            {
                Some((_, remote)) => branch.map(|branch| {
                    format!(" and pushed to {} as {branch}", one_line(remote, REASON))
                }),
                None => branch.map(|branch| format!(" and merged into {branch}")),
            };
            (
                "✔",
                format!("approved by {by}{}", landed.unwrap_or_default()),
            )
        }
        // What changes were requested is said by an event of its own.
        "status" if event.text("reason") == Some("changes_requested") => return None,
        "status" => {
            let status = text("status", REASON).unwrap_or_else(|| task.status_word().to_owned());
            ("🔄", format!("is now {status}"))
        }
        _ => return None,
    };
    let who = task.assignee.as_deref().filter(|who| !who.is_empty());
    let who = who.map(|who| format!("@{} ", one_line(who, TITLE)));
    Some(format!(
        "{icon} [{board}] {}Kanban {} {said}",
        who.unwrap_or_default(),
        one_line(task.id.as_str(), TITLE)
    ))
}

fn with(what: &str, detail: Option<String>) -> String {
    detail.map_or_else(|| what.to_owned(), |detail| format!("{what}: {detail}"))
}

/// The files that a worker has delivered.
fn files(event: &Event) -> Vec<String> {
    let named = event.payload.as_ref().and_then(|all| all.get("artifacts"));
    let named = named.and_then(Value::as_array).into_iter().flatten();
    named
        .filter_map(Value::as_str)
        .take(MOST_FILES)
        .map(|path| format!("file: {}", one_line(path, 4096)))
        .collect()
}
