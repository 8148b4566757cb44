//! The index of the store: which generation of each feature is in service, and what failed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::environments::{Generation, is_package};
use super::names::INDEX;
use super::place::Store;
use super::record::Record;
use crate::catalog::Feature;
use crate::closure::normal_name;
use crate::error::{AddonError, Code, InstallerReport, Result};

/// Where an index goes that cannot be read.
const BAD: &str = ".hermes-addons.json.bad";
const SCHEMA: u32 = 1;
const MAX_INDEX: u64 = 8 << 20;

/// The index. Everything in it can be found again by looking at the environments.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Index {
    schema: u32,
    #[serde(default)]
    pub(crate) features: BTreeMap<String, IndexedFeature>,
    #[serde(default)]
    pub(crate) interpreter: Option<IndexedInterpreter>,
}

/// What the index says of a feature.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct IndexedFeature {
    /// The generation in service.
    pub(crate) current: Option<String>,
    #[serde(default)]
    pub(crate) lock_sha256: String,
    #[serde(default)]
    pub(crate) kind: String,
    #[serde(default)]
    pub(crate) activated_at: Option<String>,
    #[serde(default)]
    pub(crate) abi: String,
    #[serde(default)]
    pub(crate) interpreter: PathBuf,
    #[serde(default)]
    pub(crate) version: String,
    #[serde(default)]
    pub(crate) bytes: u64,
    #[serde(default)]
    pub(crate) failure: Option<Failure>,
}

/// The last failed install.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Failure {
    pub(crate) code: String,
    pub(crate) message: String,
    pub(crate) at: String,
    pub(crate) count: u32,
    #[serde(default)]
    pub(crate) hint: Option<String>,
    /// What the installer said.
    #[serde(default)]
    pub(crate) installer: Option<Box<InstallerReport>>,
}

/// The interpreter of the last install.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct IndexedInterpreter {
    pub(crate) path: PathBuf,
    pub(crate) version: String,
    pub(crate) abi: String,
}

impl Index {
    /// Reads the index. One that is missing, cannot be read or is newer is made again from the
    /// environments, in memory.
    pub(crate) fn load(store: &Store) -> (Self, IndexState) {
        let bytes = match hermes_fs::read_optional(&store.path(INDEX), MAX_INDEX) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return (Self::rebuilt(store), IndexState::Missing),
            Err(_) => return (Self::rebuilt(store), IndexState::Bad),
        };
        match serde_json::from_slice::<Self>(&bytes) {
            Ok(index) if index.schema == SCHEMA => (index, IndexState::Good),
            _ => (Self::rebuilt(store), IndexState::Bad),
        }
    }

    /// Replaces the index. One that could not be read is kept beside it.
    pub(crate) fn save(&mut self, store: &Store, was: IndexState) -> Result<()> {
        let failed = |error: hermes_fs::Error| AddonError::store(&store.root, &error);
        self.schema = SCHEMA;
        if was == IndexState::Bad {
            // Whatever is there, a directory included, must not keep us from writing.
            let (from, to) = (store.path(INDEX), store.path(BAD));
            hermes_fs::remove_tree(&to).map_err(failed)?;
            hermes_fs::rename(&from, &to).map_err(failed)?;
        }
        let mut json = serde_json::to_vec_pretty(self)
            .map_err(|error| AddonError::new(Code::StoreUnwritable, error.to_string()))?;
        json.push(b'\n');
        hermes_fs::write_atomic(&store.path(INDEX), &json, 0o600).map_err(failed)
    }

    /// What the records on disk say: of each feature the newest generation is in service.
    fn rebuilt(store: &Store) -> Self {
        let mut index = Self::default();
        for name in store.environment_names() {
            for generation in store.generations(&name).into_iter().rev() {
                if let Ok(record) = Record::load(store, &generation) {
                    index.features.insert(name, indexed(&record));
                    break;
                }
            }
        }
        index
    }
}

/// A feature of the index whose environment is really there.
#[derive(Debug, Clone)]
pub(crate) struct StoredFeature {
    pub(crate) generation: Generation,
    pub(crate) indexed: IndexedFeature,
}

impl StoredFeature {
    /// The environment that is in service, if it is there.
    pub(crate) fn find(store: &Store, feature: &str, index: &Index) -> Option<Self> {
        let indexed = index.features.get(feature)?;
        let current = indexed.current.as_deref()?;
        // The index is a file; it must not lead anywhere else.
        let is_name = Path::new(current).components().count() == 1 && !current.starts_with('.');
        let generation = Generation::new(feature, current);
        (is_name && generation.is_present(store)).then(|| Self {
            generation,
            indexed: indexed.clone(),
        })
    }
}

/// What the index says of an environment with this record.
pub(crate) fn indexed(record: &Record) -> IndexedFeature {
    IndexedFeature {
        current: Some(record.generation.clone()),
        lock_sha256: record.lock_sha256.clone(),
        kind: if is_package(&record.feature) {
            "node".to_owned()
        } else {
            "python".to_owned()
        },
        activated_at: Some(record.created_at.clone()),
        interpreter: record.interpreter.clone(),
        abi: record.abi.clone(),
        version: main_version(record).unwrap_or_default(),
        bytes: record.bytes,
        failure: None,
    }
}

/// The version of the package that the feature is about.
fn main_version(record: &Record) -> Option<String> {
    let name = match record.feature.strip_prefix("npm:") {
        Some(name) => name.to_owned(),
        None => {
            let spec = Feature::named(&record.feature)?.specs.first()?;
            normal_name(spec.split(['[', '=']).next()?)
        }
    };
    let mut packages = record.packages.iter();
    packages
        .find(|package| package.name == name)
        .map(|package| package.version.clone())
}

/// Whether the index could be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IndexState {
    Good,
    Missing,
    Bad,
}
