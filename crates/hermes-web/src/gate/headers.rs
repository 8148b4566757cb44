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
    let own = origin.filter(|origin| origin.to_str().is_ok_and(is_own_machine));
    if let Some(origin) = own {
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
