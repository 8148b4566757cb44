//! Extracts message and codes from the many forms of provider errors.

use serde_json::Value;

use crate::lenient_json::parse_lenient;

/// Maximum characters of a message.
const MAX_MESSAGE: usize = 400;

/// Maximum nesting of errors that is followed.
const MAX_DEPTH: usize = 8;

/// Characters of a body that are searched for phrases.
const MAX_SEARCHED: usize = 20_000;

/// An error as text and codes.
#[derive(Debug, Default)]
pub(super) struct ErrorReport {
    /// One line for people.
    pub(super) message: String,
    /// The whole error in lower case, for searching.
    pub(super) all: String,
    /// Codes and types, lower case.
    pub(super) codes: Vec<String>,
    /// The HTTP status named in the error itself.
    pub(super) status: Option<u16>,
    /// The error as data, if it was JSON.
    pub(super) value: Value,
}

impl ErrorReport {
    /// Reads the body of a response.
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

    /// Reads a JSON error: the whole body, or its `error`.
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
        // The error of the provider behind OpenRouter.
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

/// One line for a body that is not JSON.
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

/// The text as one line of bounded length.
fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    hermes_text::one_line(&words.join(" "), MAX_MESSAGE)
}
