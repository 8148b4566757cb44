//! What `${NAME…}` makes of a value that is known: parts taken off, replaced, or in another case.

use crate::escapes::decode_escapes;
use crate::glob::{self, Case};

/// Longest value that patterns are tried on; each place of it is tried.
const MAX_VALUE: usize = 128;

/// What changing a value costs of the budget: a replacement tries every part of it, the others every
/// end.
pub(crate) fn cost(value: &str, operator: &str) -> usize {
    if operator.starts_with('/') {
        value.len().min(MAX_VALUE).pow(2) / 4
    } else {
        value.len().min(MAX_VALUE) * 4
    }
}

/// A value as the operator behind its name changes it; `None` for an operator or a size that is not
/// followed. `operator` is everything between the name and the closing brace.
pub(crate) fn changed(value: &str, operator: &str) -> Option<String> {
    if value.len() > MAX_VALUE || operator.len() > MAX_VALUE {
        return None;
    }
    let chars: Vec<char> = value.chars().collect();
    if let Some(letter) = operator.strip_prefix('@') {
        return match letter {
            "U" => Some(value.to_uppercase()),
            "u" => Some(in_case(&chars, "?", 1, upper)),
            "L" => Some(value.to_lowercase()),
            "E" => Some(decode_escapes(value)),
            "Q" | "P" => Some(value.to_owned()),
            _ => None,
        };
    }
    // The longer operator first: `##` begins with `#`.
    let cases: [CaseChange; 4] = [
        ("^^", usize::MAX, upper),
        ("^", 1, upper),
        (",,", usize::MAX, lower),
        (",", 1, lower),
    ];
    for (sign, count, change) in cases {
        if let Some(pattern) = operator.strip_prefix(sign) {
            let pattern = pattern_of(pattern);
            let pattern = if pattern.is_empty() { "?" } else { &pattern };
            return Some(in_case(&chars, pattern, count, change));
        }
    }
    for (sign, front, longest) in [
        ("##", true, true),
        ("#", true, false),
        ("%%", false, true),
        ("%", false, false),
    ] {
        if let Some(pattern) = operator.strip_prefix(sign) {
            return Some(taken_off(&chars, &pattern_of(pattern), front, longest));
        }
    }
    let replaced = operator.strip_prefix('/')?;
    let (anchor, rest) = match replaced.chars().next() {
        Some(anchor @ ('/' | '#' | '%')) => (Some(anchor), replaced.get(1..)?),
        _ => (None, replaced),
    };
    let (pattern, replacement) = split_pattern(rest);
    Some(replace(
        &chars,
        &pattern_of(pattern),
        &pattern_of(replacement),
        anchor,
    ))
}

/// An operator, how many characters it changes, and how.
type CaseChange = (&'static str, usize, fn(char) -> char);

fn upper(c: char) -> char {
    c.to_uppercase().next().unwrap_or(c)
}

fn lower(c: char) -> char {
    c.to_lowercase().next().unwrap_or(c)
}

fn in_case(chars: &[char], pattern: &str, count: usize, change: fn(char) -> char) -> String {
    let change = |(at, &c): (usize, &char)| {
        let met = at < count && glob::matches(pattern, c.encode_utf8(&mut [0; 4]), Case::Sensitive);
        if met { change(c) } else { c }
    };
    chars.iter().enumerate().map(change).collect()
}

fn text(chars: &[char], from: usize, to: usize) -> String {
    chars.get(from..to).unwrap_or_default().iter().collect()
}

fn taken_off(chars: &[char], pattern: &str, front: bool, longest: bool) -> String {
    let length = chars.len();
    let fits = |size: &usize| {
        let part = if front {
            text(chars, 0, *size)
        } else {
            text(chars, length - size, length)
        };
        glob::matches(pattern, &part, Case::Sensitive)
    };
    let size = if longest {
        (0..=length).rev().find(fits)
    } else {
        (0..=length).find(fits)
    };
    let size = size.unwrap_or(0);
    if front {
        text(chars, size, length)
    } else {
        text(chars, 0, length - size)
    }
}

fn replace(chars: &[char], pattern: &str, replacement: &str, anchor: Option<char>) -> String {
    let length = chars.len();
    let fits = |from: usize, to: usize| {
        to > from && glob::matches(pattern, &text(chars, from, to), Case::Sensitive)
    };
    let mut out = String::new();
    let mut at = 0;
    while at < length {
        let end = match anchor {
            Some('%') => fits(at, length).then_some(length),
            Some('#') if at > 0 => None,
            _ => (at + 1..=length).rev().find(|&end| fits(at, end)),
        };
        match end {
            Some(end) => {
                out.push_str(replacement);
                at = end;
                if anchor != Some('/') {
                    break;
                }
            }
            None => {
                out.extend(chars.get(at));
                at += 1;
            }
        }
    }
    out + &text(chars, at, length)
}

/// Pattern and replacement, parted by the first slash that is not escaped.
fn split_pattern(text: &str) -> (&str, &str) {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '/' => {
                let (pattern, rest) = text.split_at(at);
                return (pattern, rest.get(1..).unwrap_or_default());
            }
            _ => {}
        }
    }
    (text, "")
}

/// A pattern without its quotes and backslashes. A quoted star is taken for a star; that shows more
/// than there is, never less.
fn pattern_of(text: &str) -> String {
    text.replace(['\\', '\'', '"'], "")
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn operators_change_values_as_the_shell_does() {
        for (value, operator, expected) in [
            ("rmx", "%x", Some("rm")),
            ("a/b/c", "%/*", Some("a/b")),
            ("a/b/c", "%%/*", Some("a")),
            ("a/b/c", "#*/", Some("b/c")),
            ("a/b/c", "##*/", Some("c")),
            ("rm", "%x", Some("rm")),
            ("xm", "/x/r", Some("rm")),
            ("xmx", "//x/r", Some("rmr")),
            ("xmx", "/#x/r", Some("rmx")),
            ("xmx", "/%x/r", Some("xmr")),
            ("axm", "/#x/r", Some("axm")),
            ("rxxm", "/x*x", Some("rm")),
            ("r/m", "/\\/", Some("rm")),
            ("r_m", "/'_'/", Some("rm")),
            ("RM", ",,", Some("rm")),
            ("RM", ",", Some("rM")),
            ("RM", ",,[R]", Some("rM")),
            ("rm", "^^", Some("RM")),
            ("rm", "^", Some("Rm")),
            ("RM", "@L", Some("rm")),
            ("rm", "@u", Some("Rm")),
            ("\\x72m", "@E", Some("rm")),
            ("rm", "@A", None),
            ("", "%x", Some("")),
            ("", "//x/r", Some("")),
        ] {
            let found = changed(value, operator);
            assert_eq!(found.as_deref(), expected, "{value} {operator}");
        }
    }

    #[test]
    fn long_values_are_left_alone() {
        assert_eq!(changed(&"a".repeat(MAX_VALUE + 1), "%a"), None);
    }
}
