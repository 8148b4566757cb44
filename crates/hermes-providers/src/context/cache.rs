//! `context_length_cache.yaml`: windows that providers stated, so that the next start knows them.
//!
//! Only what a provider said in numbers is ever written here.

use std::path::{Path, PathBuf};

use hermes_config::yaml::{Document, to_block_text};
use hermes_fs::{FileLock, LockOptions};
use serde_json::{Map, Value, json};

/// Largest cache that is read.
const MAX_BYTES: u64 = 1 << 20;

/// The windows that were stated.
#[derive(Debug, Clone)]
pub(crate) struct WindowCache {
    path: PathBuf,
}

impl WindowCache {
    /// The cache below this home.
    pub(crate) fn of_home(home: &Path) -> Self {
        Self {
            path: home.join("context_length_cache.yaml"),
        }
    }

    /// The window that was stated for a model at an address.
    pub(crate) fn get(&self, model: &str, base_url: &str) -> Option<u64> {
        let tokens = self.load()?.get(&key(model, base_url))?.as_u64()?;
        (tokens > 0).then_some(tokens)
    }

    /// Remembers a window. A disk that is full must not end a turn.
    pub(crate) fn put(&self, model: &str, base_url: &str, tokens: u64) {
        if let Err(error) = self.write(&key(model, base_url), tokens) {
            tracing::warn!("the window of {model} was not remembered: {error}");
        }
    }

    fn write(&self, key: &str, tokens: u64) -> hermes_fs::Result<()> {
        let lock = self.path.with_file_name(".context_length_cache.lock");
        let _held = FileLock::acquire(&lock, &LockOptions::new("context_length_cache.yaml"))?;
        let mut lengths = self.load().unwrap_or_default();
        lengths.insert(key.to_owned(), json!(tokens));
        let text = to_block_text(&json!({"context_lengths": lengths})) + "\n";
        hermes_fs::write_atomic(&self.path, text.as_bytes(), 0o600)
    }

    fn load(&self) -> Option<Map<String, Value>> {
        let bytes = hermes_fs::read_optional(&self.path, MAX_BYTES).ok()??;
        let document = Document::parse(&String::from_utf8_lossy(&bytes)).ok()?;
        document.value()["context_lengths"].as_object().cloned()
    }
}

fn key(model: &str, base_url: &str) -> String {
    format!("{model}@{base_url}")
}
