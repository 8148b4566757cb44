//! `GET /metrics`.

use axum::body::Body;
use axum::response::Response;
use hyper::header::{CONTENT_TYPE, HeaderValue};

use crate::call::{Answered, Call};

pub(crate) async fn metrics(call: Call) -> Answered {
    let page = call.app.metrics.text(call.app.gauges());
    let mut response = Response::new(Body::from(page));
    let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    Ok(response)
}
