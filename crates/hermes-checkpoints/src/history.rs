//! The snapshots of a project, and what has changed since one.

use std::path::PathBuf;

use hermes_fs::remove_file_if_present;
use jiff::Timestamp;

use crate::snapshot::{stage, tip};
use crate::{Error, Limits, Project, Result, Store};

/// Fewest digits of an id that is accepted.
const FEWEST_DIGITS: usize = 4;

/// A snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    pub directory: PathBuf,
    pub id: String,
    /// The beginning of the id, as it is shown.
    pub short_id: String,
    pub time: Timestamp,
    pub reason: String,
    /// Differences to the snapshot before; all 0 for the first.
    pub files_changed: u64,
    pub insertions: u64,
    pub deletions: u64,
}

/// What has changed since a snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotDiff {
    /// A line for each file; empty if nothing has changed.
    pub files: String,
    pub text: String,
}

impl Store {
    /// The latest snapshots of a project, newest first.
    pub fn list(&self, project: &Project, most: usize) -> Result<Vec<Snapshot>> {
        if !self.exists() || !project.directory().is_dir() {
            return Ok(Vec::new());
        }
        let git = self.git_on(project.directory(), &self.index(project))?;
        if tip(&git, project)?.is_none() {
            return Ok(Vec::new());
        }
        let count = format!("-n{most}");
        let words = [
            "log",
            "--no-color",
            "--no-renames",
            "--shortstat",
            "--format=%x1e%H%x1f%h%x1f%at%x1f%P%x1f%s%x1f",
            &count,
            &project.reference(),
            "--",
        ];
        let text = git.run(words)?;
        let entries = text.split('\u{1e}').skip(1);
        Ok(entries.filter_map(|entry| parsed(entry, project)).collect())
    }

    /// The snapshot that an id, or the beginning of one, names.
    pub(crate) fn find(&self, project: &Project, id: &str) -> Result<Snapshot> {
        let missing = || Error::NoSnapshot(id.to_owned());
        let is_id = id.len() >= FEWEST_DIGITS && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_id {
            return Err(missing());
        }
        let id = id.to_ascii_lowercase();
        let all = self.list(project, usize::from(u16::MAX))?;
        all.into_iter()
            .find(|snapshot| snapshot.id.starts_with(&id))
            .ok_or_else(missing)
    }

    /// What has changed in the directory since a snapshot.
    pub fn diff(&self, project: &Project, id: &str, limits: &Limits) -> Result<SnapshotDiff> {
        let snapshot = self.find(project, id)?;
        let _lock = self.lock()?;
        // An index of its own: what is staged for a look belongs to no snapshot.
        let index = self.index(project);
        let own = index.with_extension("diff");
        remove_file_if_present(&own)?;
        if index.is_file() {
            hermes_fs::copy_file(&index, &own, 0o600)?;
        }
        let git = self.git_on(project.directory(), &own)?;
        let compared = stage(project, &git, &own, limits).and_then(|tree| {
            let show = |how: &[&str]| {
                let mut words = vec!["diff", "--no-color", "--no-renames"];
                words.extend_from_slice(how);
                words.extend([snapshot.id.as_str(), tree.as_str(), "--"]);
                git.run(words)
            };
            Ok(SnapshotDiff {
                files: show(&["--stat"])?,
                text: show(&[])?,
            })
        });
        remove_file_if_present(&own)?;
        compared
    }
}

fn parsed(entry: &str, project: &Project) -> Option<Snapshot> {
    let mut fields = entry.splitn(6, '\u{1f}');
    let mut next = || fields.next().map(str::trim);
    let (id, short_id, time) = (next()?, next()?, next()?);
    let (parents, reason, changes) = (next()?, next()?, next()?);
    let changes = if parents.is_empty() { "" } else { changes };
    let number_before = |word: &str| {
        let part = changes.split(',').find(|part| part.contains(word))?;
        part.split_whitespace().next()?.parse().ok()
    };
    Some(Snapshot {
        directory: project.directory().to_owned(),
        id: id.to_owned(),
        short_id: short_id.to_owned(),
        time: Timestamp::from_second(time.parse().ok()?).ok()?,
        reason: reason.to_owned(),
        files_changed: number_before("file").unwrap_or(0),
        insertions: number_before("insertion").unwrap_or(0),
        deletions: number_before("deletion").unwrap_or(0),
    })
}
