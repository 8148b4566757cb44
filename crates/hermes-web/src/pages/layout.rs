//! What all pages have in common: the frame, the navigation, and what a page may load.

use axum::body::Body;
use axum::response::Response;
use hyper::header::{self, HeaderValue};

use super::PAGES;
use super::assets::hashed_name;
use crate::call::Call;
use crate::gate::Mode;

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

/// The address of an asset, which changes with its content.
pub(super) fn asset_url(prefix: &str, name: &str) -> String {
    format!("{prefix}/assets/{}", hashed_name(name))
}

/// A link of the navigation.
pub(super) struct Link {
    pub(super) path: &'static str,
    pub(super) label: &'static str,
    pub(super) is_here: bool,
}

/// What the frame of a page shows.
pub(super) struct Frame {
    pub(super) title: &'static str,
    pub(super) prefix: String,
    pub(super) profile: String,
    pub(super) links: Vec<Link>,
    /// The token that scripts of the page send; empty behind the gate.
    pub(super) token: String,
    pub(super) is_gated: bool,
    pub(super) is_insecure: bool,
    /// Who is logged in.
    pub(super) user: String,
}

impl Frame {
    /// The frame of the page at this path.
    pub(super) fn new(call: &Call, path: &str) -> Self {
        let here = PAGES.iter().find(|page| page.path == path);
        let settings = &call.app.gate.settings;
        let token = match settings.mode {
            Mode::Local => settings.token.expose().to_owned(),
            Mode::Gated | Mode::Open { .. } => String::new(),
        };
        let user = call.visitor.identity();
        Self {
            title: here.map_or("Hermes", |page| page.label),
            prefix: call.visitor.prefix.clone(),
            profile: call.context().location.profile_label().to_owned(),
            links: PAGES
                .iter()
                .map(|page| Link {
                    path: page.path,
                    label: page.label,
                    is_here: page.path == path,
                })
                .collect(),
            token,
            is_gated: settings.mode == Mode::Gated,
            is_insecure: settings.is_insecure(),
            user: user.map_or_else(String::new, |user| user.display_name.clone()),
        }
    }

    /// The address of an asset.
    pub(super) fn asset(&self, name: &str) -> String {
        asset_url(&self.prefix, name)
    }
}
