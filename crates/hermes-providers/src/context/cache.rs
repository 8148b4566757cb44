//! `context_length_cache.yaml`: windows that providers stated, so that the next start knows them.
//!
//! Only what a provider said in numbers is ever written here: `context_lengths`, and beside it in
//! `servers` which address is an Ollama, whose window has to be said with every question.

use std::path::{Path, PathBuf};

use hermes_config::yaml::{Document, to_block_text};
use hermes_fs::{FileLock, LockOptions};
use serde_json::{Map, Value, json};

use super::metadata::Stated;

/// The kind of server that has to be told its window.
const OLLAMA: &str = "ollama";

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

    /// What was stated for a model at an address.
    pub(crate) fn get(&self, model: &str, base_url: &str) -> Option<Stated> {
        let document = self.load()?;
        let lengths = document.get("context_lengths")?;
        let window = lengths.get(key(model, base_url))?.as_u64()?;
        let server = document.get("servers").and_then(|all| all.get(base_url));
        (window > 0).then(|| Stated {
            window,
            is_ollama: server.and_then(Value::as_str) == Some(OLLAMA),
        })
    }

    /// Remembers what was stated. A disk that is full must not end a turn.
    pub(crate) fn put(&self, model: &str, base_url: &str, stated: Stated) {
        if let Err(error) = self.write(model, base_url, stated) {
            tracing::warn!("the window of {model} was not remembered: {error}");
        }
    }

    fn write(&self, model: &str, base_url: &str, stated: Stated) -> hermes_fs::Result<()> {
        let lock = self.path.with_file_name(".context_length_cache.lock");
        let _held = FileLock::acquire(&lock, &LockOptions::new("context_length_cache.yaml"))?;
        let mut document = self.load().unwrap_or_default();
        let mut insert = |section: &str, key: String, value: Value| {
            let section = document.entry(section).or_insert_with(|| json!({}));
            if !section.is_object() {
                *section = json!({});
            }
            section[key] = value;
        };
        insert(
            "context_lengths",
            key(model, base_url),
            json!(stated.window),
        );
        if stated.is_ollama {
            insert("servers", base_url.to_owned(), json!(OLLAMA));
        }
        let text = to_block_text(&Value::Object(document)) + "\n";
        hermes_fs::write_atomic(&self.path, text.as_bytes(), 0o600)
    }

    fn load(&self) -> Option<Map<String, Value>> {
        let bytes = hermes_fs::read_optional(&self.path, MAX_BYTES).ok()??;
        let document = Document::parse(&String::from_utf8_lossy(&bytes)).ok()?;
        document.value().as_object().cloned()
    }
}

fn key(model: &str, base_url: &str) -> String {
    format!("{model}@{base_url}")
}
