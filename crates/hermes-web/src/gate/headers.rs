//! What every answer carries.

use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};

use super::hosts::is_own_machine;

const FIXED: [(HeaderName, &str); 5] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "same-origin"),
    (
        HeaderName::from_static("permissions-policy"),
        "camera=(), geolocation=(), microphone=()",
    ),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
];
/// For answers that are no pages.
const NOTHING: &str = "default-src 'none'; frame-ancestors 'none'";

/// Adds what no answer goes without. A page has said itself what it may load.
pub(crate) fn secure(headers: &mut HeaderMap, origin: Option<&HeaderValue>) {
    for (name, value) in FIXED {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if !headers.contains_key(header::CONTENT_SECURITY_POLICY) {
        headers.insert(
            header::CONTENT_SECURITY_POLICY,
            HeaderValue::from_static(NOTHING),
        );
    }
    // A page carries the token: what other programs of this machine serve may ask the API with a token,
    // but must not read one here.
    let is_page = headers
        .get(header::CONTENT_TYPE)
        .is_some_and(|kind| kind.as_bytes().starts_with(b"text/html"));
    let own = origin.filter(|origin| origin.to_str().is_ok_and(is_own_machine));
    if let Some(origin) = own.filter(|_| !is_page) {
        headers.append(header::VARY, HeaderValue::from_static("Origin"));
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        let allowed = [
            (
                header::ACCESS_CONTROL_ALLOW_METHODS,
                "GET, POST, PUT, PATCH, DELETE, OPTIONS",
            ),
            (
                header::ACCESS_CONTROL_ALLOW_HEADERS,
                "Authorization, Content-Type, Last-Event-ID, X-Hermes-Session-Token",
            ),
            (header::ACCESS_CONTROL_MAX_AGE, "600"),
        ];
        for (name, value) in allowed {
            headers.insert(name, HeaderValue::from_static(value));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers_to(kind: &'static str, origin: &'static str) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
        secure(&mut headers, Some(&HeaderValue::from_static(origin)));
        headers.contains_key(header::ACCESS_CONTROL_ALLOW_ORIGIN)
    }

    #[test]
    fn other_ports_of_this_machine_read_the_api_and_no_page() {
        let neighbour = "http://localhost:5173";
        assert!(answers_to("application/json", neighbour));
        assert!(!answers_to("text/html; charset=utf-8", neighbour));
        assert!(!answers_to("application/json", "https://example.org"));
    }
}
