//! The environment of a plugin's packages: its name, and what there is of it.

use sha2::{Digest, Sha256};

use crate::addons::Addons;
use crate::error::Result;
use crate::overview::{FailureRow, State};
use crate::plugin_packages::{PREFIX, PluginPackages};
use crate::store::{Index, StoredFeature};

/// What stands before the mark of a home, in a store that several homes share. No key contains it.
const MARK: char = '~';
/// Characters of the mark.
const MARK_LENGTH: usize = 8;

impl Addons {
    /// What the plugin with this key declares.
    pub fn plugin_packages(&self, key: &str, specs: &[String]) -> Result<PluginPackages> {
        let feature = self.plugin_feature(key);
        let checked = PluginPackages::check(specs).map_err(|error| error.of(&feature))?;
        Ok(PluginPackages {
            specs: checked,
            feature,
        })
    }

    /// The name of a plugin's environment. In a store outside of the home the name tells homes apart.
    pub fn plugin_feature(&self, key: &str) -> String {
        let home = hermes_fs::resolved(&self.settings.places.home);
        if hermes_fs::resolved(&self.settings.store).starts_with(&home) {
            return format!("{PREFIX}{key}");
        }
        let digest = hermes_fs::hex(&Sha256::digest(home.as_os_str().as_encoded_bytes()));
        let mark: String = digest.chars().take(MARK_LENGTH).collect();
        format!("{PREFIX}{key}{MARK}{mark}")
    }

    /// The key of the plugin of this home that an environment belongs to.
    pub(crate) fn plugin_key<'f>(&self, feature: &'f str) -> Option<&'f str> {
        let name = feature.strip_prefix(PREFIX)?;
        let key = name.split_once(MARK).map_or(name, |(key, _)| key);
        (self.plugin_feature(key) == feature).then_some(key)
    }

    /// What there is of a plugin's packages, by looking at files only. `Stale` are those that were
    /// installed once and come back with the recorded hashes, without a question.
    pub fn plugin_state(&self, packages: &PluginPackages) -> (State, Option<FailureRow>) {
        let Ok(Some(store)) = self.existing_store() else {
            return (State::Absent, None);
        };
        let (index, _) = Index::load(&store);
        let entry = index.features.get(&packages.feature);
        let failure = entry.and_then(|entry| entry.failure.as_ref());
        let failure = failure.map(FailureRow::of);
        let lock = store.lock_for(&packages.feature, &packages.specs);
        let stored = StoredFeature::find(&store, &packages.feature, &index);
        let is_ready = stored.is_some_and(|stored| {
            let wanted = lock.as_ref().map(|lock| lock.closure.digest());
            wanted.as_ref() == Some(&stored.indexed.lock_sha256)
                && stored.indexed.interpreter.is_file()
                && store.stamp().as_ref() == Some(&stored.indexed.abi)
        });
        let state = match (is_ready, lock, &failure) {
            (true, ..) => State::Installed,
            (false, Some(_), _) => State::Stale,
            (false, None, Some(_)) => State::Failed,
            (false, None, None) => State::Absent,
        };
        (state, failure)
    }
}
