//! `context_length_cache.yaml`: context windows stated by providers, remembered for the next start.
//!
//! Only numbers stated by a provider are written: `context_lengths`, and in `servers` the addresses
//! of Ollama servers, which have to be told the window with every request.

use std::path::{Path, PathBuf};

use hermes_config::yaml::{Document, to_block_text};
use hermes_fs::{FileLock, LockOptions};
use serde_json::{Map, Value, json};

use super::metadata::StatedWindow;

/// The kind of server that has to be told its context window.
const OLLAMA: &str = "ollama";

/// Largest cache that is read.
const MAX_BYTES: u64 = 1 << 20;

/// The remembered context windows.
#[derive(Debug, Clone)]
pub(crate) struct WindowCache {
    path: PathBuf,
}

impl WindowCache {
    pub(crate) fn of_home(home: &Path) -> Self {
        Self {
            path: home.join("context_length_cache.yaml"),
        }
    }

    /// The window stated for a model at an address.
    pub(crate) fn get(&self, model: &str, base_url: &str) -> Option<StatedWindow> {
        let document = self.load()?;
        let lengths = document.get("context_lengths")?;
        let window = lengths.get(key(model, base_url))?.as_u64()?;
        let server = document.get("servers").and_then(|all| all.get(base_url));
        (window > 0).then(|| StatedWindow {
            window,
            is_ollama: server.and_then(Value::as_str) == Some(OLLAMA),
        })
    }

    /// Remembers a stated window. A failure is only logged: a full disk must not end a turn.
    pub(crate) fn put(&self, model: &str, base_url: &str, stated: StatedWindow) {
        if let Err(error) = self.write(model, base_url, stated) {
            tracing::warn!("could not remember the context window of {model}: {error}");
        }
    }

    fn write(&self, model: &str, base_url: &str, stated: StatedWindow) -> hermes_fs::Result<()> {
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
