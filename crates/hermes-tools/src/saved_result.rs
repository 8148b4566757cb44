//! Saving results that are too long for a conversation, as text that `read_file` can page through.
//!
//! The write guard is not asked: the directory is private to the program and no call chooses it.

use std::path::PathBuf;

use serde_json::Value;

use crate::filesystem::ResultToSave;
use crate::tool::CallContext;

/// A value whose JSON is no longer than this is written on one line.
const MAX_INLINE_CHARS: usize = 300;
/// Longer lines are folded: `read_file` cuts lines that are longer still.
const MAX_LINE_CHARS: usize = 1_500;
/// Characters of a name that are kept.
const MAX_NAME_CHARS: usize = 80;

/// Saves a text in a temporary file where the session works. `call` is the id of the tool call, which
/// need not be unique. Returns the path; the error is a sentence.
pub fn keep_result(call: &str, text: &str, context: &CallContext) -> Result<PathBuf, String> {
    let session = context.conversation.session_id.as_ref();
    let session = session.unwrap_or(&context.session_key);
    let result = ResultToSave {
        directory: safe_name(session),
        file: format!("{}-{}.txt", safe_name(call), hermes_fs::random_hex(8)),
        text,
    };
    let files = context.filesystem.operations();
    files.save(&result, context.file_call())
}

/// A name of letters, digits, `_` and `-`.
fn safe_name(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let letters = name.chars().map(|c| if is_plain(c) { c } else { '_' });
    let name: String = letters.take(MAX_NAME_CHARS).collect();
    if name.is_empty() {
        "_".to_owned()
    } else {
        name
    }
}

/// A result as readable lines: JSON is laid out, long strings in it become plain text, and long lines
/// are folded.
pub fn readable(result: &str) -> String {
    let mut out = String::with_capacity(result.len() + result.len() / 8);
    for line in result.lines() {
        let is_json = line.starts_with(['{', '[']);
        match serde_json::from_str::<Value>(line) {
            Ok(value) if is_json => lay_out("", &value, &mut out),
            _ => fold(line, &mut out),
        }
    }
    out
}

/// Writes `name: value`, or the parts of the value as `name.part`.
fn lay_out(name: &str, value: &Value, out: &mut String) {
    if let Value::String(text) = value
        && (text.len() > MAX_INLINE_CHARS || text.contains('\n'))
    {
        fold(&format!("{name}:"), out);
        text.lines().for_each(|line| fold(line, out));
        fold(&format!("(end of {name})"), out);
        return;
    }
    let short = value.to_string();
    if short.len() <= MAX_INLINE_CHARS && !name.is_empty() {
        return fold(&format!("{name}: {short}"), out);
    }
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            let dot = if name.is_empty() { "" } else { "." };
            for (field, value) in fields {
                lay_out(&format!("{name}{dot}{field}"), value, out);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for (index, item) in items.iter().enumerate() {
                lay_out(&format!("{name}[{index}]"), item, out);
            }
        }
        _ => fold(&short, out),
    }
}

/// Writes a line, as several where it is too long.
fn fold(line: &str, out: &mut String) {
    let mut width = 0;
    for c in line.chars() {
        if width == MAX_LINE_CHARS {
            out.push('\n');
            width = 0;
        }
        out.push(c);
        width += 1;
    }
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    #[test]
    fn what_was_one_line_of_json_has_lines_again() {
        let log: Vec<String> = (0..200).map(|n| format!("line {n}")).collect();
        let log = log.join("\n");
        let result = json!({"exit_code": 0, "output": log, "error": null}).to_string();
        let text = readable(&format!("{result}\n\n[a note]"));
        let lines: Vec<&str> = text.lines().collect();
        for expected in [
            "exit_code: 0",
            "error: null",
            "output:",
            "line 7",
            "[a note]",
        ] {
            assert!(lines.contains(&expected), "{expected}: {text}");
        }
        let matches: Vec<Value> = (0..50).map(|n| json!({"path": "a", "line": n})).collect();
        let text = readable(&json!({"matches": matches, "none": []}).to_string());
        assert!(
            text.contains("matches[7]: {\"path\":\"a\",\"line\":7}\n"),
            "{text}"
        );
        assert!(text.contains("none: []\n"));
    }

    #[test]
    fn no_line_is_too_long_and_no_character_is_lost() {
        let long = "é".repeat(10_000);
        let text = readable(&json!({"a": {"b": long}}).to_string());
        assert!(text.starts_with("a.b:\n"));
        assert!(
            text.lines()
                .all(|line| line.chars().count() <= MAX_LINE_CHARS)
        );
        assert_eq!(text.matches('é').count(), 10_000);
        assert_eq!(readable("{no json\n"), "{no json\n");
        assert_eq!(readable("{}"), "{}\n");
    }

    #[test]
    fn names_are_no_paths() {
        assert_eq!(safe_name("../a b/é"), "___a_b__");
        assert_eq!(safe_name(""), "_");
        assert_eq!(safe_name(&"x".repeat(500)).len(), MAX_NAME_CHARS);
    }
}
