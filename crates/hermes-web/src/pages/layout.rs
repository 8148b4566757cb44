//! What a page may load.

use axum::body::Body;
use axum::response::Response;
use hyper::header::{self, HeaderValue};

/// What pages may load: our own files, nothing of anybody else, and no script that stands in a page.
const CONTENT: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: \
                       blob:; font-src 'self'; connect-src 'self'; form-action 'self'; base-uri \
                       'none'; frame-ancestors 'none'";

/// An answer with a page.
pub(crate) fn page_response(html: String) -> Response {
    let mut response = Response::new(Body::from(html));
    let headers = response.headers_mut();
    let fixed = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CACHE_CONTROL, "no-store"),
        (header::CONTENT_SECURITY_POLICY, CONTENT),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}
