//! What the store holds, for people.

use std::path::PathBuf;

use hermes_fs::symlink_metadata;
use serde_json::Value;

use crate::maintenance::bytes_below;
use crate::{Error, Result, Store};

/// What the store holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Status {
    pub base: PathBuf,
    pub store_bytes: u64,
    pub legacy_bytes: u64,
    pub total_bytes: u64,
    /// Latest first.
    pub projects: Vec<ProjectStatus>,
    pub legacy: Vec<LegacyArchive>,
}

/// A directory with snapshots.
#[derive(Debug, Clone, PartialEq)]
pub struct ProjectStatus {
    pub id: String,
    pub directory: String,
    /// Whether the directory is still there.
    pub exists: bool,
    /// Seconds since 1970.
    pub created_at: Option<f64>,
    /// Seconds since 1970.
    pub last_touch: Option<f64>,
    /// Number of snapshots; `None` if there is no git to count them.
    pub snapshots: Option<u64>,
}

/// What an older layout left.
#[derive(Debug, Clone, PartialEq)]
pub struct LegacyArchive {
    pub name: String,
    pub bytes: u64,
    /// Seconds since 1970.
    pub modified: f64,
}

impl Store {
    /// What the store holds. Changes nothing.
    pub fn status(&self) -> Result<Status> {
        let mut projects = Vec::new();
        for (id, record) in self.records()? {
            let directory = record.get("workdir").and_then(Value::as_str);
            let directory = directory.unwrap_or_default().to_owned();
            let seconds = |name: &str| record.get(name).and_then(Value::as_f64);
            projects.push(ProjectStatus {
                exists: !directory.is_empty() && std::path::Path::new(&directory).exists(),
                created_at: seconds("created_at"),
                last_touch: seconds("last_touch"),
                snapshots: self.count(&id)?,
                directory,
                id,
            });
        }
        projects.sort_by(|one, other| {
            let (one, other) = (one.last_touch, other.last_touch);
            other.unwrap_or(0.0).total_cmp(&one.unwrap_or(0.0))
        });
        let mut legacy = Vec::new();
        for archive in self.archives()? {
            let modified = symlink_metadata(&archive)?.modified().ok();
            let modified =
                modified.and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
            let name = archive.file_name().unwrap_or_default();
            legacy.push(LegacyArchive {
                name: name.to_string_lossy().into_owned(),
                bytes: bytes_below(&archive),
                modified: modified.unwrap_or_default().as_secs_f64(),
            });
        }
        legacy.sort_by(|one, other| other.modified.total_cmp(&one.modified));
        Ok(Status {
            base: self.base().to_owned(),
            store_bytes: bytes_below(&self.directory()),
            legacy_bytes: legacy.iter().map(|archive| archive.bytes).sum(),
            total_bytes: bytes_below(self.base()),
            projects,
            legacy,
        })
    }

    fn count(&self, id: &str) -> Result<Option<u64>> {
        let git = match self.plain() {
            Ok(git) => git,
            Err(Error::NoGit) => return Ok(None),
            Err(error) => return Err(error),
        };
        let reference = format!("refs/hermes/{id}");
        // A project that was recorded and never saved has no reference.
        let count = git.run(["rev-list", "--count", &reference, "--"]);
        let count = count.ok().and_then(|count| count.parse().ok());
        Ok(Some(count.unwrap_or(0)))
    }
}
