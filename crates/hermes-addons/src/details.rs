//! Everything about one feature, by looking at local files only.

use serde::Serialize;

use crate::addons::Addons;
use crate::error::{AddonError, Code, Result};
use crate::node_package::NodePackage;
use crate::overview::{AddonRow, State};
use crate::plugin_packages::PluginPackages;
use crate::store::{Index, Record, StoredFeature};

/// A feature, whatever its state.
#[derive(Debug, Clone, Serialize)]
pub struct Details {
    #[serde(flatten)]
    pub row: AddonRow,
    /// Every package of the closure, as `name==version`, on whatever platform.
    pub closure: Vec<String>,
    pub size_mb: u64,
    pub roles: &'static [&'static str],
    /// Names of the settings it works with.
    pub secrets: &'static [&'static str],
}

impl Addons {
    /// Looks at one feature.
    pub fn details(&self, name: &str) -> Result<Details> {
        if NodePackage::is_meant(name) {
            return self.package_details(name);
        }
        if PluginPackages::is_meant(name) {
            return self.plugin_details(name);
        }
        let feature = Self::feature(name)?;
        let mut closure = Vec::new();
        if let Some(addon) = feature.addon() {
            let packages = self.closure(feature.name, addon)?;
            let packages = packages.packages().iter();
            closure.extend(packages.map(|one| format!("{}=={}", one.name, one.version)));
        }
        let addon = feature.addon();
        Ok(Details {
            row: self.row(feature),
            closure,
            size_mb: addon.map_or(0, |addon| addon.size_mb),
            roles: addon.map_or(&[], |addon| addon.roles),
            secrets: addon.map_or(&[], |addon| addon.secrets),
        })
    }

    /// Looks at the packages of a plugin.
    fn plugin_details(&self, feature: &str) -> Result<Details> {
        let missing = || {
            AddonError::new(Code::NotInstalled, "it has no packages here")
                .hint("`hermes plugins list` shows the plugins and what they declare")
                .of(feature)
        };
        let store = self.existing_store().map_err(|error| error.of(feature))?;
        let store = store.ok_or_else(missing)?;
        let (index, _) = Index::load(&store);
        let entry = index.features.get(feature).ok_or_else(missing)?;
        let lock = store.lock_with(feature, &entry.lock_sha256);
        let packages = lock.iter().flat_map(|lock| lock.closure.packages());
        let row = Self::plugin_row(feature, &store, &index, None);
        Ok(Details {
            closure: packages
                .map(|one| format!("{}=={}", one.name, one.version))
                .collect(),
            size_mb: row.bytes >> 20,
            roles: &["plugin"],
            secrets: &[],
            row,
        })
    }

    /// Looks at an installed package of npm.
    fn package_details(&self, name: &str) -> Result<Details> {
        let package = NodePackage::parse(name)?;
        let feature = package.feature();
        let store = self.existing_store().map_err(|error| error.of(&feature))?;
        let found = store.and_then(|store| {
            let (index, _) = Index::load(&store);
            let row = self.package_row(&feature, Some(&store), &index);
            if row.state == State::Absent {
                return None;
            }
            let stored = StoredFeature::find(&store, &feature, &index);
            let record = stored.and_then(|stored| Record::load(&store, &stored.generation).ok());
            Some((row, record))
        });
        let Some((row, record)) = found else {
            let error = AddonError::new(Code::NotInstalled, "it is not installed");
            return Err(error
                .hint(format!(
                    "name a version: hermes addons install {feature}@<version>"
                ))
                .of(&feature));
        };
        let packages = record.into_iter().flat_map(|record| record.packages);
        Ok(Details {
            closure: packages
                .map(|one| format!("{}@{}", one.name, one.version))
                .collect(),
            size_mb: row.bytes >> 20,
            roles: &["mcp"],
            secrets: &[],
            row,
        })
    }
}
