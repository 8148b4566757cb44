//! The quick snapshot: the files that hurt most to lose, in a directory of their own.

use std::path::{Path, PathBuf};

use hermes_fs::{Directory, FileLock, Kind, LockOptions, Staging};
use serde_json::{Map, Value, json};

use super::{Error, Result, SkippedFile};
use crate::database::is_database;
use crate::name::is_canonical;

/// Directory of all snapshots of a home.
const SNAPSHOTS: &str = "state-snapshots";
/// Snapshots kept.
const KEEP: usize = 20;
/// What a snapshot takes, where it exists.
const ENTRIES: [&str; 13] = [
    "state.db",
    "config.yaml",
    ".env",
    "auth.json",
    "cron/jobs.json",
    "channel_directory.json",
    "pairing",
    "platforms/pairing",
    "projects.db",
    "response_store.db",
    "memory_store.db",
    "kanban.db",
    "kanban/boards",
];
/// Directories of a board that are work, not state.
const NOT_STATE: [&str; 2] = ["workspaces", "attachments"];

/// What to take a snapshot of.
#[derive(Debug, Clone, Copy)]
pub struct QuickRequest<'a> {
    pub home: &'a Path,
    /// Ends the name of the snapshot; same pattern as a profile's name.
    pub label: Option<&'a str>,
    pub now: jiff::Timestamp,
}

/// What a snapshot holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct QuickReport {
    pub id: String,
    pub path: PathBuf,
    pub files: u64,
    pub bytes: u64,
    /// What should be in it and is not.
    pub failed: Vec<SkippedFile>,
    /// Older snapshots that were removed to make room.
    pub pruned: Vec<String>,
}

/// Takes a snapshot and removes the oldest beyond twenty.
pub fn create_quick(request: &QuickRequest<'_>) -> Result<QuickReport> {
    if let Some(label) = request.label.filter(|label| !is_canonical(label)) {
        return Err(Error::BadLabel {
            label: label.escape_debug().to_string(),
        });
    }
    let home = hermes_fs::canonicalize(request.home)?;
    let snapshots = home.join(SNAPSHOTS);
    hermes_fs::create_dir_all(&snapshots, 0o700)?;
    let _lock = FileLock::acquire(
        &snapshots.join(".lock"),
        &LockOptions::new("the snapshots of this home"),
    )?;
    Staging::sweep(&snapshots, "")?;

    let time = request.now.strftime("%Y%m%d-%H%M%S").to_string();
    let id = free_id(&snapshots, &time, request.label);
    let staging = Staging::begin(&snapshots, &id)?;
    let root = Directory::open(&home)?;
    let mut snapshot = QuickSnapshot {
        home: &root,
        target: staging.path(),
        files: Map::new(),
        report: QuickReport {
            path: snapshots.join(&id),
            id,
            ..QuickReport::default()
        },
    };
    for entry in ENTRIES {
        snapshot.take(Path::new(entry))?;
    }
    let QuickSnapshot {
        files, mut report, ..
    } = snapshot;
    if files.is_empty() && report.failed.is_empty() {
        return Err(Error::NothingToSnapshot { home });
    }
    let manifest = json!({
        "id": report.id,
        "timestamp": time,
        "label": request.label,
        "file_count": report.files,
        "total_size": report.bytes,
        "files": files,
    });
    hermes_fs::write_atomic(
        &staging.path().join("manifest.json"),
        format!("{manifest:#}\n").as_bytes(),
        0o600,
    )?;
    staging.publish(&report.path)?;
    report.pruned = prune(&snapshots)?;
    Ok(report)
}

/// Two snapshots within one second get different names.
fn free_id(snapshots: &Path, time: &str, label: Option<&str>) -> String {
    let base = label.map_or_else(|| time.to_owned(), |label| format!("{time}-{label}"));
    let mut id = base.clone();
    let mut number = 2;
    while hermes_fs::exists_no_follow(&snapshots.join(&id)) {
        id = format!("{base}-{number}");
        number += 1;
    }
    id
}

fn prune(snapshots: &Path) -> Result<Vec<String>> {
    let mut ids: Vec<String> = hermes_fs::read_dir(snapshots)?
        .into_iter()
        .filter(|entry| entry.kind == Kind::Dir)
        .filter_map(|entry| entry.name.into_string().ok())
        .filter(|name| is_id(name))
        .collect();
    let excess = ids.len().saturating_sub(KEEP);
    ids.truncate(excess);
    for id in &ids {
        hermes_fs::remove_tree(&snapshots.join(id))?;
    }
    Ok(ids)
}

/// Whether a name begins like `20260131-235959`. Nothing else is ever pruned.
fn is_id(name: &str) -> bool {
    let fits = |(index, byte): (usize, u8)| match index {
        8 => byte == b'-',
        _ => byte.is_ascii_digit(),
    };
    name.len() >= 15 && name.bytes().take(15).enumerate().all(fits)
}

struct QuickSnapshot<'a> {
    home: &'a Directory,
    target: &'a Path,
    files: Map<String, Value>,
    report: QuickReport,
}

impl QuickSnapshot<'_> {
    fn take(&mut self, relative: &Path) -> Result<()> {
        // A link to another place is not this home's state, and may change under our hands.
        match self.home.metadata(relative) {
            Ok(meta) if meta.is_dir() => {
                self.home.directory(relative)?.walk(&mut |below, entry| {
                    let relative: PathBuf = relative.iter().chain(below).collect();
                    let entry = match entry {
                        Ok(entry) => entry,
                        Err(error) => return self.fail(&relative, &error).map(|()| false),
                    };
                    let name = entry.name.to_string_lossy();
                    match entry.kind {
                        Kind::Dir => Ok(!NOT_STATE.contains(&name.as_ref())),
                        Kind::File if !hermes_store::is_sidecar_name(&name) => {
                            self.copy(&relative).map(|()| false)
                        }
                        Kind::File | Kind::Symlink | Kind::Special => Ok(false),
                    }
                })
            }
            Ok(_) => self.copy(relative),
            Err(error) if error.is_not_found() => Ok(()),
            Err(error) => self.fail(relative, &error),
        }
    }

    fn copy(&mut self, relative: &Path) -> Result<()> {
        let target = self.target.join(relative);
        if let Some(parent) = target.parent() {
            hermes_fs::create_dir_all(parent, 0o700)?;
        }
        let size = if is_database(relative) {
            match hermes_store::backup_to(&self.home.path().join(relative), &target) {
                Ok(size) => size,
                Err(error) => return self.fail(relative, &error),
            }
        } else {
            let opened = self.home.open_file(relative);
            let path = self.home.path().join(relative);
            match opened.and_then(|(file, _)| hermes_fs::copy_opened(file, &path, &target, 0o600)) {
                Ok(size) => size,
                Err(error) if error.is_storage_full() => return Err(error.into()),
                Err(error) => return self.fail(relative, &error),
            }
        };
        self.files
            .insert(relative.to_string_lossy().into_owned(), size.into());
        self.report.files += 1;
        self.report.bytes += size;
        Ok(())
    }

    #[expect(
        clippy::unnecessary_wraps,
        reason = "the arms that end here return a result"
    )]
    fn fail(&mut self, relative: &Path, error: &dyn std::error::Error) -> Result<()> {
        self.report
            .failed
            .push(SkippedFile::new(relative, error.to_string()));
        Ok(())
    }
}
