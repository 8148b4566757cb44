//! `auth.json`: read leniently, changed under a lock, written atomically with mode 0600.
//!
//! Unknown parts are kept unchanged. A file that cannot be parsed is never rewritten.

use std::collections::BTreeSet;
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use hermes_fs::{FileLock, LockOptions};
use hermes_secret::SecretString;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::credential::CredentialEntry;
use super::login_tokens::LoginTokens;
use super::token_refresher::RefreshError;

/// Largest file that is read.
const MAX_BYTES: u64 = 4 << 20;

/// Why keys could not be read or stored.
#[derive(Debug, thiserror::Error)]
pub enum AuthError {
    #[error(transparent)]
    File(#[from] hermes_fs::Error),
    #[error("{} is not a JSON object: {reason}", path.display())]
    Broken { path: PathBuf, reason: String },
}

impl AuthError {
    /// What the user can do.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::File(error) => error.hint(),
            Self::Broken { path, .. } => Some(format!(
                "repair {} or move it away; nothing was changed",
                path.display()
            )),
        }
    }
}

/// Keys and login removed for a provider.
#[derive(Debug)]
pub struct RemovedLogin {
    pub keys: Vec<CredentialEntry>,
    /// Whether a login was removed.
    pub login: bool,
}

/// The `auth.json` of a profile.
#[derive(Debug, Clone)]
pub struct AuthFile {
    path: PathBuf,
}

impl AuthFile {
    /// The file of a home.
    pub fn of_home(home: &Path) -> Self {
        Self {
            path: home.join("auth.json"),
        }
    }

    /// The path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The keys of one provider, in order of priority.
    pub fn entries(&self, provider: &str) -> Result<Vec<CredentialEntry>, AuthError> {
        Ok(entries_of(&self.load()?, provider))
    }

    /// All providers with their keys.
    pub fn all(&self) -> Result<Vec<(String, Vec<CredentialEntry>)>, AuthError> {
        let document = self.load()?;
        let names = ["credential_pool", "providers"].into_iter();
        let maps = names.filter_map(|name| document.get(name)?.as_object());
        let names: BTreeSet<&String> = maps.flat_map(Map::keys).collect();
        Ok(names
            .into_iter()
            .map(|name| (name.clone(), entries_of(&document, name)))
            .filter(|(_, entries)| !entries.is_empty())
            .collect())
    }

    /// Changes the keys of one provider. Nothing is written if `change` leaves them as they were.
    pub fn change<T>(
        &self,
        provider: &str,
        change: impl FnOnce(&mut Vec<CredentialEntry>) -> T,
    ) -> Result<T, AuthError> {
        let lock = self.path.with_file_name("auth.lock");
        let _held = FileLock::acquire(&lock, &LockOptions::new("auth.json"))?;
        let mut document = self.load()?;
        let mut entries = entries_of(&document, provider);
        let before: Vec<Value> = entries.iter().map(CredentialEntry::to_value).collect();
        let result = change(&mut entries);
        let after: Vec<Value> = entries.iter().map(CredentialEntry::to_value).collect();
        if before != after {
            put(&mut document, provider, after);
            // The login that was removed would come back from there.
            if !entries.iter().any(CredentialEntry::is_mirrored) {
                forget_login(&mut document, provider);
            }
            self.save(&document)?;
        }
        Ok(result)
    }

    /// Removes the keys and the login of one provider. `None` if it had neither.
    pub fn remove_provider(&self, provider: &str) -> Result<Option<RemovedLogin>, AuthError> {
        let lock = self.path.with_file_name("auth.lock");
        let _held = FileLock::acquire(&lock, &LockOptions::new("auth.json"))?;
        let mut document = self.load()?;
        let keys = listed(&document, provider);
        let logins = document.get_mut("providers").and_then(Value::as_object_mut);
        let login = logins.and_then(|logins| logins.remove(provider));
        if keys.is_empty() && login.is_none() {
            return Ok(None);
        }
        put(&mut document, provider, Vec::new());
        deactivate(&mut document, provider);
        self.save(&document)?;
        Ok(Some(RemovedLogin {
            keys,
            login: login.is_some(),
        }))
    }

    /// Stores a login as the one in use, in place of an earlier one of the same account. Logins that
    /// are mirrored are one for each provider.
    pub fn log_in(&self, provider: &str, login: &CredentialEntry) -> Result<(), AuthError> {
        let lock = self.path.with_file_name("auth.lock");
        let _held = FileLock::acquire(&lock, &LockOptions::new("auth.json"))?;
        let mut document = self.load()?;
        let mut entries = entries_of(&document, provider);
        let is_mirrored = login.is_mirrored();
        entries.retain(|entry| {
            let is_same = is_mirrored || entry.is_same_account(login) || entry.is_same_key(login);
            !(entry.source() == login.source() && is_same)
        });
        entries.insert(0, login.clone());
        let values = entries.iter().map(CredentialEntry::to_value).collect();
        put(&mut document, provider, values);
        if is_mirrored {
            put_login(&mut document, provider, login);
        }
        document.insert("active_provider".to_owned(), json!(provider));
        self.save(&document)
    }

    /// Takes note of a login that another program keeps, and of where it is used.
    pub fn use_login(&self, provider: &str, state: &Value) -> Result<(), AuthError> {
        let lock = self.path.with_file_name("auth.lock");
        let _held = FileLock::acquire(&lock, &LockOptions::new("auth.json"))?;
        let mut document = self.load()?;
        let entries = entries_of(&document, provider);
        let values = entries.iter().map(CredentialEntry::to_value).collect();
        put(&mut document, provider, values);
        logins(&mut document)[provider] = state.clone();
        document.insert("active_provider".to_owned(), json!(provider));
        self.save(&document)
    }

    /// A text that is kept with the login of a provider.
    pub(crate) fn login_text(&self, provider: &str, key: &str) -> Option<String> {
        let document = self.load().ok()?;
        let text = document
            .get("providers")?
            .get(provider)?
            .get(key)?
            .as_str()?;
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// Renews the tokens of a login, under the lock: a refresh token works once. Gives the entry as it is afterwards; `None` if it is gone.
    pub(super) fn renew_login(
        &self,
        provider: &str,
        stale: &CredentialEntry,
        refresh: impl FnOnce(&CredentialEntry, &SecretString) -> Result<LoginTokens, RefreshError>,
    ) -> Result<Option<CredentialEntry>, RefreshError> {
        let lock = self.path.with_file_name("auth.lock");
        let passing = |error: AuthError| RefreshError::passing(error.to_string());
        let _held = FileLock::acquire(&lock, &LockOptions::new("auth.json"))
            .map_err(|error| passing(error.into()))?;
        let mut document = self.load().map_err(passing)?;
        let mut entries = entries_of(&document, provider);
        let found = entries.iter_mut().find(|entry| entry.id() == stale.id());
        let Some(entry) = found else {
            return Ok(None);
        };
        // Another process has been faster.
        if entry.secret() != stale.secret() && !entry.is_expiring(SystemTime::now()) {
            return Ok(Some(entry.clone()));
        }
        let Some(token) = entry.refresh_token() else {
            return Err(RefreshError {
                reason: "it cannot be renewed".to_owned(),
                is_final: true,
            });
        };
        let former = entry.secret();
        entry.renew(&refresh(entry, &token)?);
        let renewed = entry.clone();
        let values = entries.iter().map(CredentialEntry::to_value).collect();
        put(&mut document, provider, values);
        if let Some(state) = logins(&mut document).get_mut(provider) {
            renewed.write_mirror(state, former.as_ref());
        }
        self.save(&document).map_err(passing)?;
        Ok(Some(renewed))
    }

    /// The provider of the current login.
    pub fn active_provider(&self) -> Result<Option<String>, AuthError> {
        let document = self.load()?;
        let name = document.get("active_provider").and_then(Value::as_str);
        Ok(name.filter(|name| !name.is_empty()).map(str::to_owned))
    }

    fn save(&self, document: &Map<String, Value>) -> Result<(), AuthError> {
        let mut text = serde_json::to_vec_pretty(document).unwrap_or_default();
        text.push(b'\n');
        Ok(hermes_fs::write_atomic_exact(&self.path, &text, 0o600)?)
    }

    fn load(&self) -> Result<Map<String, Value>, AuthError> {
        let Some(bytes) = hermes_fs::read_optional(&self.path, MAX_BYTES)? else {
            return Ok(Map::new());
        };
        let broken = |reason: String| AuthError::Broken {
            path: self.path.clone(),
            reason,
        };
        // The position only: a message of serde could contain a value.
        match serde_json::from_slice(&bytes) {
            Ok(Value::Object(map)) => Ok(map),
            Ok(_) => Err(broken("it contains another type".to_owned())),
            Err(error) => Err(broken(format!(
                "line {}, column {}",
                error.line(),
                error.column()
            ))),
        }
    }
}

/// The entries of the list itself.
fn listed(document: &Map<String, Value>, provider: &str) -> Vec<CredentialEntry> {
    let pool = document
        .get("credential_pool")
        .and_then(|pools| pools.get(provider));
    let listed = pool.and_then(Value::as_array).into_iter().flatten();
    listed.filter_map(CredentialEntry::from_value).collect()
}

/// The entries of a provider, with the login that the Python runtime keeps elsewhere.
fn entries_of(document: &Map<String, Value>, provider: &str) -> Vec<CredentialEntry> {
    let mut entries = listed(document, provider);
    let logins = document.get("providers");
    if let Some(state) = logins.and_then(|logins| logins.get(provider)) {
        match entries.iter_mut().find(|entry| entry.is_mirrored()) {
            Some(entry) => drop(entry.mirror(state)),
            // A login of the Python runtime, which has not been listed yet.
            None => entries.extend(unlisted(provider, state)),
        }
    }
    entries.sort_by_key(CredentialEntry::priority);
    entries
}

/// The entry of a login that is known under `providers` only. Its id is always the same.
fn unlisted(provider: &str, state: &Value) -> Option<CredentialEntry> {
    let digest = Sha256::digest(provider.as_bytes());
    let number = digest
        .iter()
        .take(3)
        .fold(0_u32, |number, byte| number << 8 | u32::from(*byte));
    let id = format!("{number:06x}");
    let source = if state["tokens"].is_null() && provider == "minimax-oauth" {
        "oauth"
    } else {
        "device_code"
    };
    let mut entry = CredentialEntry::record(id, "login", source, 0);
    entry.mirror(state).then_some(entry)
}

/// The login as the reference looks for it.
fn put_login(document: &mut Map<String, Value>, provider: &str, login: &CredentialEntry) {
    let mut state = login.to_value();
    state["provider"] = json!(provider);
    if let Some(url) = login.base_url() {
        state["inference_base_url"] = json!(url);
    }
    logins(document)[provider] = state;
}

/// The logins, by provider.
fn logins(document: &mut Map<String, Value>) -> &mut Value {
    let logins = document.entry("providers").or_insert(json!({}));
    if !logins.is_object() {
        *logins = json!({});
    }
    logins
}

/// Removes the tokens of a login; what another program keeps is not listed there.
fn forget_login(document: &mut Map<String, Value>, provider: &str) {
    let has_tokens = logins(document)
        .get(provider)
        .is_some_and(|state| CredentialEntry::default().mirror(state));
    if has_tokens && let Value::Object(logins) = logins(document) {
        logins.remove(provider);
        deactivate(document, provider);
    }
}

fn deactivate(document: &mut Map<String, Value>, provider: &str) {
    if document.get("active_provider").and_then(Value::as_str) == Some(provider) {
        document.insert("active_provider".to_owned(), Value::Null);
    }
}

fn put(document: &mut Map<String, Value>, provider: &str, entries: Vec<Value>) {
    document.entry("version").or_insert(json!(1));
    document.entry("providers").or_insert(json!({}));
    document.entry("active_provider").or_insert(Value::Null);
    let pools = document.entry("credential_pool").or_insert(json!({}));
    if !pools.is_object() {
        *pools = json!({});
    }
    if let Value::Object(pools) = pools {
        if entries.is_empty() {
            pools.remove(provider);
        } else {
            pools.insert(provider.to_owned(), Value::Array(entries));
        }
    }
    let now = jiff::Timestamp::now().to_string();
    document.insert("updated_at".to_owned(), json!(now));
}

impl CredentialEntry {
    /// A new id: six hexadecimal digits, different from `taken`.
    pub fn new_id(taken: &[Self]) -> String {
        loop {
            let mixed = RandomState::new().hash_one(std::process::id());
            let id = format!("{:06x}", mixed & 0xff_ffff);
            if taken.iter().all(|entry| entry.id() != id) {
                return id;
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests access files directly")]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn unknown_parts_are_kept_and_the_file_is_private() {
        let home = tempfile::tempdir().unwrap();
        let file = AuthFile::of_home(home.path());
        let before = json!({
            "version": 1, "active_provider": "nous", "providers": {"nous": {"x": 1}},
            "credential_pool": {"xai": [{"id": "111111", "access_token": "abcdefgh", "extra": [1]}]},
        });
        std::fs::write(file.path(), before.to_string()).unwrap();
        std::fs::set_permissions(file.path(), std::fs::Permissions::from_mode(0o644)).unwrap();
        let added = file
            .change("openrouter", |entries| {
                let id = CredentialEntry::new_id(entries);
                let secret = SecretString::new("sk-or-12345678");
                entries.push(CredentialEntry::manual(id.clone(), "work", &secret, 0));
                id
            })
            .unwrap();
        assert_eq!(added.len(), 6);
        let text = std::fs::read_to_string(file.path()).unwrap();
        let after: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(after["providers"], before["providers"]);
        assert_eq!(after["active_provider"], "nous");
        assert_eq!(
            after["credential_pool"]["xai"],
            before["credential_pool"]["xai"]
        );
        assert_eq!(after["credential_pool"]["openrouter"][0]["label"], "work");
        let mode = std::fs::metadata(file.path()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(file.all().unwrap().len(), 2);
    }

    #[test]
    fn removing_a_provider_keeps_the_others() {
        let home = tempfile::tempdir().unwrap();
        let file = AuthFile::of_home(home.path());
        assert!(file.remove_provider("xai").unwrap().is_none());
        assert!(!file.path().exists());
        let before = json!({
            "active_provider": "nous", "providers": {"nous": {"x": 1}, "other": {}},
            "credential_pool": {
                "xai": [{"id": "111111", "access_token": "abcdefgh"}],
                "nous": [{"id": "222222", "access_token": "abcdefgh"}],
            },
        });
        std::fs::write(file.path(), before.to_string()).unwrap();
        assert_eq!(file.active_provider().unwrap().as_deref(), Some("nous"));
        let forgotten = file.remove_provider("nous").unwrap().unwrap();
        assert_eq!((forgotten.keys.len(), forgotten.login), (1, true));
        assert!(file.remove_provider("nous").unwrap().is_none());
        let text = std::fs::read_to_string(file.path()).unwrap();
        let after: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(after["providers"], json!({"other": {}}));
        assert_eq!(after["active_provider"], Value::Null);
        assert_eq!(
            after["credential_pool"],
            json!({"xai": before["credential_pool"]["xai"]})
        );
    }

    #[test]
    fn broken_file_is_not_rewritten() {
        let home = tempfile::tempdir().unwrap();
        let file = AuthFile::of_home(home.path());
        std::fs::write(file.path(), "{\"access_token\": \"sk-canary\", ").unwrap();
        let error = file.change("xai", Vec::clear).unwrap_err();
        assert!(error.to_string().contains("auth.json"), "{error}");
        assert!(!error.to_string().contains("canary"), "{error}");
        let text = std::fs::read_to_string(file.path()).unwrap();
        assert!(text.contains("sk-canary"));
    }
}
