//! The first page: what runs here.

use askama::Template;

use super::layout::{Frame, page_response};
use crate::api::status::{StatusFacts, status_facts};
use crate::call::{Answered, Call};
use crate::http::ApiError;

#[derive(Template)]
#[template(path = "status.html")]
struct StatusPage {
    frame: Frame,
    facts: StatusFacts,
}

/// `GET /`.
pub(super) fn status(call: &Call) -> Answered {
    if call.app.web_dist.is_some() {
        return super::front_end::index(call);
    }
    let page = StatusPage {
        frame: Frame::new(call, "/"),
        facts: status_facts(&call.context()),
    };
    let html = page
        .render()
        .map_err(|error| ApiError::internal(error.to_string()))?;
    Ok(page_response(html))
}
