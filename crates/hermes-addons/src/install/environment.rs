//! What an installer gets to see, from nothing: no keys, no activated environments, no settings of a
//! project.

use std::ffi::OsString;
use std::path::Path;

use crate::interpreter::search_path;
use crate::settings::{AddonSettings, Variables};

/// All variables of an installer that works in this stage.
pub(super) fn of_installer(settings: &AddonSettings, tool: &Path, stage: &Path) -> Variables {
    let cache = settings.places.home.join("cache");
    let own: [(&str, OsString); 11] = [
        ("PATH", search_path(tool)),
        ("HOME", settings.places.user_home.clone().into()),
        ("TMPDIR", stage.join("tmp").into()),
        ("LANG", "C.UTF-8".into()),
        ("PIP_CACHE_DIR", cache.join("pip").into()),
        ("UV_CACHE_DIR", cache.join("uv").into()),
        ("UV_PYTHON_DOWNLOADS", "never".into()),
        ("UV_HTTP_TIMEOUT", "15".into()),
        ("UV_HTTP_RETRIES", "1".into()),
        ("UV_NO_PROGRESS", "1".into()),
        ("NO_COLOR", "1".into()),
    ];
    let own = own.map(|(name, value)| (OsString::from(name), value));
    own.into_iter()
        .chain(settings.network.iter().cloned())
        .chain(settings.package_index.iter().cloned())
        .collect()
}
