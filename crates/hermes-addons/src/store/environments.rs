//! Generations of environments: where they are, whether somebody uses them, how one goes.

use std::path::{Path, PathBuf};
use std::time::Duration;

use hermes_fs::{Directory, FileLock, Kind, LockOptions, SharedLock};

use super::names::{ENVIRONMENTS, LEASE, NODE, RECORD, SITE};
use super::place::Store;
use crate::error::Result;

/// One installed environment of a feature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Generation {
    pub(crate) feature: String,
    pub(crate) name: String,
}

impl Generation {
    pub(crate) fn new(feature: &str, name: &str) -> Self {
        Self {
            feature: feature.to_owned(),
            name: name.to_owned(),
        }
    }

    /// Below the root of the store.
    pub(crate) fn relative(&self) -> PathBuf {
        directory_of(&self.feature).join(&self.name)
    }

    pub(crate) fn path(&self, store: &Store) -> PathBuf {
        store.root.join(self.relative())
    }

    pub(crate) fn site(&self, store: &Store) -> PathBuf {
        self.path(store).join(SITE)
    }

    /// Whether code and record are there; what is in them is not looked at.
    pub(crate) fn is_present(&self, store: &Store) -> bool {
        let is = |name: &str, kind: Kind| {
            let path = self.path(store).join(name);
            hermes_fs::symlink_metadata(&path)
                .is_ok_and(|meta| Kind::from(meta.file_type()) == kind)
        };
        is(SITE, Kind::Dir) && is(RECORD, Kind::File)
    }

    /// Whether a process runs code of it.
    pub(crate) fn is_in_use(&self, store: &Store) -> bool {
        SharedLock::is_held(&self.path(store).join(LEASE)).unwrap_or(false)
    }

    /// Keeps it from being removed, until dropped. `None` if it has gone meanwhile, or where nothing
    /// can be locked because nothing can be written: then nobody removes it either.
    pub(crate) fn lease(&self, store: &Store) -> Option<SharedLock> {
        let path = self.path(store).join(LEASE);
        let options = LockOptions::new("the environment of an add-on");
        match SharedLock::acquire(&path, &options) {
            Ok(lease) => Some(lease),
            Err(error) => {
                tracing::info!(%error, "an environment is used without a lease");
                None
            }
        }
    }

    /// Removes it, unless a process runs code of it; `false` then.
    pub(crate) fn retire(&self, store: &Store, force: bool) -> Result<bool> {
        let path = self.path(store);
        let options = LockOptions {
            what: "the environment of an add-on",
            timeout: Duration::ZERO,
        };
        // Held until the directory has another name: whoever comes later does not find it.
        let lease = FileLock::acquire(&path.join(LEASE), &options);
        if matches!(lease, Err(hermes_fs::Error::LockTimeout { .. })) && !force {
            return Ok(false);
        }
        store.discard(&path)?;
        Ok(true)
    }
}

impl Store {
    /// The generations of a feature, oldest first. Links are not followed.
    pub(crate) fn generations(&self, feature: &str) -> Vec<Generation> {
        let below = directory_of(feature);
        let entries = Directory::open(&self.root)
            .and_then(|root| root.directory(&below))
            .and_then(|directory| directory.entries());
        let names = entries.unwrap_or_default().into_iter();
        let names = names.filter(|entry| entry.kind == Kind::Dir);
        names
            .filter_map(|entry| Some(Generation::new(feature, entry.name.to_str()?)))
            .collect()
    }

    /// Removes what is left of a feature once nobody uses anything of it: an empty directory, and the
    /// closures that were resolved for it.
    pub(crate) fn forget(&self, feature: &str) -> Result<()> {
        if self.generations(feature).is_empty() {
            self.discard(&self.root.join(directory_of(feature)))?;
        }
        // What is installed anew is resolved anew.
        self.discard(&self.locks_path(feature))
    }

    /// All features of which there is something.
    pub(crate) fn environment_names(&self) -> Vec<String> {
        let names = |directory: &str| {
            let entries = Directory::open(&self.root)
                .and_then(|root| root.directory(directory.as_ref()))
                .and_then(|directory| directory.entries());
            let names = entries.unwrap_or_default().into_iter();
            names.filter_map(|entry| entry.name.into_string().ok())
        };
        let all = names(ENVIRONMENTS).chain(names(NODE));
        all.map(|name| name.replace(SLASH, "/")).collect()
    }
}

/// What stands for the slash of a name in that of its directory.
const SLASH: char = '+';

/// Whether a feature is a package of npm.
pub(super) fn is_package(feature: &str) -> bool {
    feature.starts_with("npm:")
}

/// The directory of a feature's generations, below the root of the store.
fn directory_of(feature: &str) -> PathBuf {
    let kind = if is_package(feature) {
        NODE
    } else {
        ENVIRONMENTS
    };
    Path::new(kind).join(directory_name(feature))
}

/// The name of a feature's directory.
pub(super) fn directory_name(feature: &str) -> String {
    feature.replace('/', &SLASH.to_string())
}
