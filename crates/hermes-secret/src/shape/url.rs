//! Credentials in URLs: `scheme://user:password@host` and `scheme://token@host`.

use super::Span;
use super::bytes::{run, run_back};
use super::named::span_of;
use crate::Sink;

/// Schemes whose passwords people write without escaping them, slashes included.
const DATABASES: &[&str] = &[
    "postgres",
    "postgresql",
    "mysql",
    "mariadb",
    "mongodb",
    "redis",
    "rediss",
    "amqp",
    "amqps",
    "mssql",
    "clickhouse",
    "cockroachdb",
];

/// Fewest characters of a lone user part of a web address: shorter ones are names.
const LEAST_WEB_TOKEN: usize = 8;

/// Whether the `://` at `start` is that of a web address.
fn is_web(text: &str, start: usize) -> bool {
    let scheme_start = run_back(text.as_bytes(), start, 24, |byte| {
        byte.is_ascii_alphanumeric()
    });
    let scheme = text.get(scheme_start..start).unwrap_or_default();
    ["http", "https", "ws", "wss"]
        .iter()
        .any(|web| scheme.eq_ignore_ascii_case(web))
}

/// The secret part of what stands before the `@`, around the `://` at `start..end`. Passwords of web
/// addresses count in a log only, tokens everywhere.
pub(super) fn userinfo(text: &str, start: usize, end: usize, sink: Sink) -> Option<Span> {
    let bytes = text.as_bytes();
    let url_end = run(bytes, end, |byte| {
        !byte.is_ascii_whitespace() && !matches!(byte, b'"' | b'\'' | b'<' | b'>' | b'`' | b'\\')
    });
    let authority_end = run(bytes, end, |byte| !matches!(byte, b'/' | b'?' | b'#')).min(url_end);
    let authority = text.get(end..authority_end)?;
    let at = match authority.rfind('@') {
        Some(offset) => end + offset,
        None => end + unescaped_at(text, start, end, url_end)?,
    };
    let info = text.get(end..at)?;
    let web = is_web(text, start);
    match info.split_once(':') {
        Some((user, password)) => {
            let counts = !web || sink == Sink::Log || looks_random(password);
            counts.then(|| span_of(text, end + user.len() + 1, at))?
        }
        None if (web && info.len() >= LEAST_WEB_TOKEN) || looks_random(info) => {
            span_of(text, end, at)
        }
        None => None,
    }
}

/// Where a database URL without `@` in its first part has it after all: in a password with `/`.
fn unescaped_at(text: &str, start: usize, end: usize, url_end: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let scheme_start = run_back(bytes, start, 24, |byte| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.')
    });
    let scheme = text.get(scheme_start..start)?.to_ascii_lowercase();
    let base = scheme.split('+').next().unwrap_or_default();
    if !DATABASES.contains(&base) {
        return None;
    }
    let rest = text.get(end..url_end)?;
    let (_, after_colon) = rest.split_once(':')?;
    let port_or_password = after_colon.split(['/', '?', '#']).next()?;
    if port_or_password.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    rest.rfind('@')
}

/// Whether a part of the user information is a token rather than a name such as `git`.
fn looks_random(part: &str) -> bool {
    let digits = part.bytes().any(|byte| byte.is_ascii_digit());
    part.len() >= 20 || (part.len() >= 12 && digits)
}
