//! Recognises the kind of body of an answer.

use crate::http::Head;

/// The kind of body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BodyKind {
    Events,
    /// One JSON value, or anything else that is read to its end.
    Whole,
    Html,
}

/// The kind of a body by its first bytes; `None` if undecided.
pub(super) fn kind_of(head: &Head, start: &[u8]) -> Option<BodyKind> {
    let declared = head.header("content-type").unwrap_or_default();
    let start = start.trim_ascii_start();
    let first = start.first()?;
    // The first bytes win over the content type: many proxies call everything JSON.
    if matches!(first, b'<') {
        return Some(BodyKind::Html);
    }
    if matches!(first, b'{' | b'[') {
        return Some(BodyKind::Whole);
    }
    if declared.contains("event-stream") {
        return Some(BodyKind::Events);
    }
    let fields: [&[u8]; 4] = [b"data:", b"event:", b"id:", b":"];
    if fields.iter().any(|field| start.starts_with(field)) {
        return Some(BodyKind::Events);
    }
    let undecided = fields.iter().any(|field| field.starts_with(start));
    (!undecided).then_some(BodyKind::Whole)
}

#[cfg(test)]
mod tests {
    use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue};

    use super::*;

    fn head(content_type: &'static str) -> Head {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        Head {
            status: 200,
            headers,
        }
    }

    #[test]
    fn first_bytes_win_over_the_content_type() {
        let events = head("text/event-stream; charset=utf-8");
        let json = head("application/json");
        assert_eq!(kind_of(&events, b"retry: 3"), Some(BodyKind::Events));
        assert_eq!(kind_of(&events, b"  {\"a\""), Some(BodyKind::Whole));
        assert_eq!(kind_of(&json, b"data: {}"), Some(BodyKind::Events));
        assert_eq!(kind_of(&json, b"<html>"), Some(BodyKind::Html));
        assert_eq!(kind_of(&json, b"da"), None);
        assert_eq!(kind_of(&json, b"not json"), Some(BodyKind::Whole));
        assert_eq!(kind_of(&json, b" \n"), None);
    }
}
