//! Arguments of tool calls: mending what models write, and one spelling for what is sent back.

use serde_json::Value;

use super::lenient::parse_lenient;

/// Closers that may be dropped from the end.
const MOST_SURPLUS: usize = 50;

/// The arguments as JSON text that parses, or `None` if too much is missing. A string that was never
/// closed is not closed here: half a command is not a command.
pub(crate) fn repair_arguments(text: &str) -> Option<String> {
    let text = text.trim();
    if text.is_empty() || text == "None" || text == "null" {
        return Some("{}".to_owned());
    }
    if serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok() {
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
    for _ in 0..MOST_SURPLUS {
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

/// JSON text with sorted keys and no spaces, so that the same call is the same bytes in every
/// request; a text that is no JSON comes back as it is.
pub fn canonical_arguments(text: &str) -> String {
    match serde_json::from_str::<Value>(text) {
        Ok(mut value) => {
            value.sort_all_objects();
            value.to_string()
        }
        Err(_) => text.to_owned(),
    }
}

fn parses(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

/// Walks over the characters, telling which are inside of strings.
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

/// Line breaks and the like inside of strings, written as JSON wants them.
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

/// Commas before a closer or at the end.
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

/// What would close the open brackets; `None` inside a string.
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

    fn repaired(text: &str) -> Option<String> {
        repair_arguments(text)
    }

    #[test]
    fn what_parses_stays_as_it_is() {
        assert_eq!(
            repaired(r#" {"b": 1, "a": "x\ny"} "#).unwrap(),
            r#"{"b": 1, "a": "x\ny"}"#
        );
        for empty in ["", "  ", "None", "null"] {
            assert_eq!(repaired(empty).unwrap(), "{}");
        }
    }

    #[test]
    fn small_damage_is_mended() {
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
            assert_eq!(repaired(broken).as_deref(), Some(whole), "{broken}");
        }
    }

    #[test]
    fn half_a_string_is_never_completed() {
        for broken in [
            r#"{"command":"tru"#,
            r#"{"command":"rm -rf /tmp/x\"#,
            r#"{"comm"#,
            "<xml/>",
            "{\"a\": 1} trailing words",
        ] {
            assert_eq!(repaired(broken), None, "{broken}");
        }
    }

    #[test]
    fn the_same_call_is_the_same_bytes() {
        assert_eq!(
            canonical_arguments(r#"{ "b": {"y": 1, "x": 2}, "a": [1, 2] }"#),
            r#"{"a":[1,2],"b":{"x":2,"y":1}}"#
        );
        assert_eq!(canonical_arguments("not json"), "not json");
    }
}
