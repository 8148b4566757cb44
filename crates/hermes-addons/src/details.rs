//! Everything about one feature, by looking at local files only.

use serde::Serialize;

use crate::addons::Addons;
use crate::error::Result;
use crate::overview::AddonRow;

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
}
