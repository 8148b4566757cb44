//! Repairs broken JSON in the arguments of tool calls.

use crate::lenient_json::parse_lenient;

/// Surplus closing brackets that may be dropped.
const MAX_SURPLUS: usize = 50;

/// The arguments as valid JSON, or `None` if too much is missing. An unclosed string is not closed:
/// half a command must not run.
pub(crate) fn repair_arguments(text: &str) -> Option<String> {
    let text = text.trim();
    if text.is_empty() || text == "None" || text == "null" {
        return Some("{}".to_owned());
    }
    if parses(text) {
        return Some(text.to_owned());
    }
    if let Some(value) = parse_lenient(text) {
        return Some(value.to_string());
    }
    let escaped = escape_controls(text);
    let mut candidate = strip_trailing_commas(&escaped);
    if parses(&candidate) {
        return Some(candidate);
    }
    let open = open_brackets(&candidate)?;
    if !open.is_empty() {
        candidate = strip_trailing_commas(&format!("{candidate}{open}"));
        return parses(&candidate).then_some(candidate);
    }
    for _ in 0..MAX_SURPLUS {
        let shorter = candidate
            .strip_suffix('}')
            .or_else(|| candidate.strip_suffix(']'))?;
        candidate = String::from(shorter.trim_end());
        if parses(&candidate) {
            return Some(candidate);
        }
    }
    None
}

fn parses(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

/// The characters with whether they are inside a string.
fn with_strings(text: &str) -> impl Iterator<Item = (char, bool)> {
    let mut in_string = false;
    let mut escaped = false;
    text.chars().map(move |c| {
        let was_inside = in_string;
        if in_string {
            if escaped {
                escaped = false;
            } else if c == '\\' {
                escaped = true;
            } else if c == '"' {
                in_string = false;
            }
        } else if c == '"' {
            in_string = true;
        }
        (c, was_inside && in_string)
    })
}

/// Escapes control characters inside strings.
fn escape_controls(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    for (c, inside) in with_strings(text) {
        match c {
            c if !inside || !c.is_control() => result.push(c),
            '\n' => result.push_str("\\n"),
            '\r' => result.push_str("\\r"),
            '\t' => result.push_str("\\t"),
            c if u32::from(c) < 0x20 => result.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => result.push(c),
        }
    }
    result
}

/// Removes commas before a closing bracket or at the end.
fn strip_trailing_commas(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut comma: Option<usize> = None;
    for (c, inside) in with_strings(text) {
        if inside {
            comma = None;
        } else if c == ',' {
            comma = Some(result.len());
        } else if matches!(c, '}' | ']') {
            if let Some(at) = comma.take() {
                result.remove(at);
            }
        } else if !c.is_whitespace() {
            comma = None;
        }
        result.push(c);
    }
    if let Some(at) = comma {
        result.truncate(at);
    }
    result
}

/// The missing closing brackets; `None` inside a string.
fn open_brackets(text: &str) -> Option<String> {
    let mut open = Vec::new();
    let mut quotes_open = false;
    for (c, inside) in with_strings(text) {
        quotes_open = inside || (c == '"' && !quotes_open);
        if inside || c == '"' {
            continue;
        }
        match c {
            '{' => open.push('}'),
            '[' => open.push(']'),
            '}' | ']' if open.last() == Some(&c) => {
                open.pop();
            }
            _ => {}
        }
    }
    (!quotes_open).then(|| open.iter().rev().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valid_arguments_are_unchanged() {
        assert_eq!(
            repair_arguments(r#" {"b": 1, "a": "x\ny"} "#).unwrap(),
            r#"{"b": 1, "a": "x\ny"}"#
        );
        for empty in ["", "  ", "None", "null"] {
            assert_eq!(repair_arguments(empty).unwrap(), "{}");
        }
    }

    #[test]
    fn small_damage_is_repaired() {
        let cases = [
            (r#"{"a": 1,}"#, r#"{"a": 1}"#),
            (r#"{"a": [1, 2,], }"#, r#"{"a": [1, 2] }"#),
            (r#"{"a": [1, {"b": 2"#, r#"{"a": [1, {"b": 2}]}"#),
            (r#"{"a": "x"}}]"#, r#"{"a": "x"}"#),
            ("{\"a\": \"x\ny\"}", "{\"a\": \"x\\ny\"}"),
            (r#"{"a": NaN}"#, r#"{"a":null}"#),
            (r#"{"a": "b,]"},"#, r#"{"a": "b,]"}"#),
        ];
        for (broken, whole) in cases {
            assert_eq!(repair_arguments(broken).as_deref(), Some(whole), "{broken}");
        }
    }

    #[test]
    fn unclosed_string_is_not_completed() {
        for broken in [
            r#"{"command":"tru"#,
            r#"{"command":"rm -rf /tmp/x\"#,
            r#"{"comm"#,
            "<xml/>",
            "{\"a\": 1} trailing words",
        ] {
            assert_eq!(repair_arguments(broken), None, "{broken}");
        }
    }
}
