//! `provider_models_cache.json`: lists of models, remembered for an hour so that a picker opens at
//! once. The names stand where the reference looks for them, what else is known beside them.

use std::path::{Path, PathBuf};

use hermes_fs::{FileLock, LockOptions};
use serde_json::{Map, Value, json};

use crate::context::ListedModel;

/// Largest cache that is read.
const MAX_BYTES: u64 = 16 << 20;
/// Seconds after which a list is asked for again.
const LIFETIME: i64 = 3600;

/// The remembered lists.
#[derive(Debug, Clone)]
pub struct ModelListCache {
    path: PathBuf,
}

impl ModelListCache {
    /// The cache of a home.
    pub fn of_home(home: &Path) -> Self {
        Self {
            path: home.join("provider_models_cache.json"),
        }
    }

    /// The list of a provider at an address, if it is not old.
    pub fn get(&self, provider: &str, address: &str) -> Option<Vec<ListedModel>> {
        let all = self.load();
        let entry = all.get(provider)?;
        let age = jiff::Timestamp::now().as_second() - entry["at"].as_i64()?;
        let is_fresh = (0..LIFETIME).contains(&age);
        if entry["fp"] != address || !is_fresh {
            return None;
        }
        let names = entry["models"].as_array()?.iter().filter_map(Value::as_str);
        let models: Vec<_> = names
            .map(|name| ListedModel::from_json(name, &entry["details"][name]))
            .collect();
        (!models.is_empty()).then_some(models)
    }

    /// Remembers a list. A failure is only logged: the list has been had.
    pub fn put(&self, provider: &str, address: &str, models: &[ListedModel]) {
        if models.is_empty() {
            return;
        }
        let details: Map<String, Value> = models
            .iter()
            .map(|model| (model.name.clone(), model.to_json()))
            .collect();
        let names: Vec<&str> = models.iter().map(|model| model.name.as_str()).collect();
        let entry = json!({
            "fp": address,
            "at": jiff::Timestamp::now().as_second(),
            "models": names,
            "details": details,
        });
        if let Err(error) = self.write(provider, entry) {
            tracing::warn!("could not remember the models of {provider}: {error}");
        }
    }

    /// Forgets every list.
    pub fn clear(&self) -> hermes_fs::Result<()> {
        hermes_fs::remove_file_if_present(&self.path).map(drop)
    }

    fn write(&self, provider: &str, entry: Value) -> hermes_fs::Result<()> {
        let lock = self.path.with_file_name(".provider_models_cache.lock");
        let _held = FileLock::acquire(&lock, &LockOptions::new("provider_models_cache.json"))?;
        let mut all = self.load();
        all.insert(provider.to_owned(), entry);
        let text = Value::Object(all).to_string();
        hermes_fs::write_atomic(&self.path, text.as_bytes(), 0o600)
    }

    fn load(&self) -> Map<String, Value> {
        let bytes = hermes_fs::read_optional(&self.path, MAX_BYTES)
            .ok()
            .flatten();
        let parsed = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        match parsed {
            Some(Value::Object(map)) => map,
            _ => Map::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn list_is_remembered_for_its_address_only() {
        let home = tempfile::tempdir().unwrap();
        let cache = ModelListCache::of_home(home.path());
        assert_eq!(cache.get("xai", "https://a/v1"), None);
        let models = vec![ListedModel {
            window: Some(8_192),
            ..ListedModel::named("grok")
        }];
        cache.put("xai", "https://a/v1", &models);
        cache.put("gemini", "https://b/v1", &[]);
        assert_eq!(cache.get("xai", "https://a/v1"), Some(models));
        assert_eq!(cache.get("xai", "https://c/v1"), None);
        assert_eq!(cache.get("gemini", "https://b/v1"), None);
        cache.clear().unwrap();
        assert_eq!(cache.get("xai", "https://a/v1"), None);
    }
}
