//! A front-end of another build, from the directory that `HERMES_WEB_DIST` names: its files, and its
//! page for every path that is no file, with what its scripts need to know.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::header::{self, HeaderValue};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::assets::front_end_file;
use super::frame::trouble_page;
use super::layout::page_response;
use super::shell::Trouble;
use crate::call::{Answered, Call};
use crate::gate::Mode;
use crate::http::ApiError;

const MAX_BYTES: u64 = 4 << 20;

/// What no endpoint, page or asset answers: a file or the page of another front-end, if there is one.
pub(crate) fn other_path(call: &Call) -> Answered {
    let path = call.path();
    let missing = || {
        let shown = hermes_text::shown(path, 200);
        ApiError::not_found(format!("there is nothing at {shown}"))
    };
    let is_api = path == "/api" || path.starts_with("/api/") || path.starts_with("/auth/");
    if !is_api && call.app.web_dist.is_none() && wants_page(call) {
        let trouble = Trouble {
            title: "There is no such page".to_owned(),
            detail: format!("Nothing is at {}.", hermes_text::shown(path, 200)),
            hint: None,
        };
        return trouble_page(call, 404, trouble);
    }
    if is_api || call.app.web_dist.is_none() {
        return Err(missing());
    }
    let name = path.trim_start_matches('/');
    match front_end_file(call, name) {
        Ok(response) => Ok(response),
        // A path with an ending means a file; anything else is a page that the scripts know.
        Err(_) if !name.rsplit('/').next().unwrap_or_default().contains('.') => index(call),
        Err(error) => Err(error),
    }
}

/// Whether a browser asks, in the name of somebody who reads.
fn wants_page(call: &Call) -> bool {
    let accept = call.header(&header::ACCEPT);
    accept.is_some_and(|accept| accept.contains("text/html"))
}

/// The page of the front-end.
pub(super) fn index(call: &Call) -> Answered {
    let missing = || {
        ApiError::not_found("the front-end that HERMES_WEB_DIST names has no index.html".to_owned())
    };
    let dist = call.app.web_dist.as_ref().ok_or_else(missing)?;
    let text = hermes_fs::read_text_capped(&dist.join("index.html"), MAX_BYTES);
    let text = text.map_err(|_| missing())?;
    let prefix = call.visitor.prefix.as_str();
    let script = script(call, prefix);
    let tag = format!("<script>{script}</script>");
    let mut page = match text.split_once("</head>") {
        Some((head, rest)) => format!("{head}{tag}</head>{rest}"),
        None => format!("{tag}{text}"),
    };
    if !prefix.is_empty() {
        for attribute in ["src", "href"] {
            page = page.replace(
                &format!("{attribute}=\"/"),
                &format!("{attribute}=\"{prefix}/"),
            );
        }
    }
    let mut response = page_response(page);
    if let Ok(policy) = HeaderValue::from_str(&policy(&script)) {
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    Ok(response)
}

/// What the scripts of the front-end read.
fn script(call: &Call, prefix: &str) -> String {
    let settings = &call.app.gate.settings;
    let is_gated = settings.mode == Mode::Gated;
    let token = match settings.mode {
        Mode::Local => settings.token.expose(),
        Mode::Gated | Mode::Open { .. } => "",
    };
    // In a script an end tag would end it, whatever it stands in.
    let literal = |value: serde_json::Value| value.to_string().replace('<', "\\u003c");
    let mut text = format!(
        "window.__HERMES_BASE_PATH__={};window.__HERMES_AUTH_REQUIRED__={is_gated};\
         window.__HERMES_DASHBOARD_EMBEDDED_CHAT__={};",
        literal(json!(prefix)),
        call.app.has_chat,
    );
    if !is_gated {
        text.push_str(&format!(
            "window.__HERMES_SESSION_TOKEN__={};",
            literal(json!(token))
        ));
    }
    text
}

/// What the page may load: its own files, the one script above, and styles that stand in the page,
/// which its components write.
fn policy(script: &str) -> String {
    let hash = STANDARD.encode(Sha256::digest(script.as_bytes()));
    format!(
        "default-src 'self'; script-src 'self' 'sha256-{hash}' 'wasm-unsafe-eval'; style-src 'self' \
         'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; \
         worker-src 'self' blob:; base-uri 'none'; frame-ancestors 'none'"
    )
}
