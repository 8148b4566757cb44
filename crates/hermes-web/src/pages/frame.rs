//! From a template to an answer.

use askama::Template;
use hyper::StatusCode;

use super::assets;
use super::layout::page_response;
use super::shell::{NAV, Shell, Trouble};
use crate::call::{Answered, Call};
use crate::gate::Mode;
use crate::http::ApiError;

/// The frame of a page.
pub(super) fn shell(call: &Call, title: &str, page: &'static str) -> Shell {
    let settings = &call.app.gate.settings;
    let base = call.visitor.prefix.clone();
    let token = match settings.mode {
        Mode::Local => settings.token.expose().to_owned(),
        Mode::Gated | Mode::Open { .. } => String::new(),
    };
    let user = call.visitor.identity();
    Shell {
        title: title.to_owned(),
        page,
        assets: assets::directory(&base),
        base,
        token,
        user: user.map(|user| user.display_name.clone()),
        insecure: settings.is_insecure(),
        profile: call.context().location.profile_label().to_owned(),
        version: env!("CARGO_PKG_VERSION"),
        module: None,
        body: "wide",
        events: None,
        board: None,
        refresh: None,
        nav: NAV,
    }
}

/// A page.
pub(super) fn html(page: &impl Template) -> Answered {
    html_with(200, page)
}

/// A page with another status than success.
pub(super) fn html_with(status: u16, page: &impl Template) -> Answered {
    let text = page.render().map_err(|error| {
        tracing::error!(%error, "a page was not made");
        ApiError::internal("this page could not be made; `hermes logs gui` has the reason")
    })?;
    let mut response = page_response(text);
    if let Ok(status) = StatusCode::from_u16(status) {
        *response.status_mut() = status;
    }
    Ok(response)
}

#[derive(Template)]
#[template(path = "missing.html")]
struct MissingPage {
    shell: Shell,
    trouble: Trouble,
}

/// A page that says only what is wrong.
pub(super) fn trouble_page(call: &Call, status: u16, trouble: Trouble) -> Answered {
    let shell = shell(call, &trouble.title, "");
    html_with(status, &MissingPage { shell, trouble })
}

/// Seconds of the clock.
pub(super) fn now() -> i64 {
    jiff::Timestamp::now().as_second()
}
