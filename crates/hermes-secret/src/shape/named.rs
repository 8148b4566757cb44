//! Values whose name gives them away: `NAME=value`, JSON fields, headers, YAML lines, command line
//! flags, query and form parameters.
//!
//! With `=` or a quoted name the value is masked whatever it looks like. After a bare `name: ` it
//! must look like a secret too, because prose is full of `token: expired`.

use super::bytes::{at, before, is_blank, run, run_back};
use super::form::is_form_body;
use super::template::is_template;
use super::{Mask, Span};
use crate::Sink;
use crate::mask::is_masked;
use crate::name::is_secret_name;

/// Longest name that is looked at, to each side of the trigger.
const LONGEST_NAME_HALF: usize = 64;

/// Words that are no secret even where one is expected.
const PLAIN_WORDS: &[&str] = &[
    "true", "false", "none", "null", "nil", "yes", "no", "on", "off", "set", "unset", "missing",
    "required", "optional", "empty",
];

/// Parameters that are secret in a query or form only; elsewhere their names mean anything.
const PARAMETERS: &[&str] = &["key", "sig", "signature", "x-amz-signature", "code", "jwt"];

/// Schemes of an `Authorization` header with one credential after them.
const SCHEMES: &[&str] = &["bearer", "basic", "token", "bot", "apikey", "key", "oauth"];

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
}

/// Looks at the name around the trigger at `start..end` and adds the place of its value. Gives back
/// where the name ends.
pub(super) fn value_of_name(
    text: &str,
    start: usize,
    end: usize,
    sink: Sink,
    spans: &mut Vec<Span>,
) -> usize {
    let bytes = text.as_bytes();
    let name_start = run_back(bytes, start, LONGEST_NAME_HALF, is_name);
    let name_end = run(bytes, end, is_name).min(end + LONGEST_NAME_HALF);
    let raw = text.get(name_start..name_end).unwrap_or_default();
    let name = raw.trim_start_matches('-');
    let flag = raw.len() > name.len();
    // Most hits are words of prose; what follows tells so before the name is taken apart.
    let next = run(bytes, name_end, |byte| {
        is_blank(byte) || matches!(byte, b'\\' | b'"' | b'\'')
    });
    if !flag && !matches!(at(bytes, next), Some(b'=' | b':')) {
        return name_end;
    }
    let header = HeaderName::of(name);
    let counts = if sink == Sink::Log || is_in_form(text, name_start, next) {
        is_secret_name(name)
    } else if is_parameter(bytes, name_start) {
        false
    } else if sink == Sink::Variables {
        is_secret_name(name)
    } else {
        is_key_header(name) && at(bytes, next) == Some(b':')
    };
    if header.is_some() || counts {
        spans.extend(value(text, name_start, name_end, header, flag));
    }
    name_end
}

/// Whether a name stands where a web address or a form has its parameters.
fn is_parameter(bytes: &[u8], name_start: usize) -> bool {
    matches!(before(bytes, name_start), Some(b'?' | b'&'))
}

/// Whether a name, with what separates it from its value at `next`, stands in the body of a form.
fn is_in_form(text: &str, name_start: usize, next: usize) -> bool {
    at(text.as_bytes(), next) == Some(b'=') && is_form_body(text, name_start)
}

/// Whether a header of this name holds a key and nothing else.
fn is_key_header(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let name = name.strip_prefix("x-").unwrap_or(&name);
    ["api-key", "auth-token", "access-token", "goog-api-key"].contains(&name)
}

/// A query or form parameter, with the trigger at `start..end` ending at its `=`.
pub(super) fn parameter(text: &str, start: usize, end: usize, sink: Sink) -> Option<Span> {
    let bytes = text.as_bytes();
    let name_start = run_back(bytes, start, LONGEST_NAME_HALF, is_name);
    let name = text.get(name_start..end - 1)?;
    if !PARAMETERS.contains(&name.to_ascii_lowercase().as_str()) {
        return None;
    }
    let counts =
        (sink == Sink::Log && is_parameter(bytes, name_start)) || is_form_body(text, name_start);
    counts.then(|| span_of(text, end, bare_end(bytes, end)))?
}

/// Headers whose values have a form of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HeaderName {
    Authorization,
    Cookie,
}

impl HeaderName {
    fn of(name: &str) -> Option<Self> {
        match name.to_ascii_lowercase().as_str() {
            "authorization" | "proxy-authorization" => Some(Self::Authorization),
            "cookie" | "set-cookie" => Some(Self::Cookie),
            _ => None,
        }
    }
}

fn value(
    text: &str,
    name_start: usize,
    name_end: usize,
    header: Option<HeaderName>,
    flag: bool,
) -> Option<Span> {
    let bytes = text.as_bytes();
    let quote = before(bytes, name_start).filter(|byte| matches!(byte, b'"' | b'\''));
    let mut after_name = name_end;
    let mut quoted_name = false;
    if let Some(quote) = quote {
        let close = run(bytes, name_end, |byte| byte == b'\\');
        if at(bytes, close) == Some(quote) {
            quoted_name = true;
            after_name = close + 1;
        }
    }
    let separator = run(bytes, after_name, is_blank);
    let gap = separator > after_name;
    let (mut after, sign) = match at(bytes, separator) {
        Some(sign @ (b'=' | b':')) => (separator + 1, sign),
        // `--api-key VALUE`
        _ if flag && gap && !quoted_name => return loose(text, separator, false),
        _ => return None,
    };
    match (sign, at(bytes, after)) {
        // `==` compares and `::` is a path.
        (b'=', Some(b'=')) | (b':', Some(b':')) => return None,
        (b'=', Some(b'>')) => after += 1,
        _ => {}
    }
    let begin = run(bytes, after, is_blank);
    if let Some((inner, close)) = quoted(bytes, begin) {
        return match header {
            Some(header) => header_value(text, inner, close, header),
            None => span_of(text, inner, close),
        };
    }
    if let Some(header) = header {
        let line_end = run(bytes, begin, |byte| {
            !matches!(byte, b'\n' | b'\r' | b'"' | b'\'' | b'\\')
        });
        return header_value(text, begin, line_end, header);
    }
    if quoted_name {
        let end = run(bytes, begin, |byte| {
            !byte.is_ascii_whitespace() && !matches!(byte, b',' | b'}' | b']' | b'{' | b'[')
        });
        return (end - begin >= 6).then(|| span_of(text, begin, end))?;
    }
    match sign {
        b'=' if gap || begin > after => None,
        b'=' => span_of(text, begin, bare_end(bytes, begin)),
        _ => loose(text, begin, begin == after),
    }
}

/// A value after `name: ` or `--name `: masked if it looks random.
fn loose(text: &str, begin: usize, glued: bool) -> Option<Span> {
    let bytes = text.as_bytes();
    let (begin, end) = quoted(bytes, begin).unwrap_or((begin, bare_end(bytes, begin)));
    let candidate = text.get(begin..end)?;
    if is_masked(candidate) {
        return span_of(text, begin, end);
    }
    let digits = candidate.bytes().any(|byte| byte.is_ascii_digit());
    let letters = candidate.bytes().any(|byte| byte.is_ascii_alphabetic());
    let random = (digits && candidate.len() >= 6) || candidate.len() >= 16;
    // `redis-auth:6379` is a host and its port.
    let random = random && (!glued || (digits && letters && candidate.len() >= 8));
    // `api_key: OPENAI_API_KEY` names the variable.
    let variable = candidate.contains('_')
        && candidate
            .bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_');
    (random && !variable).then(|| span_of(text, begin, end))?
}

/// What of a header's value at `begin..end` is secret.
fn header_value(text: &str, begin: usize, end: usize, header: HeaderName) -> Option<Span> {
    let value = text.get(begin..end)?.trim_end();
    let end = begin + value.len();
    if header == HeaderName::Cookie {
        return (value.contains('=') || is_masked(value)).then(|| span_of(text, begin, end))?;
    }
    let first_end = begin + value.find(char::is_whitespace).unwrap_or(value.len());
    let scheme = text.get(begin..first_end)?.to_ascii_lowercase();
    let credential = run(text.as_bytes(), first_end, is_blank);
    if credential >= end {
        // One word: the credential itself, unless it is prose or a scheme alone.
        return (!SCHEMES.contains(&scheme.as_str())).then(|| loose(text, begin, false))?;
    }
    if !SCHEMES.contains(&scheme.as_str()) {
        if !value.contains('=') {
            return loose(text, begin, false);
        }
        // `Digest username="…", response="…"`: the quotes belong to it, so the line does.
        let line_end = run(text.as_bytes(), credential, |byte| {
            !matches!(byte, b'\n' | b'\r')
        });
        return span_of(text, credential, line_end);
    }
    let credential_end = bare_end(text.as_bytes(), credential).min(end);
    match scheme.as_str() {
        "bearer" | "basic" => span_of(text, credential, credential_end),
        _ => loose(text, credential, false),
    }
}

/// Inside of a quoted string at `begin`, which may itself stand in a string (`\"`). Without a
/// closing quote it ends with the line.
fn quoted(bytes: &[u8], begin: usize) -> Option<(usize, usize)> {
    let open = run(bytes, begin, |byte| byte == b'\\');
    let quote = at(bytes, open).filter(|byte| matches!(byte, b'"' | b'\''))?;
    let nested = open > begin;
    let inner = open + 1;
    let mut index = inner;
    while let Some(byte) = at(bytes, index) {
        match byte {
            b'\n' => break,
            b'\\' if nested && at(bytes, index + 1) == Some(quote) => break,
            b'\\' if !nested && at(bytes, index + 1).is_some_and(|next| next.is_ascii()) => {
                index += 1;
            }
            _ if byte == quote => break,
            _ => {}
        }
        index += 1;
    }
    Some((inner, index.min(bytes.len())))
}

/// End of an unquoted value: a blank, a quote, `&` or a backtick, without closing punctuation.
fn bare_end(bytes: &[u8], begin: usize) -> usize {
    let stop = run(bytes, begin, |byte| {
        !byte.is_ascii_whitespace() && !matches!(byte, b'"' | b'\'' | b'&' | b'`')
    });
    run_back(bytes, stop, stop - begin, |byte| {
        matches!(byte, b',' | b';' | b')' | b'}' | b']' | b'>' | b'\\')
    })
}

/// The place, unless nothing there needs a mask.
///
/// The ends are shown only of what is one token: of a pass phrase they say too much, and an
/// unquoted value may be a short secret with the next field glued to it.
pub(super) fn span_of(text: &str, begin: usize, end: usize) -> Option<Span> {
    let value = text.get(begin..end)?;
    if value.is_empty() || is_placeholder(value) {
        return None;
    }
    if is_masked(value) {
        return Some(Span {
            start: begin,
            end,
            mask: Mask::Present,
        });
    }
    let one_token = value.bytes().all(|byte| {
        byte.is_ascii_alphanumeric()
            || matches!(byte, b'_' | b'-' | b'.' | b'/' | b'+' | b'=' | b'~' | b':')
    });
    Some(Span {
        start: begin,
        end,
        mask: if one_token { Mask::Log } else { Mask::Full },
    })
}

/// Whether a value is a reference to another one or a word such as `none`.
fn is_placeholder(value: &str) -> bool {
    let plain = PLAIN_WORDS
        .iter()
        .any(|word| word.eq_ignore_ascii_case(value));
    plain || is_template(value)
}
