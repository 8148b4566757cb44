//! Packages of Python that a plugin declares: pinned, resolved once, and kept in an environment of the
//! plugin's own.

use sha2::{Digest, Sha256};

use crate::addons::Addons;
use crate::error::{AddonError, Code, Result};
use crate::overview::{FailureRow, State};
use crate::spec::is_pinned;
use crate::store::{Index, StoredFeature};

/// How the names of such environments begin.
const PREFIX: &str = "plugin:";
/// What stands before the mark of a home, in a store that several homes share. No key contains it.
const MARK: char = '~';
/// Characters of the mark.
const MARK_LENGTH: usize = 8;

/// What a plugin declares, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginPackages {
    /// The name of the environment: `plugin:<key>`.
    pub feature: String,
    /// The pins, sorted.
    pub specs: Vec<String>,
}

impl PluginPackages {
    /// Whether a text means the environment of a plugin.
    pub fn is_meant(text: &str) -> bool {
        text.starts_with(PREFIX)
    }

    /// The pins that a manifest declares; the error names the first that is none.
    pub fn check(specs: &[String]) -> Result<Vec<String>> {
        let mut checked: Vec<String> = Vec::new();
        for spec in specs {
            let spec = spec.trim();
            if !is_pinned(spec) {
                let reason = format!(
                    "'{}' in python_dependencies is not a package with an exact version",
                    hermes_text::shown(spec, 80)
                );
                return Err(AddonError::new(Code::UnsafeSpec, reason).hint(
                    "write name==version; addresses, paths, ranges and options are refused",
                ));
            }
            checked.push(spec.to_owned());
        }
        checked.sort();
        checked.dedup();
        Ok(checked)
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pins_are_sorted_and_named_once() {
        let specs = [" b==2 ", "a==1", "b==2"].map(str::to_owned);
        assert_eq!(PluginPackages::check(&specs).unwrap(), ["a==1", "b==2"]);
    }

    #[test]
    fn the_first_bad_pin_is_named() {
        for spec in [
            "requests",
            "requests>=2",
            "git+https://host/x",
            "x @ https://host/x.whl",
            "./local",
            "--index-url=https://evil",
            "-r other.txt",
            "x-1.0-py3-none-any.whl",
            "",
        ] {
            let error = PluginPackages::check(&["a==1".to_owned(), spec.to_owned()]).unwrap_err();
            assert_eq!(error.code, Code::UnsafeSpec, "{spec}");
            assert!(
                error.reason.contains(&format!("'{spec}'")),
                "{}",
                error.reason
            );
        }
    }
}
