//! What a provider said, out of the many shapes in which providers say it.

use serde_json::Value;

use crate::wire::parse_lenient;

/// Longest message that is shown.
const MAX_SHOWN: usize = 400;

/// How deep errors are wrapped into each other at most.
const MAX_DEPTH: usize = 8;

/// Most of a body that is searched for words.
const MAX_SEARCHED: usize = 20_000;

/// An error as text and codes.
#[derive(Debug, Default)]
pub(super) struct Report {
    /// For people: one line.
    pub(super) message: String,
    /// Everything in lower case, to search in.
    pub(super) all: String,
    /// Codes and types, lower case.
    pub(super) codes: Vec<String>,
    /// The status that the error itself names.
    pub(super) status: Option<u16>,
    /// The error as data, if it was JSON.
    pub(super) value: Value,
}

impl Report {
    /// From the body of an answer.
    pub(super) fn of_body(body: &str) -> Self {
        match parse_lenient(body) {
            Some(Value::Array(items)) => {
                // Gemini wraps its errors in a list.
                let first = items.into_iter().next().unwrap_or_default();
                Self::of_error(&first)
            }
            Some(value) => Self::of_error(&value),
            None => Self {
                message: plain_line(body),
                all: body
                    .chars()
                    .take(MAX_SEARCHED)
                    .collect::<String>()
                    .to_lowercase(),
                ..Self::default()
            },
        }
    }

    /// From an error as data: the whole body, or its `error`.
    pub(super) fn of_error(value: &Value) -> Self {
        let mut report = Self {
            value: value.clone(),
            ..Self::default()
        };
        report.read(value, 0);
        let raw: String = value.to_string().chars().take(MAX_SEARCHED).collect();
        report.all = format!("{} {raw}", report.message).to_lowercase();
        report.message = one_line(&report.message);
        if report.message.is_empty() {
            report.message = one_line(&raw);
        }
        report
    }

    fn read(&mut self, value: &Value, depth: usize) {
        if depth > MAX_DEPTH {
            return;
        }
        if let Value::String(text) = value {
            match parse_lenient(text).filter(Value::is_object) {
                Some(inner) => self.read(&inner, depth + 1),
                None => self.add_message(text),
            }
            return;
        }
        for key in ["code", "type", "status", "reason", "error_code"] {
            match &value[key] {
                Value::String(code) => self.codes.push(code.to_lowercase()),
                Value::Number(number) => {
                    let status = number.as_u64().and_then(|code| u16::try_from(code).ok());
                    let status = status.filter(|status| (400..600).contains(status));
                    self.status = self.status.or(status);
                }
                _ => {}
            }
        }
        for key in ["error", "message", "detail", "msg"] {
            match &value[key] {
                Value::Null => {}
                Value::Array(items) => {
                    if let Some(first) = items.first() {
                        self.read(first, depth + 1);
                    }
                }
                inner => self.read(inner, depth + 1),
            }
        }
        // What the provider behind OpenRouter said.
        let raw = &value["metadata"]["raw"];
        if !raw.is_null() {
            self.read(raw, depth + 1);
        }
    }

    fn add_message(&mut self, text: &str) {
        let text = text.trim();
        if text.is_empty() || self.message.contains(text) {
            return;
        }
        if !self.message.is_empty() {
            self.message.push_str(": ");
        }
        self.message.push_str(text);
    }
}

/// A text for people out of a body that is no JSON.
fn plain_line(body: &str) -> String {
    let trimmed = body.trim_start();
    if !trimmed.starts_with('<') {
        return one_line(body);
    }
    let lower = trimmed.to_lowercase();
    let title = lower.find("<title>").and_then(|start| {
        let end = lower.find("</title>")?;
        trimmed.get(start + "<title>".len()..end)
    });
    match title.map(one_line).filter(|title| !title.is_empty()) {
        Some(title) => format!("an HTML page titled \"{title}\""),
        None => "an HTML page".to_owned(),
    }
}

/// One line of bounded length.
pub(super) fn one_line(text: &str) -> String {
    let words: Vec<&str> = text
        .split(|c: char| c.is_whitespace() || c.is_control())
        .filter(|word| !word.is_empty())
        .collect();
    let line = words.join(" ");
    if line.chars().count() <= MAX_SHOWN {
        return line;
    }
    let mut cut: String = line.chars().take(MAX_SHOWN).collect();
    cut.push('…');
    cut
}
