//! The add-ons of a profile: settings, and the locks that count for it.

use std::time::{Duration, Instant};

use hermes_fs::{FileLock, LockOptions};
use hermes_proc::Wake;
use serde::{Deserialize, Serialize};

use crate::catalog::{Feature, PythonAddon};
use crate::closure::Closure;
use crate::error::{AddonError, Code, Result};
use crate::interpreter::Interpreter;
use crate::node_package::NodePackage;
use crate::plugin_packages::PluginPackages;
use crate::settings::AddonSettings;
use crate::store::{LOCK, Store, StoreState};

const MAX_LOCK: u64 = 4 << 20;
/// How long a wait for the lock goes on before somebody may interrupt it.
const LOCK_PERIOD: Duration = Duration::from_millis(200);

/// The add-ons of a profile. Reads nothing until it is asked.
#[derive(Debug, Clone)]
pub struct Addons {
    pub(crate) settings: AddonSettings,
}

/// Who holds the lock of the store, for messages.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct LockHolder {
    pub(crate) pid: u32,
    pub(crate) host: String,
    pub(crate) feature: String,
    pub(crate) since: String,
}

impl Addons {
    /// The add-ons that these settings speak of.
    pub fn new(settings: AddonSettings) -> Self {
        Self { settings }
    }

    /// The settings that count.
    pub fn settings(&self) -> &AddonSettings {
        &self.settings
    }

    /// The feature of this name, whatever supports it.
    pub fn feature(name: &str) -> Result<&'static Feature> {
        Feature::named(name).ok_or_else(|| AddonError::unknown(name))
    }

    /// The name of something that can be installed: a feature, a package of npm without its version, or
    /// the packages of a plugin.
    pub(crate) fn installable(name: &str) -> Result<String> {
        if PluginPackages::is_meant(name) {
            return Ok(name.to_owned());
        }
        if NodePackage::is_meant(name) {
            return NodePackage::parse(name).map(|package| package.feature());
        }
        Self::feature(name).map(|feature| feature.name.to_owned())
    }

    /// The interpreter that an install would use. Starts it.
    pub fn interpreter(&self) -> Result<Interpreter> {
        Interpreter::find(&self.settings, None)
    }

    /// The closure of a feature: the one that was compiled in, unless a test put another in its place.
    pub(crate) fn closure(&self, feature: &str, addon: &PythonAddon) -> Result<Closure> {
        let replaced = self.settings.test_locks.as_ref().and_then(|directory| {
            let path = directory.join(format!("{feature}.txt"));
            let text = hermes_fs::read_text_capped(&path, MAX_LOCK).ok()?;
            Closure::parse(&text)
        });
        replaced.or_else(|| addon.closure()).ok_or_else(|| {
            AddonError::new(Code::Broken, "the lock of this build cannot be read").of(feature)
        })
    }

    /// The store, if it is there and may be used.
    pub(crate) fn existing_store(&self) -> Result<Option<Store>> {
        let (store, state) = Store::examine(&self.settings)?;
        Ok((state == StoreState::Usable).then_some(store))
    }

    /// Takes the lock of everybody who changes the store, at once or after waiting for whoever has it.
    pub(crate) fn lock(
        &self,
        store: &Store,
        feature: &str,
        cancel: Option<&Wake>,
        waiting: impl FnOnce(&LockHolder),
    ) -> Result<FileLock> {
        let path = store.path(LOCK);
        let acquire = |timeout: Duration| {
            let what = "the add-on store";
            FileLock::acquire(&path, &LockOptions { what, timeout })
        };
        let begun = Instant::now();
        let mut lock = acquire(Duration::ZERO);
        if is_taken(&lock)
            && let Some(holder) = holder(store)
        {
            waiting(&holder);
        }
        while is_taken(&lock) && begun.elapsed() < self.settings.install_timeout {
            if cancel.is_some_and(Wake::is_raised) {
                let reason = "the wait for another install was interrupted";
                return Err(AddonError::new(Code::Cancelled, reason));
            }
            lock = acquire(LOCK_PERIOD);
        }
        let lock = lock.map_err(|error| match error {
            hermes_fs::Error::LockTimeout { .. } => AddonError::new(
                Code::StoreBusy,
                format!(
                    "another install has kept the store for {} s",
                    begun.elapsed().as_secs()
                ),
            )
            .hint("wait for it to finish, then try again"),
            other => AddonError::store(&store.root, &other),
        })?;
        let holder = LockHolder {
            pid: std::process::id(),
            host: rustix::system::uname()
                .nodename()
                .to_string_lossy()
                .into_owned(),
            feature: feature.to_owned(),
            since: jiff::Timestamp::now()
                .strftime("%Y-%m-%dT%H:%M:%SZ")
                .to_string(),
        };
        let text = serde_json::to_vec(&holder).unwrap_or_default();
        lock.write(&text)
            .map_err(|error| AddonError::store(&store.root, &error))?;
        Ok(lock)
    }
}

fn is_taken(lock: &hermes_fs::Result<FileLock>) -> bool {
    matches!(lock, Err(hermes_fs::Error::LockTimeout { .. }))
}

/// Who holds the lock of the store now.
pub(crate) fn holder(store: &Store) -> Option<LockHolder> {
    let path = store.path(LOCK);
    if !FileLock::is_held(&path).unwrap_or(false) {
        return None;
    }
    let text = hermes_fs::read_capped(&path, 4096).ok()?;
    serde_json::from_slice(&text).ok()
}
