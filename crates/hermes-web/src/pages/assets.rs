//! Files that pages load. Ours are in the program, under names that contain a hash of their content,
//! and are kept by browsers forever; those of another front-end come from `HERMES_WEB_DIST`.

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
    ("base.css", include_bytes!("../../assets/base.css")),
    ("login.js", include_bytes!("../../assets/login.js")),
    ("page.js", include_bytes!("../../assets/page.js")),
];
/// Largest file of another front-end.
const MAX_BYTES: u64 = 64 << 20;
const FOREVER: &str = "public, max-age=31536000, immutable";

struct Asset {
    name: &'static str,
    hashed: String,
    content: &'static [u8],
}

fn assets() -> &'static [Asset] {
    static ASSETS: OnceLock<Vec<Asset>> = OnceLock::new();
    ASSETS.get_or_init(|| {
        let files = FILES.iter();
        files
            .map(|(name, content)| {
                let digest = Sha256::digest(content);
                let hash: String = hermes_fs::hex(&digest).chars().take(12).collect();
                let (stem, ending) = name.rsplit_once('.').unwrap_or((name, ""));
                Asset {
                    name,
                    hashed: format!("{stem}-{hash}.{ending}"),
                    content,
                }
            })
            .collect()
    })
}

/// The name under which a file is served.
pub(super) fn hashed_name(name: &str) -> &'static str {
    let found = assets().iter().find(|asset| asset.name == name);
    found.map_or("", |asset| asset.hashed.as_str())
}

/// `GET /assets/{*name}`.
pub(crate) fn asset(call: &Call) -> Answered {
    let name = call.param("name");
    if let Some(found) = assets().iter().find(|asset| asset.hashed == name) {
        let body = Body::from(found.content);
        return Ok(file_response(body, name, FOREVER));
    }
    front_end_file(call, &format!("assets/{name}"))
}

/// A file of the front-end that `HERMES_WEB_DIST` names.
pub(super) fn front_end_file(call: &Call, name: &str) -> Answered {
    let missing = || {
        let shown = hermes_text::shown(name, 120);
        ApiError::not_found(format!("there is no file {shown}"))
    };
    let dist = call.app.web_dist.as_ref().ok_or_else(missing)?;
    let relative = Path::new(name);
    let is_inside = relative
        .components()
        .all(|part| matches!(part, Component::Normal(_)));
    if !is_inside || name.contains(['\\', '\0']) {
        return Err(missing());
    }
    let path = hermes_fs::join_without_symlinks(dist, relative).map_err(|_| missing())?;
    let bytes = hermes_fs::read_capped(&path, MAX_BYTES).map_err(|_| missing())?;
    let cached = if name.starts_with("assets/") {
        FOREVER
    } else {
        "no-cache"
    };
    Ok(file_response(Body::from(bytes), name, cached))
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
