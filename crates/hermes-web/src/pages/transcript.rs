//! What was said in one conversation, and its export.

use askama::Template;
use axum::body::Body;
use axum::response::Response;
use hyper::header::{self, HeaderValue};
use serde::Deserialize;
use serde_json::{Value, json};

use super::frame::{self, html_with, now};
use super::sessions::SessionRow;
use super::shell::{Shell, Trouble};
use super::shown::segment;
use super::source::Source;
use crate::call::{Answered, Call};
use crate::http::ApiError;

/// Messages on a page, the newest.
const MOST_MESSAGES: usize = 500;
/// Longest text of one message on a page, in bytes.
const MOST_TEXT: usize = 40_000;
/// Longest line beside a folded call.
const MOST_PREVIEW: usize = 140;

#[derive(Template)]
#[template(path = "transcript.html")]
struct TranscriptPage {
    shell: Shell,
    trouble: Option<Trouble>,
    session: Option<SessionRow>,
    href: String,
    messages: Vec<Message>,
    cut_note: Option<String>,
    now: i64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct MessagesAnswer {
    messages: Vec<Value>,
}

/// A message as pages show it.
pub(super) struct Message {
    pub(super) key: String,
    role: String,
    tool: Option<String>,
    pub(super) text: String,
    pub(super) images: Vec<String>,
    pub(super) calls: Vec<ToolCall>,
}

pub(super) struct ToolCall {
    pub(super) name: String,
    pub(super) arguments: String,
}

impl ToolCall {
    pub(super) fn preview(&self) -> String {
        one_line(&self.arguments)
    }
}

impl Message {
    fn read(index: usize, value: &Value) -> Self {
        let mut images = Vec::new();
        let text = text_of(&value["content"], &mut images);
        let calls = match &value["tool_calls"] {
            Value::Array(calls) => calls.clone(),
            Value::String(text) => serde_json::from_str(text).unwrap_or_default(),
            _ => Vec::new(),
        };
        let key = value["id"].as_i64().map(|id| id.to_string());
        Self {
            key: key.unwrap_or_else(|| format!("n{index}")),
            role: value["role"].as_str().unwrap_or("unknown").to_owned(),
            tool: value["tool_name"].as_str().map(str::to_owned),
            text: bounded(&text),
            images,
            calls: calls.iter().map(tool_call).collect(),
        }
    }

    pub(super) fn role_class(&self) -> &'static str {
        match self.role.as_str() {
            "user" => "user",
            "assistant" => "assistant",
            "tool" => "tool",
            _ => "other",
        }
    }

    pub(super) fn is_of_user(&self) -> bool {
        self.role == "user"
    }

    pub(super) fn is_tool(&self) -> bool {
        self.role == "tool"
    }

    pub(super) fn by(&self) -> &str {
        match self.role.as_str() {
            "user" => "You",
            "assistant" => "Hermes",
            other => other,
        }
    }

    pub(super) fn tool_label(&self) -> String {
        match &self.tool {
            Some(tool) => format!("Result of {tool}"),
            None => "Result".to_owned(),
        }
    }

    pub(super) fn preview(&self) -> String {
        one_line(&self.text)
    }
}

fn tool_call(value: &Value) -> ToolCall {
    let function = &value["function"];
    let name = function["name"].as_str().or(value["name"].as_str());
    let arguments = match &function["arguments"] {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    };
    ToolCall {
        name: name.unwrap_or("tool").to_owned(),
        arguments: bounded(&arguments),
    }
}

/// The text of a message; images are named and not shown, since they may be large.
fn text_of(content: &Value, images: &mut Vec<String>) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let mut texts = Vec::new();
            for part in parts {
                if let Some(text) = part["text"].as_str() {
                    texts.push(text.to_owned());
                } else if let Some(kind) = part["type"].as_str() {
                    images.push(kind.replace('_', " "));
                }
            }
            texts.join("\n")
        }
        _ => String::new(),
    }
}

fn bounded(text: &str) -> String {
    let kept = hermes_text::cut(text, MOST_TEXT);
    if kept.len() == text.len() {
        return kept.to_owned();
    }
    format!(
        "{kept}\n… ({} further bytes; the export has all of it)",
        text.len() - kept.len()
    )
}

fn one_line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    hermes_text::cut(&line, MOST_PREVIEW).to_owned()
}

/// The newest messages of a conversation, and how many there are.
pub(super) async fn messages(
    source: &Source,
    session: &str,
) -> Result<(Vec<Message>, usize), Trouble> {
    let path = format!("/api/sessions/{}/messages", segment(session));
    let answer: MessagesAnswer = source.get(&path).await?;
    let total = answer.messages.len();
    let read = answer.messages.iter().enumerate();
    let read = read
        .skip(total.saturating_sub(MOST_MESSAGES))
        .filter(|(_, value)| value["role"] != "system")
        .map(|(index, value)| Message::read(index, value));
    Ok((read.collect(), total))
}

pub(super) async fn page(call: Call) -> Answered {
    let source = Source::of(&call);
    let id = call.param("id").to_owned();
    let session: Result<SessionRow, Trouble> =
        source.get(&format!("/api/sessions/{}", segment(&id))).await;
    let (session, mut trouble) = match session {
        Ok(session) => (Some(session), None),
        Err(trouble) => (None, Some(trouble)),
    };
    let (shown, total) = match session {
        Some(_) => messages(&source, &id).await.unwrap_or_else(|reason| {
            trouble = Some(reason);
            (Vec::new(), 0)
        }),
        None => (Vec::new(), 0),
    };
    let title = session.as_ref().map_or("Session", |session| session.name());
    let mut shell = frame::shell(&call, title, "sessions");
    shell.body = "text";
    shell.refresh = session.as_ref().map(|_| 5);
    let status = if session.is_some() { 200 } else { 404 };
    let page = TranscriptPage {
        shell,
        trouble,
        href: segment(&id),
        session,
        cut_note: (total > MOST_MESSAGES).then(|| {
            format!("The newest {MOST_MESSAGES} of {total} messages; the export has all of them.")
        }),
        messages: shown,
        now: now(),
    };
    html_with(status, &page)
}

/// The whole conversation as a file of JSON.
pub(super) async fn export(call: Call) -> Answered {
    let source = Source::of(&call);
    let id = call.param("id").to_owned();
    let own = format!("/api/sessions/{}", segment(&id));
    let missing = |trouble: Trouble| ApiError::not_found(trouble.detail);
    let session: Value = source.get(&own).await.map_err(missing)?;
    let messages: MessagesAnswer = source
        .get(&format!("{own}/messages"))
        .await
        .map_err(missing)?;
    let file = json!({"session": session, "messages": messages.messages});
    let text =
        serde_json::to_vec_pretty(&file).map_err(|error| ApiError::internal(error.to_string()))?;
    let mut response = Response::new(Body::from(text));
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/json"),
    );
    let safe: String = id
        .chars()
        .filter(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_'))
        .take(80)
        .collect();
    let name = format!("attachment; filename=\"session-{safe}.json\"");
    if let Ok(name) = HeaderValue::from_str(&name) {
        headers.insert(header::CONTENT_DISPOSITION, name);
    }
    Ok(response)
}
