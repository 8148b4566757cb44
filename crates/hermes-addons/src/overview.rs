//! What there is, by looking at local files only: nothing is started and nothing is changed.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde::Serialize;

use crate::addons::{Addons, holder};
use crate::catalog::{FEATURES, Feature, Support};
use crate::error::AddonError;
use crate::node_package::NodePackage;
use crate::plugin_packages::PluginPackages;
use crate::store::{Failure, Index, Store, StoredFeature};
use crate::worker::{WorkerRow, shim};

/// What a feature is good for now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Part of the program.
    Native,
    /// Not part of this version, in any form.
    Planned,
    Absent,
    Installing,
    Installed,
    /// Installed, while this build pins other versions.
    Stale,
    /// Installed, and of no use: files or the interpreter are gone.
    Broken,
    /// Not installed, and may not be.
    Blocked,
    Unsupported,
    /// The last install failed.
    Failed,
}

impl State {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Planned => "planned",
            Self::Absent => "absent",
            Self::Installing => "installing",
            Self::Installed => "installed",
            Self::Stale => "stale",
            Self::Broken => "broken",
            Self::Blocked => "blocked",
            Self::Unsupported => "unsupported",
            Self::Failed => "failed",
        }
    }
}

/// The store, the gate and all features.
#[derive(Debug, Clone)]
pub struct Overview {
    pub store: StoreRow,
    pub interpreter: Option<InterpreterRow>,
    pub addons: Vec<AddonRow>,
    /// Why the store cannot be used.
    pub problem: Option<AddonError>,
}

/// The store as a whole.
#[derive(Debug, Clone, Serialize)]
pub struct StoreRow {
    pub path: PathBuf,
    pub abi: Option<String>,
    pub bytes: u64,
    pub free_bytes: Option<u64>,
    /// Packages that the reference installed there.
    pub legacy_packages: usize,
}

/// The interpreter of the last install.
#[derive(Debug, Clone, Serialize)]
pub struct InterpreterRow {
    pub path: PathBuf,
    pub version: String,
    pub abi: String,
}

/// One feature.
#[derive(Debug, Clone, Serialize)]
pub struct AddonRow {
    pub feature: String,
    pub kind: &'static str,
    pub state: State,
    pub specs: Vec<String>,
    pub version: Option<String>,
    pub bytes: u64,
    pub generation: Option<String>,
    /// Settings that name it.
    pub needed_by: Vec<String>,
    /// `None` while it is not installed, and for what has none.
    pub worker: Option<WorkerRow>,
    pub failure: Option<FailureRow>,
}

/// The last failed install.
#[derive(Debug, Clone, Serialize)]
pub struct FailureRow {
    pub code: String,
    pub message: String,
    pub at: String,
    pub count: u32,
}

impl FailureRow {
    pub(crate) fn of(failure: &Failure) -> Self {
        Self {
            code: failure.code.clone(),
            message: failure.message.clone(),
            at: failure.at.clone(),
            count: failure.count,
        }
    }
}

impl AddonRow {
    /// Whether a person would expect it in a short list: something was done about it, or is to be.
    pub fn is_of_interest(&self) -> bool {
        self.is_active() || !self.needed_by.is_empty()
    }

    /// Whether something was done about it.
    pub fn is_active(&self) -> bool {
        match self.state {
            State::Installing | State::Installed | State::Stale | State::Broken | State::Failed => {
                true
            }
            State::Native
            | State::Planned
            | State::Absent
            | State::Blocked
            | State::Unsupported => false,
        }
    }
}

impl Addons {
    /// What there is of one feature.
    pub(crate) fn row(&self, feature: &'static Feature) -> AddonRow {
        let store = self.existing_store().ok().flatten();
        let index = store.as_ref().map(|store| Index::load(store).0);
        let installing = store.as_ref().and_then(holder).map(|holder| holder.feature);
        let index = index.unwrap_or_default();
        self.row_of(feature, store.as_ref(), &index, installing.as_deref())
    }

    /// Looks at everything.
    pub fn overview(&self) -> Overview {
        let (store, problem) = match self.existing_store() {
            Ok(store) => (store, None),
            Err(error) => (None, Some(error)),
        };
        let index = store
            .as_ref()
            .map(|store| Index::load(store).0)
            .unwrap_or_default();
        let installing = store.as_ref().and_then(holder).map(|holder| holder.feature);
        let mut addons: Vec<AddonRow> = FEATURES
            .iter()
            .map(|feature| self.row_of(feature, store.as_ref(), &index, installing.as_deref()))
            .collect();
        let installed = index.features.keys();
        let packages: BTreeSet<&String> = installed
            .chain(self.settings.needs.keys())
            .filter(|name| NodePackage::is_meant(name))
            .collect();
        addons.extend(
            packages
                .into_iter()
                .map(|name| self.package_row(name, store.as_ref(), &index)),
        );
        let plugins = index
            .features
            .keys()
            .filter(|name| PluginPackages::is_meant(name));
        if let Some(store) = &store {
            let rows =
                plugins.map(|name| Self::plugin_row(name, store, &index, installing.as_deref()));
            addons.extend(rows);
        }
        let legacy = |store: &Store| {
            let names = store.legacy_names();
            names
                .iter()
                .filter(|name| name.ends_with(".dist-info"))
                .count()
        };
        let near = self.settings.store.ancestors().find(|path| path.is_dir());
        Overview {
            store: StoreRow {
                path: self.settings.store.clone(),
                abi: store.as_ref().and_then(Store::stamp),
                bytes: addons.iter().map(|row| row.bytes).sum(),
                free_bytes: near.and_then(hermes_fs::disk_space).map(|disk| disk.free),
                legacy_packages: store.as_ref().map_or(0, legacy),
            },
            interpreter: index.interpreter.map(|found| InterpreterRow {
                path: found.path,
                version: found.version,
                abi: found.abi,
            }),
            addons,
            problem,
        }
    }

    /// The features of the catalog and of plugins that are or were in service and have not been
    /// removed, with what there is of each. Those of another interpreter are among them.
    pub fn active(&self) -> Vec<(String, State)> {
        let Ok(Some(store)) = self.existing_store() else {
            return Vec::new();
        };
        let (index, _) = Index::load(&store);
        let was_activated = |name: &str| {
            let entry = index.features.get(name);
            entry.is_some_and(|entry| entry.activated_at.is_some())
        };
        let of_catalog = FEATURES
            .iter()
            .filter(|feature| feature.addon().is_some() && was_activated(feature.name))
            .map(|feature| self.row_of(feature, Some(&store), &index, None));
        let of_plugins = index
            .features
            .keys()
            .filter(|name| self.plugin_key(name).is_some() && was_activated(name))
            .map(|name| Self::plugin_row(name, &store, &index, None));
        of_catalog
            .chain(of_plugins)
            .map(|row| (row.feature, row.state))
            .collect()
    }

    fn row_of(
        &self,
        feature: &'static Feature,
        store: Option<&Store>,
        index: &Index,
        installing: Option<&str>,
    ) -> AddonRow {
        let stored = store.and_then(|store| StoredFeature::find(store, feature.name, index));
        let entry = index.features.get(feature.name);
        let failure = entry.and_then(|entry| entry.failure.as_ref());
        let state = match &feature.support {
            Support::Native => State::Native,
            Support::Planned => State::Planned,
            Support::Python(_) if installing == Some(feature.name) => State::Installing,
            Support::Python(addon) => match &stored {
                Some(stored) if !stored.indexed.interpreter.is_file() => State::Broken,
                Some(stored) => {
                    let closure = self.closure(feature.name, addon);
                    let is_current =
                        closure.is_ok_and(|closure| closure.digest() == stored.indexed.lock_sha256);
                    if is_current {
                        State::Installed
                    } else {
                        State::Stale
                    }
                }
                None if entry.is_some_and(|entry| entry.current.is_some()) => State::Broken,
                None if failure.is_some() => State::Failed,
                None if self.settings.gate.refusal().is_some() => State::Blocked,
                None => State::Absent,
            },
        };
        AddonRow {
            feature: feature.name.to_owned(),
            kind: match feature.support {
                Support::Native => "native",
                Support::Planned => "none",
                Support::Python(_) => "python",
            },
            state,
            specs: feature
                .specs
                .iter()
                .map(|spec| (*spec).to_owned())
                .collect(),
            version: stored.as_ref().map(|stored| stored.indexed.version.clone()),
            bytes: stored.as_ref().map_or(0, |stored| stored.indexed.bytes),
            needed_by: self.needed_by(feature.name),
            worker: stored
                .as_ref()
                .filter(|_| shim::adapter(feature.name).is_some())
                .map(|_| self.worker_row(feature.name)),
            generation: stored.map(|stored| stored.generation.name),
            failure: failure.map(FailureRow::of),
        }
    }

    /// The packages of a plugin, of which there is or was something.
    pub(crate) fn plugin_row(
        feature: &str,
        store: &Store,
        index: &Index,
        installing: Option<&str>,
    ) -> AddonRow {
        let entry = index.features.get(feature);
        let stored = StoredFeature::find(store, feature, index);
        let lock = entry.and_then(|entry| store.lock_with(feature, &entry.lock_sha256));
        let failure = entry.and_then(|entry| entry.failure.as_ref());
        AddonRow {
            feature: feature.to_owned(),
            kind: "python",
            state: match &stored {
                _ if installing == Some(feature) => State::Installing,
                Some(stored) if stored.indexed.interpreter.is_file() => State::Installed,
                None if failure.is_some() => State::Failed,
                _ => State::Broken,
            },
            specs: lock.map(|lock| lock.specs).unwrap_or_default(),
            version: None,
            bytes: stored.as_ref().map_or(0, |stored| stored.indexed.bytes),
            generation: stored.map(|stored| stored.generation.name),
            needed_by: Vec::new(),
            worker: None,
            failure: failure.map(FailureRow::of),
        }
    }

    fn needed_by(&self, feature: &str) -> Vec<String> {
        let settings = self.settings.needs.get(feature);
        settings.cloned().unwrap_or_default()
    }

    /// A package of npm, installed or named by settings.
    pub(crate) fn package_row(
        &self,
        feature: &str,
        store: Option<&Store>,
        index: &Index,
    ) -> AddonRow {
        let indexed = index.features.get(feature);
        let stored = store.and_then(|store| StoredFeature::find(store, feature, index));
        let name = feature.split_once(':').map_or(feature, |(_, name)| name);
        let version = indexed.map(|indexed| indexed.version.clone());
        AddonRow {
            feature: feature.to_owned(),
            kind: "node",
            state: match (&stored, indexed) {
                (Some(stored), _) if stored.indexed.interpreter.is_file() => State::Installed,
                (_, Some(_)) => State::Broken,
                (_, None) => State::Absent,
            },
            specs: version
                .iter()
                .map(|version| format!("{name}@{version}"))
                .collect(),
            version,
            bytes: indexed.map_or(0, |indexed| indexed.bytes),
            generation: stored.map(|stored| stored.generation.name),
            needed_by: self.needed_by(feature),
            worker: None,
            failure: None,
        }
    }
}
