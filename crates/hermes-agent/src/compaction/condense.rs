//! Condenses old messages without a model: long results become one line, long arguments are
//! shortened, old images are dropped.

use std::collections::HashSet;

use hermes_secret::Redactor;
use hermes_session::{MessageContent, MessageId, MessageRole, SessionMessage};
use serde_json::Value;

/// Results up to this length are unchanged.
const SHORT_RESULT: usize = 200;
/// Arguments up to this length are unchanged.
const SHORT_ARGUMENTS: usize = 500;
/// Maximum length of a string in long arguments.
const SHORT_STRING: usize = 200;
/// Maximum characters of an extract.
const MAX_CHARS: usize = 8_000;
/// Maximum characters of one message.
const MAX_PER_MESSAGE: usize = 300;
/// Equal results of at least this length are kept once.
const WORTH_COMPARING: usize = 200;

/// Replaces all but the newest of equal results by a note.
pub(super) fn without_repeats(messages: &mut [SessionMessage]) {
    let mut seen: HashSet<String> = HashSet::new();
    for message in messages.iter_mut().rev() {
        if message.role != MessageRole::Tool {
            continue;
        }
        let text = message.text();
        if text.chars().count() < WORTH_COMPARING {
            continue;
        }
        if !seen.insert(text) {
            set_text(message, "[The same result appears again later.]".to_owned());
        }
    }
}

/// An old message with a long result condensed to one line and long arguments shortened.
pub(super) fn condensed(message: &SessionMessage, of_call: Option<&Value>) -> SessionMessage {
    let mut short = message.clone();
    if message.role == MessageRole::Tool {
        let text = message.text();
        if text.chars().count() > SHORT_RESULT {
            set_text(&mut short, condensed_result(message, &text, of_call));
        }
    }
    if let Some(calls) = &mut short.tool_calls {
        condense_calls(calls);
    }
    short
}

fn set_text(message: &mut SessionMessage, text: String) {
    message.content = Some(MessageContent::Text(text));
    message.api_content = None;
}

fn condensed_result(message: &SessionMessage, text: &str, of_call: Option<&Value>) -> String {
    let tool = message.tool_name.as_deref().unwrap_or("tool");
    // Notes of the agent or the user may follow the result.
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let result = values.next().and_then(std::result::Result::ok);
    let result = result.unwrap_or_default();
    let mut line = format!("[{tool}");
    if let Some(target) = of_call.and_then(target) {
        line.push_str(&format!(" {target}"));
    }
    if let Some(code) = result.get("exit_code").and_then(Value::as_i64) {
        line.push_str(&format!(", exit code {code}"));
    }
    if let Some(error) = result.get("error").and_then(Value::as_str) {
        line.push_str(&format!(", error: {}", shorten(error, SHORT_STRING)));
    }
    let lines = text.matches("\\n").count() + text.matches('\n').count() + 1;
    line.push_str(&format!(
        ", {} characters in {lines} lines; shortened]",
        text.chars().count()
    ));
    line
}

/// The subject of a call: the first of its telling arguments.
fn target(arguments: &Value) -> Option<String> {
    const TELLING: &[&str] = &["command", "path", "pattern", "query", "url", "goal", "code"];
    let found = TELLING
        .iter()
        .find_map(|name| arguments.get(*name)?.as_str())?;
    let line = found.lines().next().unwrap_or_default();
    Some(format!("`{}`", shorten(line, 120)))
}

fn condense_calls(calls: &mut Value) {
    let Value::Array(calls) = calls else { return };
    for call in calls {
        let Some(arguments) = call.pointer_mut("/function/arguments") else {
            continue;
        };
        let Some(text) = arguments.as_str() else {
            continue;
        };
        if text.chars().count() <= SHORT_ARGUMENTS {
            continue;
        }
        let short = match serde_json::from_str::<Value>(text) {
            Ok(mut value) => {
                shorten_strings(&mut value);
                value.to_string()
            }
            Err(_) => "{}".to_owned(),
        };
        *arguments = Value::String(short);
    }
}

fn shorten_strings(value: &mut Value) {
    match value {
        Value::String(text) if text.chars().count() > SHORT_STRING => {
            *text = shorten(text, SHORT_STRING);
        }
        Value::Array(items) => items.iter_mut().for_each(shorten_strings),
        Value::Object(fields) => fields.values_mut().for_each(shorten_strings),
        _ => {}
    }
}

/// The beginning of a text, with the number of missing characters.
fn shorten(text: &str, max: usize) -> String {
    let total = text.chars().count();
    if total <= max {
        return text.to_owned();
    }
    let start: String = text.chars().take(max).collect();
    format!("{start}… [{} more]", total - max)
}

/// Keeps images, which are expensive to send with every request, only in the newest message of the user that has any.
pub(super) fn without_old_images(messages: &mut [(MessageId, SessionMessage)]) {
    let newest = messages
        .iter()
        .rposition(|(_, message)| message.role == MessageRole::User && has_images(message));
    for (index, (_, message)) in messages.iter_mut().enumerate() {
        if Some(index) != newest && has_images(message) {
            let text = message.text();
            message.content = Some(MessageContent::Text(format!("{text}\n[image omitted]")));
        }
    }
}

fn has_images(message: &SessionMessage) -> bool {
    match &message.content {
        Some(MessageContent::Parts(Value::Array(parts))) => {
            parts.iter().any(|part| part.get("image_url").is_some())
        }
        _ => false,
    }
}

/// The beginnings of the messages, in place of a summary that could not be made. Always the same for
/// the same messages.
pub(super) fn extract(
    messages: &[SessionMessage],
    previous: Option<&str>,
    redactor: &Redactor,
) -> String {
    let mut text = format!(
        "No summary could be made. {} messages are shortened to their beginnings; session_search finds \
         them in full.\n",
        messages.len()
    );
    if let Some(previous) = previous {
        text.push_str(&format!(
            "\nEarlier notes:\n{}\n",
            shorten(previous, MAX_CHARS / 4)
        ));
    }
    text.push('\n');
    let mut left = MAX_CHARS.saturating_sub(text.chars().count());
    let mut lines: Vec<String> = Vec::new();
    // Newest first: they matter most.
    for message in messages.iter().rev() {
        let words = message.text();
        let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
        let calls = message.call_count();
        let who = match &message.role {
            MessageRole::User => "- user",
            MessageRole::Assistant if calls > 0 => &format!("- assistant, {calls} calls"),
            MessageRole::Assistant => "- assistant",
            MessageRole::Tool => "  result",
            MessageRole::System | MessageRole::Other(_) => continue,
        };
        let line = format!("{who}: {}", shorten(&words, MAX_PER_MESSAGE));
        let length = line.chars().count() + 1;
        if length > left {
            break;
        }
        left -= length;
        lines.push(line);
    }
    lines.reverse();
    text.push_str(&lines.join("\n"));
    redactor.redact(&text).into_owned()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    #[test]
    fn long_result_becomes_one_line() {
        let text = json!({"output": "a\n".repeat(500), "exit_code": 2, "error": null}).to_string();
        let message = SessionMessage::tool_result("c", "terminal", text.clone());
        let short = condensed(&message, Some(&json!({"command": "make all\nx"})));
        assert_eq!(
            short.text(),
            format!(
                "[terminal `make all`, exit code 2, {} characters in 501 lines; shortened]",
                text.len()
            )
        );
        let noted =
            SessionMessage::tool_result("c", "terminal", format!("{text}\n\n[loop guard: x]"));
        assert!(condensed(&noted, None).text().contains("exit code 2"));
        let brief = SessionMessage::tool_result("c", "terminal", "ok");
        assert_eq!(condensed(&brief, None), brief);
    }

    #[test]
    fn long_arguments_are_shortened_and_stay_json() {
        let arguments = json!({"path": "a", "content": "x".repeat(5_000)}).to_string();
        let message = SessionMessage {
            tool_calls: Some(
                json!([{"id": "c", "function": {"name": "write_file", "arguments": arguments}}]),
            ),
            ..SessionMessage::new(MessageRole::Assistant)
        };
        let short = condensed(&message, None);
        let calls = short.tool_calls.unwrap();
        let text = calls[0]["function"]["arguments"].as_str().unwrap();
        let parsed: Value = serde_json::from_str(text).unwrap();
        assert_eq!(parsed["path"], json!("a"));
        assert!(text.len() < 300, "{text}");
    }

    #[test]
    fn newest_of_equal_results_is_kept() {
        let long = "y".repeat(300);
        let mut messages = vec![
            SessionMessage::tool_result("1", "read_file", long.clone()),
            SessionMessage::tool_result("2", "read_file", "short"),
            SessionMessage::tool_result("3", "read_file", long.clone()),
        ];
        without_repeats(&mut messages);
        assert!(messages[0].text().starts_with("[The same result"));
        assert_eq!(messages[1].text(), "short");
        assert_eq!(messages[2].text(), long);
    }

    #[test]
    fn only_the_newest_image_is_kept() {
        let image = |text: &str| {
            let parts = json!([{"type": "text", "text": text}, {"image_url": {"url": "data:"}}]);
            SessionMessage::user(MessageContent::Parts(parts))
        };
        let mut messages = vec![
            (MessageId(1), image("old")),
            (MessageId(2), image("new")),
            (MessageId(3), SessionMessage::user("words")),
        ];
        without_old_images(&mut messages);
        assert_eq!(messages[0].1.content, Some("old\n[image omitted]".into()));
        assert_eq!(messages[1].1, image("new"));
        assert_eq!(messages[2].1, SessionMessage::user("words"));
    }

    #[test]
    fn extract_is_short_and_keeps_the_newest() {
        let messages: Vec<SessionMessage> = (0..500)
            .map(|n| SessionMessage::user(format!("message {n} {}", "x".repeat(1_000))))
            .collect();
        let redactor = Redactor::new(std::iter::empty::<String>());
        let text = extract(&messages, Some(&"p".repeat(50_000)), &redactor);
        assert!(
            text.chars().count() <= MAX_CHARS + 100,
            "{}",
            text.chars().count()
        );
        assert!(text.contains("message 499 ") && !text.contains("message 0 "));
        assert_eq!(
            text,
            extract(&messages, Some(&"p".repeat(50_000)), &redactor)
        );
    }
}
