//! The files of a login: tokens, the registered client and what the authorisation server says of
//! itself. Names and contents are the Python runtime's, so that both can use one home.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hermes_fs::{FileLock, LockOptions};
use serde_json::{Map, Value, json};

/// The directory in a home.
const DIRECTORY: &str = "mcp-tokens";
/// Longest name of a file without its ending.
const MAX_NAME: usize = 128;
/// Largest file that is read.
const MAX_BYTES: u64 = 1 << 20;
/// Longer than the one request that is made under the lock.
const LOCK_LIMIT: Duration = Duration::from_mins(1);
/// What of the answer of an authorisation server is kept.
const KEPT: [&str; 5] = [
    "access_token",
    "token_type",
    "expires_in",
    "scope",
    "refresh_token",
];

/// The files of one server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenFiles {
    directory: PathBuf,
    name: String,
}

/// Tokens as they are kept. Not printable: it is all secrets.
pub(super) struct KeptTokens {
    pub(super) access: String,
    pub(super) refresh: Option<String>,
    pub(super) expires_at: Option<SystemTime>,
}

impl TokenFiles {
    /// The files of a server in a home.
    pub fn of_server(home: &Path, server: &str) -> Self {
        Self {
            directory: home.join(DIRECTORY),
            name: file_name(server),
        }
    }

    /// Removes the login; gives whether there was one.
    pub fn remove(&self) -> hermes_fs::Result<bool> {
        let mut was_there = false;
        for ending in [".json", ".client.json", ".meta.json"] {
            was_there |= hermes_fs::remove_file_if_present(&self.path(ending))?;
        }
        Ok(was_there)
    }

    /// Keeps others from changing the files.
    pub(super) fn lock(&self) -> hermes_fs::Result<FileLock> {
        self.ensure_directory()?;
        let options = LockOptions {
            what: "the login to an MCP server",
            timeout: LOCK_LIMIT,
        };
        FileLock::acquire(&self.path(".lock"), &options)
    }

    pub(super) fn tokens(&self) -> Option<KeptTokens> {
        let kept = self.read(".json")?;
        let text = |key: &str| {
            let text = kept.get(key)?.as_str()?;
            (!text.is_empty()).then(|| text.to_owned())
        };
        Some(KeptTokens {
            access: text("access_token")?,
            refresh: text("refresh_token"),
            expires_at: self.expiry(&kept),
        })
    }

    /// The client as it was registered.
    pub(super) fn client(&self) -> Option<Value> {
        let kept = self.read(".client.json")?;
        kept.contains_key("client_id")
            .then_some(Value::Object(kept))
    }

    pub(super) fn server(&self) -> Option<Value> {
        let kept = self.read(".meta.json")?;
        kept.contains_key("token_endpoint")
            .then_some(Value::Object(kept))
    }

    pub(super) fn keep_tokens(&self, answer: &Value) -> hermes_fs::Result<()> {
        let mut kept = Map::new();
        for key in KEPT {
            match &answer[key] {
                Value::Null => {}
                value => {
                    kept.insert(key.to_owned(), value.clone());
                }
            }
        }
        // The Python runtime knows no other kind, and writes it so.
        kept.insert("token_type".to_owned(), json!("Bearer"));
        if let Some(seconds) = seconds(&answer["expires_in"]) {
            kept.insert("expires_in".to_owned(), json!(seconds));
            let since = SystemTime::now().duration_since(UNIX_EPOCH);
            let now = since.unwrap_or_default().as_secs_f64();
            #[expect(clippy::cast_precision_loss, reason = "a lifetime in seconds is small")]
            kept.insert("expires_at".to_owned(), json!(now + seconds as f64));
        }
        self.write(".json", &Value::Object(kept))
    }

    pub(super) fn keep_client(&self, client: &Value) -> hermes_fs::Result<()> {
        self.write(".client.json", client)
    }

    pub(super) fn keep_server(&self, document: &Value) -> hermes_fs::Result<()> {
        self.write(".meta.json", document)
    }

    /// Files of an older runtime have a lifetime only, which began when they were written.
    fn expiry(&self, kept: &Map<String, Value>) -> Option<SystemTime> {
        if let Some(at) = kept.get("expires_at").and_then(Value::as_f64) {
            let since = Duration::try_from_secs_f64(at.max(0.0)).ok()?;
            return UNIX_EPOCH.checked_add(since);
        }
        let lifetime = seconds(kept.get("expires_in")?)?;
        let written = hermes_fs::metadata(&self.path(".json")).ok()?.modified();
        written.ok()?.checked_add(Duration::from_secs(lifetime))
    }

    /// The content of a file; nothing if it is not there or no document, which another login mends.
    fn read(&self, ending: &str) -> Option<Map<String, Value>> {
        let path = self.path(ending);
        let bytes = match hermes_fs::read_optional(&path, MAX_BYTES) {
            Ok(bytes) => bytes?,
            Err(error) => {
                tracing::warn!(%error, "a file of a login to an MCP server cannot be read");
                return None;
            }
        };
        match serde_json::from_slice(&bytes) {
            Ok(Value::Object(content)) => Some(content),
            Ok(_) | Err(_) => {
                let path = path.display();
                tracing::warn!(%path, "a file of a login to an MCP server is damaged");
                None
            }
        }
    }

    fn write(&self, ending: &str, content: &Value) -> hermes_fs::Result<()> {
        self.ensure_directory()?;
        let text = format!("{content:#}\n");
        hermes_fs::write_atomic_exact(&self.path(ending), text.as_bytes(), 0o600)
    }

    fn ensure_directory(&self) -> hermes_fs::Result<()> {
        hermes_fs::create_dir_all(&self.directory, 0o700)?;
        hermes_fs::set_mode(&self.directory, 0o700)
    }

    fn path(&self, ending: &str) -> PathBuf {
        self.directory.join(format!("{}{ending}", self.name))
    }
}

/// A lifetime, which some servers send as text.
fn seconds(value: &Value) -> Option<u64> {
    let text = value.as_str().map(str::trim);
    value.as_u64().or_else(|| text?.parse().ok())
}

/// A server's name as a file has it: letters, digits, `_` and `-`.
fn file_name(server: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    let letters = server.chars();
    let name: String = letters.map(|c| if is_plain(c) { c } else { '_' }).collect();
    let name: String = name.trim_matches('_').chars().take(MAX_NAME).collect();
    if name.is_empty() {
        return "default".to_owned();
    }
    name
}

#[cfg(test)]
#[path = "token_files_tests.rs"]
mod tests;
