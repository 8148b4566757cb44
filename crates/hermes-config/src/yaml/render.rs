//! Values as YAML text that PyYAML and we read back as the same value.

use std::fmt::Write as _;

use serde_json::Value;

use super::scalar::looks_typed;

/// Longest line of a list that is still written as `[…]`.
const FLOW_WIDTH: usize = 72;

/// A value on one line.
pub fn to_flow_text(value: &Value) -> String {
    let mut out = String::new();
    flow(value, &mut out);
    out
}

/// A value as a block of lines, without a final newline; scalars as on one line.
pub fn to_block_text(value: &Value) -> String {
    let mut out = String::new();
    match value {
        Value::Object(map) if !map.is_empty() => block_map(map, 0, &mut out),
        Value::Array(items) if !items.is_empty() => block_list(items, 0, &mut out),
        _ => flow(value, &mut out),
    }
    out.truncate(out.trim_end_matches('\n').len());
    out
}

/// What follows `key:` in a block mapping whose keys stand at `indent`: starts with a space or a
/// newline, ends without one.
pub(super) fn after_colon(value: &Value, indent: usize) -> String {
    let mut out = String::new();
    match value {
        Value::Object(map) if !map.is_empty() => {
            out.push('\n');
            block_map(map, indent + 2, &mut out);
            out.pop();
        }
        Value::Array(items) if !items.is_empty() && !fits_in_flow(value) => {
            out.push('\n');
            block_list(items, indent + 2, &mut out);
            out.pop();
        }
        _ => {
            out.push(' ');
            flow(value, &mut out);
        }
    }
    out
}

fn fits_in_flow(value: &Value) -> bool {
    let Value::Array(items) = value else {
        return false;
    };
    items
        .iter()
        .all(|item| !item.is_object() && !item.is_array())
        && to_flow_text(value).chars().count() <= FLOW_WIDTH
}

fn block_map(map: &serde_json::Map<String, Value>, indent: usize, out: &mut String) {
    for (key, value) in map {
        pad(indent, out);
        out.push_str(&scalar_text(key));
        out.push(':');
        out.push_str(&after_colon(value, indent));
        out.push('\n');
    }
}

fn block_list(items: &[Value], indent: usize, out: &mut String) {
    for item in items {
        pad(indent, out);
        out.push_str("- ");
        match item {
            Value::Object(map) if !map.is_empty() => {
                let mut lines = String::new();
                block_map(map, indent + 2, &mut lines);
                out.push_str(lines.trim_start());
            }
            _ => {
                flow(item, out);
                out.push('\n');
            }
        }
    }
}

fn pad(indent: usize, out: &mut String) {
    out.extend(std::iter::repeat_n(' ', indent));
}

fn flow(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(number) => out.push_str(&number_text(number)),
        Value::String(text) => out.push_str(&scalar_text(text)),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push_str(", ");
                }
                flow(item, out);
            }
            out.push(']');
        }
        Value::Object(map) => {
            out.push('{');
            for (index, (key, item)) in map.iter().enumerate() {
                if index > 0 {
                    out.push_str(", ");
                }
                out.push_str(&scalar_text(key));
                out.push_str(": ");
                flow(item, out);
            }
            out.push('}');
        }
    }
}

/// PyYAML wants a dot in every float and a sign in every exponent.
fn number_text(number: &serde_json::Number) -> String {
    let text = number.to_string();
    if number.is_f64()
        && let Some((mantissa, exponent)) = text.split_once('e')
    {
        let mantissa = if mantissa.contains('.') {
            mantissa.to_owned()
        } else {
            format!("{mantissa}.0")
        };
        let sign = if exponent.starts_with('-') { "" } else { "+" };
        return format!("{mantissa}e{sign}{exponent}");
    }
    text
}

/// A string as a scalar: plain where nobody can misread it, else quoted.
pub(super) fn scalar_text(text: &str) -> String {
    if is_safe_plain(text) {
        text.to_owned()
    } else if text.chars().any(needs_escape) {
        double_quoted(text)
    } else {
        format!("'{}'", text.replace('\'', "''"))
    }
}

/// Plain in block and flow context alike, so that a value can stand anywhere.
fn is_safe_plain(text: &str) -> bool {
    let first_ok = text.starts_with(|c: char| {
        c.is_alphanumeric() || matches!(c, '/' | '_' | '.' | '~' | '$' | '+')
    });
    first_ok
        && !text.ends_with([' ', ':'])
        && !text.contains(": ")
        && !text.contains(" #")
        && !text.contains([',', '[', ']', '{', '}', '"', '\'', '`', '\\'])
        && !text.chars().any(needs_escape)
        && !looks_typed(text)
}

fn needs_escape(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{85}' | '\u{a0}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}'
        )
}

fn double_quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if needs_escape(c) => {
                // Writing to a String cannot fail.
                let _: std::fmt::Result = match u32::from(c) {
                    code if code <= 0xff => write!(out, "\\x{code:02x}"),
                    code if code <= 0xffff => write!(out, "\\u{code:04x}"),
                    code => write!(out, "\\U{code:08x}"),
                };
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
