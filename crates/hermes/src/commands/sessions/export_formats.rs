//! The shapes of an export: JSON lines, Markdown, a web page, and the trace of another program's
//! viewer. They work on sessions as the store exports them, secrets already masked.

use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::{Map, Value, json};

use crate::facts::COMPATIBLE;

/// How sessions are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    /// One session per line.
    JsonLines,
    Markdown,
    Html,
    /// One message per line, as Claude Code records its sessions.
    Trace,
}

/// Which part of a session is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// The messages of the user.
    UserPrompts,
}

impl Format {
    pub(super) const NAMES: [(&'static str, Self); 4] = [
        ("jsonl", Self::JsonLines),
        ("md", Self::Markdown),
        ("html", Self::Html),
        ("trace", Self::Trace),
    ];

    /// What stands before all sessions.
    pub(super) fn beginning(self) -> &'static str {
        match self {
            Self::Html => HTML_BEGINNING,
            Self::JsonLines | Self::Markdown | Self::Trace => "",
        }
    }

    /// What stands behind all sessions.
    pub(super) fn end(self) -> &'static str {
        match self {
            Self::Html => "</body>\n</html>\n",
            Self::JsonLines | Self::Markdown | Self::Trace => "",
        }
    }

    /// The text of one session.
    pub(super) fn session(self, session: &Value, only: Option<Part>) -> String {
        match (self, only) {
            (Self::JsonLines, None) => format!("{session}\n"),
            (Self::JsonLines, Some(Part::UserPrompts)) => {
                let mut out = String::new();
                for prompt in prompts(session) {
                    out.push_str(&format!("{prompt}\n"));
                }
                out
            }
            (Self::Markdown, only) => markdown(session, only),
            (Self::Html, _) => html(session),
            (Self::Trace, _) => trace(session),
        }
    }
}

const HTML_BEGINNING: &str = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
<title>Conversations</title>\n<style>\n\
body { font: 16px/1.5 sans-serif; max-width: 60em; margin: 2em auto; padding: 0 1em; }\n\
article { border-left: .25em solid #999; margin: 1em 0; padding: .1em 1em; }\n\
article.user { border-color: #36c; } article.tool { border-color: #b80; }\n\
pre { white-space: pre-wrap; overflow-wrap: anywhere; }\n\
header, time { color: #555; }\n\
</style>\n</head>\n<body>\n";

fn messages(session: &Value) -> impl Iterator<Item = &Value> {
    session["messages"].as_array().into_iter().flatten()
}

fn text_at<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_default()
}

/// The text of a message; parts that are no text are named.
fn content(message: &Value) -> String {
    match &message["content"] {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let parts = parts.iter().map(|part| match part["type"].as_str() {
                Some("text") => text_at(part, "text").to_owned(),
                Some("image" | "image_url") => "[image]".to_owned(),
                _ => part.to_string(),
            });
            parts.collect::<Vec<_>>().join("\n")
        }
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// Names and arguments of the tools that a message calls.
fn calls(message: &Value) -> impl Iterator<Item = (&str, &str)> {
    let calls = message["tool_calls"].as_array().into_iter().flatten();
    calls.map(|call| {
        let function = &call["function"];
        (text_at(function, "name"), text_at(function, "arguments"))
    })
}

/// `2026-11-17T12:00:00Z`; empty for a time that no clock can show.
fn time(value: &Value) -> String {
    let moment = value.as_f64().and_then(|seconds| {
        jiff::Timestamp::from_duration(jiff::SignedDuration::try_from_secs_f64(seconds).ok()?).ok()
    });
    moment.map_or_else(String::new, |moment| {
        moment.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
    })
}

fn title(session: &Value) -> &str {
    match text_at(session, "title") {
        "" => text_at(session, "id"),
        title => title,
    }
}

/// What is known of a session, as label and value.
fn facts(session: &Value) -> Vec<(&'static str, String)> {
    let facts = [
        ("Session", text_at(session, "id").to_owned()),
        ("Source", text_at(session, "source").to_owned()),
        ("Model", text_at(session, "model").to_owned()),
        ("Started", time(&session["started_at"])),
        ("Ended", time(&session["ended_at"])),
    ];
    let known = facts.into_iter().filter(|(_, value)| !value.is_empty());
    known.collect()
}

fn prompts(session: &Value) -> impl Iterator<Item = Value> {
    let asked = messages(session).filter(|message| message["role"] == "user");
    asked.enumerate().map(|(at, message)| {
        json!({
            "session_id": session["id"],
            "index": at + 1,
            "created_at": time(&message["timestamp"]),
            "role": "user",
            "text": content(message),
            "message_id": message["id"],
        })
    })
}

fn markdown(session: &Value, only: Option<Part>) -> String {
    let mut out = format!("# {}\n\n", title(session).replace('\n', " "));
    for (label, value) in facts(session) {
        out.push_str(&format!("- {label}: `{value}`\n"));
    }
    out.push('\n');
    if only == Some(Part::UserPrompts) {
        for prompt in prompts(session) {
            let when = text_at(&prompt, "created_at");
            let text = text_at(&prompt, "text");
            out.push_str(&format!("## {}. {when}\n\n{text}\n\n", prompt["index"]));
        }
        return out;
    }
    for message in messages(session) {
        let role = text_at(message, "role");
        out.push_str(&format!("## {role} {}\n\n", time(&message["timestamp"])));
        let text = content(message);
        if role == "tool" {
            out.push_str(&fenced(&text));
        } else if !text.is_empty() {
            out.push_str(&format!("{text}\n\n"));
        }
        for (name, arguments) in calls(message) {
            out.push_str(&format!("Calls `{name}`:\n\n{}", fenced(arguments)));
        }
    }
    out
}

/// A block that its own content cannot end.
fn fenced(text: &str) -> String {
    let mut fence = "```".to_owned();
    while text.contains(&fence) {
        fence.push('`');
    }
    format!("{fence}\n{text}\n{fence}\n\n")
}

fn html(session: &Value) -> String {
    let mut out = format!("<h1>{}</h1>\n<header>", escaped(title(session)));
    for (label, value) in facts(session) {
        out.push_str(&format!("{label}: <code>{}</code><br>\n", escaped(&value)));
    }
    out.push_str("</header>\n");
    for message in messages(session) {
        let role = escaped(text_at(message, "role"));
        let when = time(&message["timestamp"]);
        out.push_str(&format!(
            "<article class=\"{role}\"><p><b>{role}</b> <time>{when}</time></p>\n"
        ));
        let text = content(message);
        if !text.is_empty() {
            out.push_str(&format!("<pre>{}</pre>\n", escaped(&text)));
        }
        for (name, arguments) in calls(message) {
            out.push_str(&format!(
                "<p>calls <code>{}</code></p>\n<pre>{}</pre>\n",
                escaped(name),
                escaped(arguments)
            ));
        }
        out.push_str("</article>\n");
    }
    out
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c => out.push(c),
        }
    }
    out
}

/// Each message points to the one before it.
fn trace(session: &Value) -> String {
    let id = text_at(session, "id");
    let model = match text_at(session, "model") {
        "" => "unknown",
        model => model,
    };
    let mut out = String::new();
    let mut parent = Value::Null;
    for (at, message) in messages(session).enumerate() {
        let role = text_at(message, "role");
        if role == "system" {
            continue;
        }
        let own = json!(trace_id(id, at));
        let (kind, body) = match role {
            "assistant" => (
                "assistant",
                json!({"role": "assistant", "model": model, "content": answer_blocks(message)}),
            ),
            "tool" => {
                let call = match text_at(message, "tool_call_id") {
                    "" => "tool",
                    call => call,
                };
                let result = json!({
                    "type": "tool_result", "tool_use_id": call, "content": content(message),
                });
                ("user", json!({"role": "user", "content": [result]}))
            }
            _ => ("user", json!({"role": "user", "content": content(message)})),
        };
        let line = json!({
            "parentUuid": parent,
            "isSidechain": false,
            "userType": "external",
            "cwd": text_at(session, "cwd"),
            "sessionId": id,
            "version": COMPATIBLE,
            "gitBranch": text_at(session, "git_branch"),
            "uuid": own,
            "timestamp": time(&message["timestamp"]),
            "type": kind,
            "message": body,
        });
        out.push_str(&format!("{line}\n"));
        parent = own;
    }
    out
}

fn answer_blocks(message: &Value) -> Vec<Value> {
    let text = content(message);
    let mut blocks = Vec::new();
    let called = message["tool_calls"].as_array();
    if !text.is_empty() || called.is_none_or(Vec::is_empty) {
        blocks.push(json!({"type": "text", "text": text}));
    }
    for call in called.into_iter().flatten() {
        let function = &call["function"];
        let raw = text_at(function, "arguments");
        let input = match serde_json::from_str::<Value>(raw) {
            Ok(input @ Value::Object(_)) => input,
            _ if raw.trim().is_empty() => Value::Object(Map::new()),
            _ => json!({"_raw": raw}),
        };
        blocks.push(json!({
            "type": "tool_use", "id": call["id"], "name": function["name"], "input": input,
        }));
    }
    blocks
}

/// An id of the wanted shape that is the same in every export.
fn trace_id(session: &str, at: usize) -> String {
    let half = |salt: u8| {
        let mut hasher = DefaultHasher::new();
        (salt, session, at).hash(&mut hasher);
        hasher.finish()
    };
    let hex = format!("{:016x}{:016x}", half(0), half(1));
    let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default();
    format!(
        "{}-{}-4{}-8{}-{}",
        part(0, 8),
        part(8, 12),
        part(13, 16),
        part(17, 20),
        part(20, 32)
    )
}
