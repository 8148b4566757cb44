//! Collecting what is no longer needed. What is in service, or in use, always stays.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use hermes_fs::Staging;
use serde::Serialize;

use crate::addons::Addons;
use crate::error::{AddonError, Result};
use crate::store::{Index, SHIMS, STAGES, Store, TRASH};
use crate::worker::shim;

/// Something that was removed, or would be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Removed {
    pub path: PathBuf,
    pub bytes: u64,
    pub why: &'static str,
}

/// Everything that was removed.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Collected {
    pub removed: Vec<Removed>,
    pub bytes: u64,
}

/// What is to be collected.
#[derive(Debug, Clone, Default)]
pub struct CollectRequest {
    /// Say what would go, and change nothing.
    pub dry_run: bool,
    /// The packages that the reference installed here, too.
    pub legacy: bool,
    /// Keys of the plugins of this home. The packages of others go.
    pub plugins: BTreeSet<String>,
}

impl Addons {
    /// Removes generations that are not in service, packages of plugins that are gone, what installs left
    /// behind and, if asked to, the packages that the reference installed here.
    pub fn collect(&self, request: &CollectRequest) -> Result<Collected> {
        let dry_run = request.dry_run;
        let Some(store) = self.existing_store()? else {
            return Ok(Collected::default());
        };
        // A dry run changes no byte, not even in the lock.
        let _lock = if dry_run {
            None
        } else {
            let lock = self.lock(&store, "", None, |_| {})?;
            store.create_parts()?;
            Some(lock)
        };
        let mut removed = self.orphans(&store, request)?;
        removed.extend(old_generations(&store, dry_run)?);

        removed.extend(leftovers(&store, dry_run)?);
        removed.extend(old_shims(&store, dry_run)?);
        if request.legacy {
            for name in store.legacy_names() {
                let path = store.path(&name);
                removed.push(noted(&path, "installed by the Python runtime"));
                if !dry_run {
                    store.discard(&path)?;
                }
            }
        }
        Ok(Collected {
            bytes: removed.iter().map(|one| one.bytes).sum(),
            removed,
        })
    }

    /// Takes the packages of plugins out of service that are gone.
    fn orphans(&self, store: &Store, request: &CollectRequest) -> Result<Vec<Removed>> {
        let (mut index, state) = Index::load(store);
        let is_orphan = |name: &String| {
            let key = self.plugin_key(name);
            key.is_some_and(|key| !request.plugins.contains(key))
        };
        let orphans: Vec<String> = index
            .features
            .keys()
            .filter(|name| is_orphan(name))
            .cloned()
            .collect();
        let mut removed = Vec::new();
        for name in &orphans {
            let generations = store.generations(name);
            let paths = generations.iter().map(|one| one.path(store));
            let paths = paths.chain([store.locks_path(name)]);
            removed.extend(paths.map(|path| noted(&path, "for a plugin that is gone")));
            index.features.remove(name);
        }
        if request.dry_run || orphans.is_empty() {
            return Ok(removed);
        }
        index.save(store, state)?;
        for name in &orphans {
            for generation in store.generations(name) {
                generation.retire(store, false)?;
            }
            store.forget(name)?;
        }
        Ok(removed)
    }
}

fn old_generations(store: &Store, dry_run: bool) -> Result<Vec<Removed>> {
    let (index, _) = Index::load(store);
    let mut removed = Vec::new();
    for feature in store.environment_names() {
        let current = index.features.get(&feature);
        let current = current.and_then(|indexed| indexed.current.as_ref());
        for generation in store.generations(&feature) {
            if current == Some(&generation.name) {
                continue;
            }
            let note = noted(&generation.path(store), "not in service any more");
            let goes = if dry_run {
                !generation.is_in_use(store)
            } else {
                generation.retire(store, false)?
            };
            if goes {
                removed.push(note);
            }
        }
    }
    Ok(removed)
}

/// Programs that workers of other builds start with. One that runs has read its own.
fn old_shims(store: &Store, dry_run: bool) -> Result<Vec<Removed>> {
    let mut removed = Vec::new();
    for entry in hermes_fs::read_dir(&store.path(SHIMS)).unwrap_or_default() {
        if entry.name != shim::name() {
            removed.push(noted(&entry.path, "for workers of another build of Hermes"));
            if !dry_run {
                store.discard(&entry.path)?;
            }
        }
    }
    Ok(removed)
}

/// What is in the trash, and stages of installs that have ended. With the lock held none is under
/// way; without it, one whose builder lives is left alone by the sweep.
fn leftovers(store: &Store, dry_run: bool) -> Result<Vec<Removed>> {
    let failed = |error: hermes_fs::Error| AddonError::store(&store.root, &error);
    let mut removed = Vec::new();
    let busy = dry_run && crate::addons::holder(store).is_some();
    let stages = store.path(STAGES);
    for entry in hermes_fs::read_dir(&stages).unwrap_or_default() {
        if !busy {
            removed.push(noted(&entry.path, "left by an install that did not finish"));
        }
        if !dry_run && !entry.name.to_string_lossy().contains(".tmp-") {
            hermes_fs::remove_tree(&entry.path).map_err(failed)?;
        }
    }
    if !dry_run {
        Staging::sweep(&stages, "").map_err(failed)?;
    }
    for entry in hermes_fs::read_dir(&store.path(TRASH)).unwrap_or_default() {
        removed.push(noted(&entry.path, "already removed from service"));
        if !dry_run {
            hermes_fs::remove_tree(&entry.path).map_err(failed)?;
        }
    }
    Ok(removed)
}

fn noted(path: &Path, why: &'static str) -> Removed {
    Removed {
        bytes: Store::bytes_below(path),
        path: path.to_owned(),
        why,
    }
}
