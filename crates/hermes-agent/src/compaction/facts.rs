//! Long results as one line of facts, and long arguments cut, for messages that are past.

use std::collections::HashSet;

use hermes_session::{Content, Message, Role};
use serde_json::Value;

/// Results up to this are left as they are.
const SHORT_RESULT: usize = 200;
/// Arguments up to this are left as they are.
const SHORT_ARGUMENTS: usize = 500;
/// What is left of a long string within them.
const SHORT_STRING: usize = 200;
/// Equal results from this length on are kept once.
const WORTH_COMPARING: usize = 200;

/// The messages, with all but the newest of equal results replaced by a note.
pub(super) fn without_repeats(messages: &mut [Message]) {
    let mut seen: HashSet<String> = HashSet::new();
    for message in messages.iter_mut().rev() {
        if message.role != Role::Tool {
            continue;
        }
        let text = message.text();
        if text.chars().count() < WORTH_COMPARING {
            continue;
        }
        if !seen.insert(text) {
            set_text(
                message,
                "[The same result came again later and is kept there.]".to_owned(),
            );
        }
    }
}

/// A message that is past: a long result becomes facts, long arguments are cut.
pub(super) fn condensed(message: &Message, of_call: Option<&Value>) -> Message {
    let mut short = message.clone();
    if message.role == Role::Tool {
        let text = message.text();
        if text.chars().count() > SHORT_RESULT {
            set_text(&mut short, facts(message, &text, of_call));
        }
    }
    if let Some(calls) = &mut short.tool_calls {
        condense_calls(calls);
    }
    short
}

fn set_text(message: &mut Message, text: String) {
    message.content = Some(Content::Text(text));
    message.api_content = None;
}

fn facts(message: &Message, text: &str, of_call: Option<&Value>) -> String {
    let tool = message.tool_name.as_deref().unwrap_or("tool");
    // Notes of the agent or of the person may follow the result.
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let result = values.next().and_then(std::result::Result::ok);
    let result = result.unwrap_or_default();
    let mut facts = format!("[{tool}");
    if let Some(target) = of_call.and_then(target) {
        facts.push_str(&format!(" {target}"));
    }
    if let Some(code) = result.get("exit_code").and_then(Value::as_i64) {
        facts.push_str(&format!(", exit code {code}"));
    }
    if let Some(error) = result.get("error").and_then(Value::as_str) {
        facts.push_str(&format!(", error: {}", cut(error, SHORT_STRING)));
    }
    let lines = text.matches("\\n").count() + text.matches('\n').count() + 1;
    facts.push_str(&format!(
        ", {} characters in {lines} lines; shortened]",
        text.chars().count()
    ));
    facts
}

/// What a call was about: the first argument that says so.
fn target(arguments: &Value) -> Option<String> {
    const TELLING: &[&str] = &["command", "path", "pattern", "query", "url", "goal", "code"];
    let found = TELLING
        .iter()
        .find_map(|name| arguments.get(*name)?.as_str())?;
    let line = found.lines().next().unwrap_or_default();
    Some(format!("`{}`", cut(line, 120)))
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
                shorten(&mut value);
                value.to_string()
            }
            Err(_) => "{}".to_owned(),
        };
        *arguments = Value::String(short);
    }
}

fn shorten(value: &mut Value) {
    match value {
        Value::String(text) if text.chars().count() > SHORT_STRING => {
            *text = cut(text, SHORT_STRING);
        }
        Value::Array(items) => items.iter_mut().for_each(shorten),
        Value::Object(fields) => fields.values_mut().for_each(shorten),
        _ => {}
    }
}

/// The beginning of a text, saying how much is missing.
pub(super) fn cut(text: &str, most: usize) -> String {
    let total = text.chars().count();
    if total <= most {
        return text.to_owned();
    }
    let start: String = text.chars().take(most).collect();
    format!("{start}… [{} more]", total - most)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_long_result_becomes_facts() {
        let text = json!({"output": "a\n".repeat(500), "exit_code": 2, "error": null}).to_string();
        let message = Message::tool_result("c", "terminal", text.clone());
        let short = condensed(&message, Some(&json!({"command": "make all\nx"})));
        assert_eq!(
            short.text(),
            format!(
                "[terminal `make all`, exit code 2, {} characters in 501 lines; shortened]",
                text.len()
            )
        );
        let noted = Message::tool_result("c", "terminal", format!("{text}\n\n[loop guard: x]"));
        assert!(condensed(&noted, None).text().contains("exit code 2"));
        let brief = Message::tool_result("c", "terminal", "ok");
        assert_eq!(condensed(&brief, None), brief);
    }

    #[test]
    fn long_arguments_are_cut_and_still_json() {
        let arguments = json!({"path": "a", "content": "x".repeat(5_000)}).to_string();
        let message = Message::calls(
            None,
            json!([{"id": "c", "function": {"name": "write_file", "arguments": arguments}}]),
        );
        let short = condensed(&message, None);
        let calls = short.tool_calls.unwrap();
        let text = calls[0]["function"]["arguments"].as_str().unwrap();
        let parsed: Value = serde_json::from_str(text).unwrap();
        assert_eq!(parsed["path"], json!("a"));
        assert!(text.len() < 300, "{text}");
    }

    #[test]
    fn of_equal_results_the_newest_stays() {
        let long = "y".repeat(300);
        let mut messages = vec![
            Message::tool_result("1", "read_file", long.clone()),
            Message::tool_result("2", "read_file", "short"),
            Message::tool_result("3", "read_file", long.clone()),
        ];
        without_repeats(&mut messages);
        assert!(messages[0].text().starts_with("[The same result"));
        assert_eq!(messages[1].text(), "short");
        assert_eq!(messages[2].text(), long);
    }
}
