//! Answers: the statuses of every endpoint, and what their bodies hold.

use hermes_serve::{Route, Verb, path_names};
use serde_json::{Map, Value, json};

use super::bodies::body;
use super::{object, text, text_or_null};
use crate::open_paths::is_open;

/// Endpoints that take turns.
const TURNS: &[&str] = &[
    "chat_completions",
    "responses",
    "runs",
    "session_chat",
    "session_chat_stream",
];
/// Endpoints that answer without looking at a file.
const IN_MEMORY: &[&str] = &["metrics", "openapi", "models", "capabilities", "toolsets"];

/// The shapes of errors.
pub(super) fn error_schemas() -> Value {
    let error = json!({
        "type": "object",
        "required": ["message", "type", "param", "code"],
        "properties": {
            "message": text(),
            "type": {
                "type": "string",
                "enum": ["invalid_request_error", "rate_limit_error", "server_error"],
            },
            "param": text_or_null(),
            "code": text_or_null(),
            "hermes": {"type": "object"},
        },
    });
    json!({
        "Error": object(&[("error", error)], &["error"]),
        "JobError": object(&[("error", text())], &["error"]),
    })
}

/// All answers of an endpoint.
pub(super) fn responses(route: &Route) -> Value {
    let mut all = Map::new();
    let status = match route.name {
        "runs" => "202",
        "session_create" | "session_fork" => "201",
        _ => "200",
    };
    let content = good(route.name);
    let answer = json!({"description": route.summary, "content": content});
    all.insert(status.to_owned(), answer);
    all.insert(
        "403".to_owned(),
        json!({"description": "The page of another origin asks."}),
    );
    let is_job = route.path.starts_with("/api/jobs");
    let mut add = |status: &str, what: &str| {
        let own = |name: &str| json!({"$ref": format!("#/components/schemas/{name}")});
        let schema = if is_job {
            json!({"anyOf": [own("Error"), own("JobError")]})
        } else {
            own("Error")
        };
        let content = json!({"application/json": {"schema": schema}});
        all.insert(
            status.to_owned(),
            json!({"description": what, "content": content}),
        );
    };
    add("400", "The request is not usable.");
    if is_open(route.path) {
        return Value::Object(all);
    }
    add("401", "The key is missing or wrong.");
    add("429", "Too many wrong keys, or too many turns at once.");
    if !IN_MEMORY.contains(&route.name) {
        add("500", "The server failed.");
        add(
            "503",
            "The gateway stops, or something that the server needs is missing.",
        );
    }
    let names_something = path_names(route.path).next().is_some();
    if names_something || ["responses", "runs"].contains(&route.name) {
        add("404", "What the request names does not exist.");
    }
    if body(route.name).is_some() {
        add("408", "The body did not arrive in time.");
        add("413", "The body is too large.");
    }
    let can_conflict = matches!(route.verb, Verb::Post | Verb::Patch | Verb::Delete)
        && route.name != "response_delete";
    if can_conflict {
        add("409", "The state does not allow it.");
    }
    if TURNS.contains(&route.name) && route.name != "runs" {
        add("502", "The turn gave no answer.");
    }
    Value::Object(all)
}

/// The body of a good answer, by its type.
fn good(name: &str) -> Value {
    let json_body = |schema: Value| json!({"application/json": {"schema": schema}});
    // What one event of the stream holds.
    let stream = || {
        let fields = ["event", "data", "id"].map(|name| (name, text()));
        json!({"schema": object(&fields, &[])})
    };
    let mut content = match name {
        "metrics" => return json!({"text/plain": {"schema": text()}}),
        "run_events" | "session_chat_stream" => return json!({"text/event-stream": stream()}),
        _ => json_body(schema(name)),
    };
    if ["chat_completions", "responses"].contains(&name) {
        content["text/event-stream"] = stream();
    }
    content
}

fn constant(value: &str) -> Value {
    json!({"type": "string", "const": value})
}

fn list_of(item: Value) -> Value {
    json!({"type": "array", "items": item})
}

/// A list in its envelope.
fn list(item: Value) -> Value {
    object(
        &[("object", constant("list")), ("data", list_of(item))],
        &["object", "data"],
    )
}

/// What a good answer holds.
fn schema(name: &str) -> Value {
    let known = about_schema(name)
        .or_else(|| turn_schema(name))
        .or_else(|| run_schema(name))
        .or_else(|| resource_schema(name));
    known.unwrap_or_else(|| json!({"type": "object"}))
}

fn whole() -> Value {
    json!({"type": "integer"})
}

fn about_schema(name: &str) -> Option<Value> {
    Some(match name {
        "health" | "health_v1" => object(
            &[
                ("status", constant("ok")),
                ("platform", constant("hermes-agent")),
                ("version", text()),
            ],
            &["status", "platform", "version"],
        ),
        "models" => list(object(
            &[
                ("id", text()),
                ("object", constant("model")),
                ("created", whole()),
                ("owned_by", text()),
            ],
            &["id", "object", "created", "owned_by"],
        )),
        "skills" | "toolsets" => list(object(&[("name", text())], &["name"])),
        _ => return None,
    })
}

fn turn_schema(name: &str) -> Option<Value> {
    let anything = || json!({"type": "object"});
    Some(match name {
        "chat_completions" => object(
            &[
                ("id", text()),
                ("object", constant("chat.completion")),
                ("created", whole()),
                ("model", text()),
                ("choices", list_of(anything())),
                ("usage", anything()),
            ],
            &["id", "object", "created", "model", "choices", "usage"],
        ),
        "responses" | "response" => object(
            &[
                ("id", text()),
                ("object", constant("response")),
                ("status", text()),
                ("created_at", whole()),
                ("model", text()),
                ("output", list_of(anything())),
            ],
            &["id", "object", "status", "created_at", "model", "output"],
        ),
        "session_chat" => object(
            &[
                ("object", constant("hermes.session.chat.completion")),
                ("session_id", text()),
                ("message", anything()),
            ],
            &["object", "session_id", "message"],
        ),
        _ => return None,
    })
}

fn run_schema(name: &str) -> Option<Value> {
    let number = || json!({"type": "number"});
    let statuses = json!({"type": "string", "enum": [
        "queued", "running", "waiting_for_approval", "stopping", "completed", "failed", "cancelled",
    ]});
    Some(match name {
        "runs" => object(
            &[("run_id", text()), ("status", constant("started"))],
            &["run_id", "status"],
        ),
        "run_status" => object(
            &[
                ("object", constant("hermes.run")),
                ("run_id", text()),
                ("status", statuses),
                ("created_at", number()),
                ("updated_at", number()),
                ("session_id", text()),
                ("model", text()),
                ("last_event", text_or_null()),
            ],
            &["object", "run_id", "status", "created_at", "session_id"],
        ),
        "run_approval" => object(
            &[
                ("object", constant("hermes.run.approval_response")),
                ("run_id", text()),
                ("choice", text()),
                ("resolved", whole()),
            ],
            &["object", "run_id", "choice", "resolved"],
        ),
        "run_stop" => object(
            &[("run_id", text()), ("status", constant("stopping"))],
            &["run_id", "status"],
        ),
        _ => return None,
    })
}

fn resource_schema(name: &str) -> Option<Value> {
    let flag = || json!({"type": "boolean"});
    let deleted = |kind: &str| {
        let fields = [
            ("id", text()),
            ("object", constant(kind)),
            ("deleted", flag()),
        ];
        object(&fields, &["id", "object", "deleted"])
    };
    Some(match name {
        "response_delete" => deleted("response"),
        "session_delete" => deleted("hermes.session.deleted"),
        "sessions" | "session_messages" => list(object(&[], &["id"])),
        "session" | "session_create" | "session_update" | "session_fork" => {
            let session = object(&[("id", text()), ("source", text())], &["id", "source"]);
            object(
                &[("object", constant("hermes.session")), ("session", session)],
                &["object", "session"],
            )
        }
        "jobs" => object(&[("jobs", list_of(json!({"type": "object"})))], &["jobs"]),
        "job" | "job_create" | "job_update" | "job_pause" | "job_resume" | "job_run" => {
            let fields = [
                ("id", text()),
                ("name", text()),
                ("enabled", flag()),
                ("state", text()),
            ];
            object(&[("job", object(&fields, &["id"]))], &["job"])
        }
        "job_delete" => object(&[("ok", flag())], &["ok"]),
        _ => return None,
    })
}
