//! Parameters in paths, queries and headers.

use hermes_serve::{Route, path_names};
use serde_json::{Value, json};

use crate::call::{MOST_ID, MOST_SESSION};

/// All parameters of an endpoint.
pub(super) fn parameters(route: &Route) -> Vec<Value> {
    let in_path = path_names(route.path).map(|name| {
        let schema = match name {
            "job_id" => json!({"type": "string", "pattern": "^[0-9a-f]{12}$"}),
            _ => json!({"type": "string", "minLength": 1}),
        };
        json!({"name": name, "in": "path", "required": true, "schema": schema})
    });
    in_path.chain(others(route.name)).collect()
}

fn header(name: &str, description: &str, schema: Value) -> Value {
    json!({"name": name, "in": "header", "description": description, "schema": schema})
}

fn session() -> Value {
    let schema = json!({
        "type": "string", "maxLength": MOST_SESSION, "pattern": "^[A-Za-z0-9_.:@+-]*$",
    });
    header("X-Hermes-Session-Id", "Session to continue.", schema)
}

/// Headers of turns: the scope of memory, and the key of a request that may be sent again.
fn key() -> Value {
    let schema = json!({"type": "string", "maxLength": MOST_ID});
    header("X-Hermes-Session-Key", "Scope of long-term memory.", schema)
}

fn again() -> Value {
    let schema = json!({"type": "string", "maxLength": MOST_ID});
    let what = "The same key with the same body gets the same answer, also after a restart. Not for \
        streams.";
    header("Idempotency-Key", what, schema)
}

fn query(name: &str, description: &str, schema: Value) -> Value {
    json!({"name": name, "in": "query", "description": description, "schema": schema})
}

fn count(name: &str, description: &str) -> Value {
    query(name, description, json!({"type": "integer", "minimum": 0}))
}

fn others(name: &str) -> Vec<Value> {
    let flag = || json!({"type": "boolean"});
    match name {
        "chat_completions" => vec![session(), key(), again()],
        "responses" | "runs" => vec![key(), again()],
        "session_chat" | "session_chat_stream" => vec![key()],
        "run_events" => {
            let number = json!({"type": "integer", "minimum": 0});
            vec![header(
                "Last-Event-ID",
                "Number of the last event read.",
                number,
            )]
        }
        "sessions" => vec![
            count(
                "limit",
                "Most sessions; 50 unless given, and never more than 200.",
            ),
            count("offset", "Sessions to skip."),
            query(
                "source",
                "Where sessions come from.",
                json!({"type": "string"}),
            ),
            query(
                "include_children",
                "Whether continued parts are listed too.",
                flag(),
            ),
        ],
        "jobs" => vec![query(
            "include_disabled",
            "Whether paused and finished jobs are listed too.",
            flag(),
        )],
        _ => Vec::new(),
    }
}
