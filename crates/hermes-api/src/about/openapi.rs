//! `GET /openapi.json`: the server described for programs. Made from the table of endpoints, so that
//! neither can have what the other lacks.

use serde_json::{Map, Value, json};

use crate::call::{Answered, Call, json as answer};
use crate::routes::{ROUTES, Route, Verb};

#[expect(clippy::unused_async, reason = "endpoints are asynchronous")]
pub(crate) async fn openapi(_: Call) -> Answered {
    Ok(answer(&document()))
}

/// The document.
fn document() -> Value {
    let mut paths: Map<String, Value> = Map::new();
    for route in ROUTES {
        let path = paths
            .entry(route.path)
            .or_insert_with(|| Value::Object(Map::new()));
        path[route.verb.name().to_lowercase()] = operation(route);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Hermes API",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Conversations with the agent of a profile.",
        },
        "security": [{"key": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
            "schemas": {
                "Error": object(&[("error", json!({
                    "type": "object",
                    "required": ["message", "type", "param", "code"],
                    "properties": {
                        "message": {"type": "string"},
                        "type": {"type": "string"},
                        "param": {"type": ["string", "null"]},
                        "code": {"type": ["string", "null"]},
                        "hermes": {"type": "object"},
                    },
                }))], &["error"]),
            },
        },
    })
}

fn operation(route: &Route) -> Value {
    let mut operation = json!({
        "operationId": route.name,
        "summary": route.summary,
        "responses": responses(route),
    });
    if route.is_open {
        operation["security"] = json!([]);
    }
    let mut parameters: Vec<Value> = path_parameters(route.path)
        .map(|name| {
            json!({
                "name": name, "in": "path", "required": true, "schema": {"type": "string"},
            })
        })
        .collect();
    parameters.extend(more_parameters(route.name));
    if !parameters.is_empty() {
        operation["parameters"] = Value::Array(parameters);
    }
    if let Some((schema, is_required)) = body(route.name) {
        operation["requestBody"] = json!({
            "required": is_required,
            "content": {"application/json": {"schema": schema}},
        });
    }
    operation
}

/// Names in braces.
fn path_parameters(path: &'static str) -> impl Iterator<Item = &'static str> {
    path.split('/')
        .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
}

fn responses(route: &Route) -> Value {
    let error = |what: &str| {
        let schema = json!({"schema": {"$ref": "#/components/schemas/Error"}});
        json!({"description": what, "content": {"application/json": schema}})
    };
    let good = match route.name {
        "runs" => "202",
        "session_create" | "session_fork" => "201",
        _ => "200",
    };
    let kinds: &[&str] = match route.name {
        "metrics" => &["text/plain"],
        "run_events" | "session_chat_stream" => &["text/event-stream"],
        "chat_completions" | "responses" => &["application/json", "text/event-stream"],
        _ => &["application/json"],
    };
    let content: Map<String, Value> = kinds
        .iter()
        .map(|kind| {
            let described = match *kind {
                "application/json" => json!({"schema": {"type": "object"}}),
                // This version of OpenAPI has no words for a stream of events.
                "text/event-stream" => json!({}),
                _ => json!({"schema": {"type": "string"}}),
            };
            ((*kind).to_owned(), described)
        })
        .collect();
    let mut all = Map::new();
    all.insert(
        good.to_owned(),
        json!({"description": route.summary, "content": content}),
    );
    let mut add = |status: &str, what: &str| {
        all.insert(status.to_owned(), error(what));
    };
    add("400", "The request is not usable.");
    all.insert(
        "403".to_owned(),
        json!({"description": "The page of another origin asks."}),
    );
    let mut add = |status: &str, what: &str| {
        all.insert(status.to_owned(), error(what));
    };
    if !route.is_open {
        add("401", "The key is missing or wrong.");
        add("429", "Too many wrong keys, or too many turns at once.");
        add("500", "The server failed.");
        add(
            "503",
            "The gateway stops, or something it needs is missing.",
        );
    }
    if path_parameters(route.path).next().is_some() || body(route.name).is_some() {
        add("404", "What the request names does not exist.");
    }
    if matches!(route.verb, Verb::Post | Verb::Patch) {
        add("408", "The body did not arrive in time.");
        add("409", "The state does not allow it.");
        add("413", "The body is too large.");
    }
    if ["chat_completions", "responses", "session_chat"].contains(&route.name) {
        add("502", "The turn gave no answer.");
    }
    Value::Object(all)
}

fn more_parameters(name: &str) -> Vec<Value> {
    let header = |name: &str, what: &str| json!({"name": name, "in": "header", "description": what, "schema": {"type": "string"}});
    let query =
        |name: &str, kind: &str| json!({"name": name, "in": "query", "schema": {"type": kind}});
    let session = || header("X-Hermes-Session-Id", "Session to continue.");
    let key = || header("X-Hermes-Session-Key", "Scope of long-term memory.");
    let again = || header("Idempotency-Key", "The same key gets the same answer.");
    match name {
        "chat_completions" => vec![session(), key(), again()],
        "responses" => vec![key(), again()],
        "runs" | "session_chat" | "session_chat_stream" => vec![key()],
        "run_events" => vec![header("Last-Event-ID", "Number of the last event read.")],
        "sessions" => vec![
            query("limit", "integer"),
            query("offset", "integer"),
            query("source", "string"),
            query("include_children", "boolean"),
        ],
        _ => Vec::new(),
    }
}

fn object(properties: &[(&str, Value)], required: &[&str]) -> Value {
    let properties: Map<String, Value> = properties
        .iter()
        .map(|(name, schema)| ((*name).to_owned(), schema.clone()))
        .collect();
    json!({"type": "object", "properties": properties, "required": required})
}

/// The schema of a body, and whether there must be one.
fn body(name: &str) -> Option<(Value, bool)> {
    let text = || json!({"type": "string"});
    let flag = || json!({"type": "boolean"});
    let content = || {
        let said = json!({"type": "string", "pattern": "\\S"});
        let kind = json!({"const": "text"});
        let part = object(&[("type", kind), ("text", said.clone())], &["type", "text"]);
        let other = object(&[("type", text())], &["type"]);
        let parts = json!({"type": "array", "minItems": 1, "items": {"anyOf": [part, other]}});
        json!({"anyOf": [said, parts]})
    };
    let messages = |least: u8| {
        let roles = json!({"enum": ["system", "developer", "user", "assistant", "tool"]});
        let fields = [("role", roles), ("content", content())];
        let message = object(&fields, &["role", "content"]);
        json!({"type": "array", "minItems": least, "items": message})
    };
    let turn = || {
        vec![
            ("input", content()),
            ("instructions", text()),
            ("previous_response_id", text()),
            ("conversation_history", messages(0)),
            ("model", text()),
        ]
    };
    Some(match name {
        "chat_completions" => {
            let fields = [
                ("model", text()),
                ("messages", messages(1)),
                ("stream", flag()),
            ];
            (object(&fields, &["messages"]), true)
        }
        "responses" => {
            let mut fields = turn();
            fields.extend([
                ("conversation", text()),
                ("store", flag()),
                ("stream", flag()),
                ("truncation", text()),
            ]);
            (object(&fields, &["input"]), true)
        }
        "runs" => {
            let mut fields = turn();
            fields.push(("session_id", text()));
            (object(&fields, &["input"]), true)
        }
        "run_approval" => {
            let choices = json!({"type": "string", "enum": ["once", "session", "always", "deny"]});
            let fields = [("choice", choices), ("all", flag()), ("reason", text())];
            (object(&fields, &["choice"]), true)
        }
        "session_create" => {
            let fields = ["id", "title", "model", "system_prompt"];
            let fields = fields.map(|name| (name, text()));
            (object(&fields, &[]), false)
        }
        "session_update" => {
            let fields = ["title", "end_reason"].map(|name| (name, text()));
            (object(&fields, &[]), true)
        }
        "session_fork" => {
            let fields = ["id", "title"].map(|name| (name, text()));
            (object(&fields, &[]), false)
        }
        "session_chat" | "session_chat_stream" => {
            let fields = [
                ("message", content()),
                ("input", content()),
                ("system_message", text()),
                ("instructions", text()),
            ];
            (object(&fields, &[]), true)
        }
        _ => return None,
    })
}

#[cfg(test)]
#[path = "openapi_tests.rs"]
mod tests;
