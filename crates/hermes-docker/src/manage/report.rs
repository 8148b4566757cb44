//! What is asked of these operations and what they answer. The names of the fields are those of the
//! JSON output.

use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;

use crate::engine::EngineInfo;
use crate::identity::HomeOf;

/// Which sandboxes are meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    ThisProfile,
    /// Those of all profiles; with the homes of the installation, whose containers count as its own.
    AllProfiles {
        homes: Vec<PathBuf>,
    },
    /// Everybody's, whatever their home.
    AllHomes,
}

/// All sandboxes there are.
#[derive(Debug, Clone, Serialize)]
pub struct Listing {
    pub engine: EngineInfo,
    pub sandboxes: Vec<SandboxRow>,
    /// How many more there are that belong to other homes.
    #[serde(skip)]
    pub left_out: usize,
}

/// One sandbox. The names of the fields are those of the JSON output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SandboxRow {
    /// Full id.
    pub id: String,
    pub name: String,
    /// The engine's word.
    pub state: String,
    pub task_id: String,
    pub profile: String,
    pub image: String,
    pub created_at: Option<String>,
    /// When it ended last.
    pub finished_at: Option<String>,
    /// When a command was last run in it.
    pub last_used_at: Option<String>,
    pub network: Option<String>,
    /// Directories of the host in it.
    pub mounts: Vec<MountRow>,
    /// Settings that differ from those in effect.
    pub drift: Vec<String>,
    pub home: HomeOf,
}

/// A directory of the host in a sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MountRow {
    /// On the host.
    pub source: String,
    /// In the container.
    pub target: String,
    pub ro: bool,
}

/// A container that something was done to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Changed {
    /// Full id.
    pub id: String,
    pub name: String,
}

/// What to prune.
#[derive(Debug, Clone)]
pub struct PruneRequest {
    pub scope: Scope,
    /// How long unused; twice the lifetime of idle sandboxes if `None`.
    pub older_than: Option<Duration>,
    /// Whether running ones go, too, if nobody has used them for so long.
    pub running: bool,
    pub dry_run: bool,
}

/// What was pruned.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Pruned {
    /// Ids of containers that are gone, or would be.
    pub removed: Vec<String>,
    pub kept: Vec<Kept>,
}

/// A container that stays.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Kept {
    /// Full id.
    pub id: String,
    pub reason: String,
}

/// What was removed of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Removed {
    pub containers: Vec<Changed>,
    /// Its directory, if there was one and it is gone.
    pub directory: Option<PathBuf>,
}
