//! Taking a feature out of service.

use serde::Serialize;

use crate::addons::Addons;
use crate::error::{AddonError, Code, Result};
use crate::store::Index;

/// The outcome of a removal.
#[derive(Debug, Clone, Serialize)]
pub struct Removal {
    pub feature: String,
    /// Whether something was there.
    pub removed: bool,
    pub bytes: u64,
}

impl Addons {
    /// Removes all environments of a feature, unless a process uses one. With `force` its workers are
    /// ended, and what other processes use goes all the same.
    pub fn remove(&self, name: &str, force: bool) -> Result<Removal> {
        let feature = Self::installable(name)?;
        let name = feature.as_str();
        let nothing = Removal {
            feature: feature.clone(),
            removed: false,
            bytes: 0,
        };
        let of_feature = |error: AddonError| error.of(name);
        let Some(store) = self.existing_store().map_err(of_feature)? else {
            return Ok(nothing);
        };
        let locks = store.locks_path(name);
        let is_unknown = !Index::load(&store).0.features.contains_key(name)
            && !hermes_fs::exists_no_follow(&locks);
        if store.generations(name).is_empty() && is_unknown {
            return Ok(nothing);
        }
        if force {
            self.end_workers(name);
        }
        let _lock = self.lock(&store, name, None, |_| {}).map_err(of_feature)?;
        store.create_parts().map_err(of_feature)?;
        let generations = store.generations(name);
        if !force && generations.iter().any(|one| one.is_in_use(&store)) {
            let error = AddonError::new(Code::InUse, "a process uses it now");
            return Err(error
                .hint(format!(
                    "end that process first, or have its workers ended: hermes addons remove {name} --force"
                ))
                .of(name));
        }
        let (mut index, state) = Index::load(&store);
        let entry = index.features.remove(name);
        index.save(&store, state).map_err(of_feature)?;
        for generation in &generations {
            generation.retire(&store, force).map_err(of_feature)?;
        }
        store.forget(name).map_err(of_feature)?;
        Ok(Removal {
            removed: !generations.is_empty(),
            bytes: entry.map_or(0, |entry| entry.bytes),
            ..nothing
        })
    }
}
