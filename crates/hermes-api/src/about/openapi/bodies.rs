//! Bodies of requests, as the endpoints check them.

use serde_json::{Value, json};

use super::{object, text_or_null};
use crate::jobs::{MOST_NAME, MOST_PROMPT};

/// A switch: true, false, or one of the words for them.
fn flag() -> Value {
    json!({"anyOf": [
        {"type": ["boolean", "null"]},
        {"type": "string", "enum": ["true", "false", "1", "0", "yes", "no", "on", "off"]},
        {"type": "integer", "enum": [0, 1]},
    ]})
}

fn content() -> Value {
    let detail = || json!({"type": ["string", "null"], "pattern": "\\S"});
    let url = || json!({"type": "string", "pattern": "^(https?://|data:image/[^,]*,)"});
    let text_part = json!({
        "type": "object",
        "required": ["type"],
        "properties": {
            "type": {"type": "string", "enum": ["text", "input_text", "output_text"]},
            "text": text_or_null(),
        },
    });
    let image_part = json!({
        "type": "object",
        "required": ["type", "image_url"],
        "properties": {
            "type": {"type": "string", "enum": ["image_url", "input_image"]},
            "image_url": {"anyOf": [
                url(),
                {
                    "type": "object",
                    "required": ["url"],
                    "properties": {"url": url(), "detail": detail()},
                },
            ]},
            "detail": detail(),
        },
    });
    json!({"anyOf": [
        {"type": ["string", "null"]},
        {"type": "array", "items": {"anyOf": [{"type": "string"}, text_part, image_part]}},
    ]})
}

/// Something to answer: a text that is not blank, or parts.
fn prompt() -> Value {
    let mut content = content();
    content["anyOf"][0] = json!({"type": "string", "pattern": "\\S"});
    content["anyOf"][1]["minItems"] = json!(1);
    content
}

fn message(required: &[&str]) -> Value {
    object(
        &[("role", json!({"type": "string"})), ("content", content())],
        required,
    )
}

/// What responses and runs are asked with.
fn turn() -> Vec<(&'static str, Value)> {
    let item = json!({"anyOf": [{"type": "string"}, object(&[
        ("type", text_or_null()),
        ("role", text_or_null()),
        ("content", content()),
    ], &[])]});
    let input = json!({"anyOf": [
        {"type": "string", "pattern": "\\S"},
        {"type": "array", "items": item, "minItems": 1},
    ]});
    let history = json!({
        "type": ["array", "null"],
        "items": message(&["role", "content"]),
    });
    vec![
        ("input", input),
        ("instructions", text_or_null()),
        ("previous_response_id", text_or_null()),
        ("conversation_history", history),
        ("model", text_or_null()),
        ("truncation", text_or_null()),
    ]
}

fn job(is_new: bool) -> Value {
    // A new job may be given nothing for what it does not need; a change says what it changes.
    let kind = |name: &str| {
        if is_new {
            json!([name, "null"])
        } else {
            json!(name)
        }
    };
    let mut name = json!({"type": "string", "maxLength": MOST_NAME});
    let mut schedule = json!({"type": "string"});
    let mut skills = vec![json!({"type": "array", "items": {"type": "string"}})];
    skills.push(json!({"type": kind("string")}));
    if is_new {
        name["pattern"] = json!("\\S");
        schedule["pattern"] = json!("\\S");
    }
    let mut fields = vec![
        ("name", name),
        ("schedule", schedule),
        (
            "prompt",
            json!({"type": kind("string"), "maxLength": MOST_PROMPT}),
        ),
        ("deliver", json!({"type": kind("string")})),
        ("skills", json!({"anyOf": skills})),
        ("skill", json!({"type": kind("string")})),
        ("repeat", json!({"type": kind("integer"), "minimum": 1})),
    ];
    if is_new {
        return object(&fields, &["name", "schedule"]);
    }
    fields.push(("enabled", json!({"type": "boolean"})));
    let mut schema = object(&fields, &[]);
    schema["additionalProperties"] = json!(false);
    schema["minProperties"] = json!(1);
    schema
}

/// The schema of a body, and whether there must be one.
pub(super) fn body(name: &str) -> Option<(Value, bool)> {
    Some(match name {
        "chat_completions" => {
            let messages = json!({"type": "array", "items": message(&["role"]), "minItems": 1});
            let fields = [
                ("model", text_or_null()),
                ("messages", messages),
                ("stream", flag()),
            ];
            (object(&fields, &["messages"]), true)
        }
        "responses" => {
            let mut fields = turn();
            let named = json!({"anyOf": [text_or_null(), object(&[("id", text_or_null())], &[])]});
            fields.extend([
                ("conversation", named),
                ("store", flag()),
                ("stream", flag()),
            ]);
            (object(&fields, &["input"]), true)
        }
        "runs" => {
            let mut fields = turn();
            let session = json!({"type": ["string", "null"], "minLength": 1, "maxLength": 255});
            fields.push(("session_id", session));
            (object(&fields, &["input"]), true)
        }
        "run_approval" => {
            let words = [
                "once", "approve", "approved", "allow", "session", "always", "deny",
            ];
            let choices = json!({"type": "string", "enum": words});
            let fields = [
                ("choice", choices),
                ("all", flag()),
                ("resolve_all", flag()),
                ("reason", text_or_null()),
            ];
            (object(&fields, &["choice"]), true)
        }
        "session_create" => {
            let fields = ["id", "session_id", "title", "model", "system_prompt"];
            (
                object(&fields.map(|name| (name, text_or_null())), &[]),
                false,
            )
        }
        "session_update" => {
            let fields = ["title", "end_reason"].map(|name| (name, text_or_null()));
            let mut schema = object(&fields, &[]);
            schema["additionalProperties"] = json!(false);
            (schema, true)
        }
        "session_fork" => {
            let fields = ["id", "session_id", "title"].map(|name| (name, text_or_null()));
            (object(&fields, &[]), false)
        }
        "session_chat" | "session_chat_stream" => {
            let fields = [
                ("message", prompt()),
                ("input", prompt()),
                ("system_message", text_or_null()),
                ("instructions", text_or_null()),
            ];
            let mut schema = object(&fields, &[]);
            schema["anyOf"] = json!([{"required": ["message"]}, {"required": ["input"]}]);
            (schema, true)
        }
        "job_create" => (job(true), true),
        "job_update" => (job(false), true),
        _ => return None,
    })
}
