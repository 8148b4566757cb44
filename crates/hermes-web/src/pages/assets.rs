//! Files that pages load. Ours are in the program, below a name that changes with any of them, and are
//! kept by browsers forever; those of another front-end come from `HERMES_WEB_DIST`.

use std::path::{Component, Path};
use std::sync::OnceLock;

use axum::body::Body;
use axum::response::Response;
use hyper::header::{self, HeaderValue};
use sha2::{Digest as _, Sha256};

use crate::call::{Answered, Call};
use crate::http::ApiError;

/// Name and content of our files.
const FILES: &[(&str, &[u8])] = &[
    ("api.js", include_bytes!("../../assets/api.js")),
    ("app.js", include_bytes!("../../assets/app.js")),
    ("base.css", include_bytes!("../../assets/base.css")),
    ("board.js", include_bytes!("../../assets/board.js")),
    ("chat.js", include_bytes!("../../assets/chat.js")),
    ("config.js", include_bytes!("../../assets/config.js")),
    ("favicon.svg", include_bytes!("../../assets/favicon.svg")),
    ("find.js", include_bytes!("../../assets/find.js")),
    ("icons.svg", include_bytes!("../../assets/icons.svg")),
    ("keys.js", include_bytes!("../../assets/keys.js")),
    ("live.js", include_bytes!("../../assets/live.js")),
    ("login.js", include_bytes!("../../assets/login.js")),
    ("logs.js", include_bytes!("../../assets/logs.js")),
    ("morph.js", include_bytes!("../../assets/morph.js")),
    ("pages.css", include_bytes!("../../assets/pages.css")),
    ("review.js", include_bytes!("../../assets/review.js")),
    ("theme.js", include_bytes!("../../assets/theme.js")),
];
/// Largest file of another front-end.
const MAX_BYTES: u64 = 64 << 20;
const FOREVER: &str = "public, max-age=31536000, immutable";

/// What the names of all files hang on: modules name each other, so they change together.
fn build() -> &'static str {
    static BUILD: OnceLock<String> = OnceLock::new();
    BUILD.get_or_init(|| {
        let mut digest = Sha256::new();
        for (name, content) in FILES {
            digest.update(name);
            digest.update(content);
        }
        hermes_fs::hex(&digest.finalize())
            .chars()
            .take(12)
            .collect()
    })
}

/// Where the files are, below the prefix of a proxy.
pub(super) fn directory(prefix: &str) -> String {
    format!("{prefix}/assets/{}", build())
}

/// `GET /assets/{*name}`.
pub(crate) fn asset(call: &Call) -> Answered {
    let name = call.param("name");
    let own = name
        .strip_prefix(build())
        .and_then(|rest| rest.strip_prefix('/'));
    let own = own.and_then(|own| FILES.iter().find(|(name, _)| *name == own));
    if let Some((_, content)) = own {
        return Ok(file_response(Body::from(*content), name, FOREVER));
    }
    front_end_file(call, &format!("assets/{name}"))
}

/// A file of the front-end that `HERMES_WEB_DIST` names.
pub(super) fn front_end_file(call: &Call, name: &str) -> Answered {
    let dist = call.app.web_dist.as_ref().ok_or_else(|| missing(name))?;
    let cached = if name.starts_with("assets/") {
        FOREVER
    } else {
        "no-cache"
    };
    file_below(dist, name, cached)
}

/// A file below a directory, reached through no link.
pub(crate) fn file_below(directory: &Path, name: &str, cached: &'static str) -> Answered {
    let relative = Path::new(name);
    let is_inside = relative
        .components()
        .all(|part| matches!(part, Component::Normal(_)));
    if !is_inside || name.contains(['\\', '\0']) {
        return Err(missing(name));
    }
    let path = hermes_fs::join_without_symlinks(directory, relative).map_err(|_| missing(name))?;
    let bytes = hermes_fs::read_capped(&path, MAX_BYTES).map_err(|_| missing(name))?;
    Ok(file_response(Body::from(bytes), name, cached))
}

fn missing(name: &str) -> ApiError {
    let shown = hermes_text::shown(name, 120);
    ApiError::not_found(format!("there is no file {shown}"))
}

fn file_response(body: Body, name: &str, cached: &'static str) -> Response {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static(content_type(name)),
    );
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(cached));
    response
}

fn content_type(name: &str) -> &'static str {
    match name.rsplit_once('.').map_or("", |(_, ending)| ending) {
        "css" => "text/css; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "html" => "text/html; charset=utf-8",
        "json" | "map" => "application/json",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "ico" => "image/x-icon",
        "woff" => "font/woff",
        "woff2" => "font/woff2",
        "ttf" => "font/ttf",
        "wasm" => "application/wasm",
        "txt" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}
