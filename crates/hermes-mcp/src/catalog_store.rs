//! Catalogs on disk, so that a conversation knows the tools of servers that have not been started.
//!
//! One file per server and settings, below `<home>/cache/mcp`. A file that cannot be read counts as
//! none: the server is asked again.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use crate::catalog::Catalog;
use crate::config::ServerConfig;
use crate::names::component;

const VERSION: u32 = 1;
const MAX_BYTES: u64 = 16 << 20;

#[derive(Serialize, Deserialize)]
struct Stored {
    version: u32,
    /// Two names can have the same letters in a file name.
    server: String,
    catalog: Catalog,
}

/// A catalog, and how old it is.
pub(crate) struct Known {
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) age: Duration,
}

pub(crate) fn load(home: &Path, server: &ServerConfig) -> Option<Known> {
    let path = path_of(home, server);
    let bytes = hermes_fs::read_optional(&path, MAX_BYTES).ok().flatten()?;
    let stored: Stored = serde_json::from_slice(&bytes).ok()?;
    if stored.version != VERSION || stored.server != server.name {
        return None;
    }
    let written = hermes_fs::metadata(&path).ok()?.modified().ok()?;
    Some(Known {
        catalog: Arc::new(stored.catalog),
        age: SystemTime::now()
            .duration_since(written)
            .unwrap_or_default(),
    })
}

pub(crate) fn save(home: &Path, server: &ServerConfig, catalog: &Catalog) -> hermes_fs::Result<()> {
    let path = path_of(home, server);
    let stored = Stored {
        version: VERSION,
        server: server.name.clone(),
        catalog: catalog.clone(),
    };
    let bytes = serde_json::to_vec(&stored).unwrap_or_default();
    if let Some(directory) = path.parent() {
        hermes_fs::create_dir_all(directory, 0o700)?;
    }
    hermes_fs::write_atomic(&path, &bytes, 0o600)
}

/// Forgets what a server offers; whether anything was known.
pub fn forget(home: &Path, server: &ServerConfig) -> hermes_fs::Result<bool> {
    hermes_fs::remove_file_if_present(&path_of(home, server))
}

pub(crate) fn path_of(home: &Path, server: &ServerConfig) -> PathBuf {
    let name = component(hermes_text::cut(&server.name, 60));
    let file = format!("{name}-{}.json", server.fingerprint());
    home.join("cache").join("mcp").join(file)
}
