//! Parameters in paths and queries.

use hermes_serve::{Route, path_names};
use serde_json::{Value, json};

/// All parameters of an endpoint.
pub(super) fn parameters(route: &Route) -> Vec<Value> {
    let in_path = path_names(route.path).map(|name| {
        let schema = json!({"type": "string", "minLength": 1});
        json!({"name": name, "in": "path", "required": true, "schema": schema})
    });
    let board = route.path.starts_with("/api/plugins/kanban/") && !route.path.contains("{slug}");
    let board = board.then(|| text("board", "The board; the chosen one if not given.", false));
    in_path.chain(queries(route.name)).chain(board).collect()
}

fn query(name: &str, what: &str, schema: &Value) -> Value {
    json!({"name": name, "in": "query", "description": what, "schema": schema})
}

fn text(name: &str, what: &str, is_required: bool) -> Value {
    let mut parameter = query(name, what, &json!({"type": "string"}));
    if is_required {
        parameter["required"] = json!(true);
        parameter["schema"]["minLength"] = json!(1);
    }
    parameter
}

fn flag(name: &str, what: &str) -> Value {
    query(name, what, &json!({"type": "boolean"}))
}

fn number(name: &str, what: &str, bounds: std::ops::RangeInclusive<i64>) -> Value {
    let schema = json!({"type": "integer", "minimum": bounds.start(), "maximum": bounds.end()});
    query(name, what, &schema)
}

fn queries(name: &str) -> Vec<Value> {
    let limit = || number("limit", "How many at most.", 0..=500);
    let days = || number("days", "How many days back.", 1..=3_650);
    let profile = || text("profile", "The profile; `all` for every one.", false);
    match name {
        "sessions" => vec![
            limit(),
            number("offset", "How many to skip.", 0..=1_000_000),
            text("source", "Where conversations come from.", false),
            flag("archived", "Whether archived ones are listed too."),
        ],
        "sessions_search" => vec![text("q", "What to look for.", false), limit()],
        "toolsets" => vec![text("platform", "For which surface.", false)],
        "action_status" => vec![number("lines", "Lines of the log.", 0..=1_000_000)],
        "analytics_usage" | "analytics_models" => vec![days()],
        "logs" => vec![
            text("file", "Which log.", false),
            number("lines", "How many lines.", 0..=1_000_000),
            text("level", "The least level.", false),
            text("component", "Whose lines.", false),
            text("search", "What a line must contain.", false),
            text("session", "Of which conversation.", false),
        ],
        name if name.starts_with("cron_job") => vec![profile()],
        "board" => vec![
            flag("include_archived", "Whether archived cards are shown too."),
            text("tenant", "Of which tenant.", false),
            text("workflow_template_id", "Of which workflow.", false),
            text("current_step_key", "At which step of it.", false),
        ],
        "board_task" => vec![
            text("run_state_type", "Runs of which kind of state.", false),
            text("run_state_name", "Runs in which state.", false),
        ],
        "board_task_log" => vec![number("tail", "Bytes from the end.", 1..=2_000_000)],
        "board_diagnostics" => vec![text("severity", "The least severity.", false)],
        "boards" => vec![flag(
            "include_archived",
            "Whether archived boards are listed too.",
        )],
        "board_delete" => vec![flag("delete", "Whether its files go, too.")],
        "board_dispatch" => vec![
            number("max", "Workers at most.", 1..=1_000),
            flag("dry_run", "Whether it is only said what would happen."),
        ],
        "board_unlink" => vec![
            text("parent_id", "The card that is waited for.", true),
            text("child_id", "The card that waits.", true),
        ],
        "board_events" | "board_events_stream" => {
            let since = json!({"type": "integer"});
            vec![query("since", "Events after this one.", &since)]
        }
        "pty" => vec![text("resume", "The conversation to go on with.", false)],
        "channel_publish" | "channel_events" => vec![text("channel", "Which channel.", true)],
        _ => Vec::new(),
    }
}
