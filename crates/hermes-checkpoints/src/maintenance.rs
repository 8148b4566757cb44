//! What keeps the store small: old snapshots are dropped, and what belongs to none is removed.

use std::path::Path;
use std::time::{Duration, SystemTime};

use hermes_fs::{
    Kind, exists_no_follow, read_text_capped, remove_file_if_present, remove_tree,
    symlink_metadata, walk, write_atomic_exact,
};
use serde_json::Value;

use crate::store::{BASE, LEGACY, MARKER, StoreGit, seconds_now};
use crate::{Project, Result, Retention, Store};

/// Rounds in which the oldest snapshots are dropped until the store fits.
const ROUNDS: usize = 12;
/// Longest text of the marker.
const LONGEST: u64 = 128;

/// What was removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Projects that were looked at.
    pub scanned: usize,
    /// Projects whose directory is gone.
    pub orphans: usize,
    /// Projects and old archives without a recent change.
    pub stale: usize,
    /// What could not be removed.
    pub errors: usize,
    pub bytes_freed: u64,
}

/// A snapshot as it is written anew.
struct Kept {
    tree: String,
    /// Seconds and zone, as git writes them.
    date: String,
    reason: String,
}

impl Store {
    /// Drops what nobody needs any more.
    pub fn prune(&self, retention: &Retention) -> Result<Pruned> {
        let mut pruned = Pruned::default();
        if !exists_no_follow(self.base()) {
            return Ok(pruned);
        }
        let _lock = self.lock()?;
        let before = bytes_below(self.base());
        self.prune_archives(retention, &mut pruned)?;
        if self.exists() {
            self.ensure()?;
            self.remove_stale_locks(None);
            for (id, record) in self.records()? {
                pruned.scanned += 1;
                let gone = is_orphan(&record) && retention.delete_orphans;
                let old = is_older(record.get("last_touch"), retention.kept);
                if !gone && !old {
                    continue;
                }
                match self.forget(&id) {
                    Ok(()) if gone => pruned.orphans += 1,
                    Ok(()) => pruned.stale += 1,
                    Err(error) => {
                        pruned.errors += 1;
                        tracing::warn!(%error, "snapshots of {id} were not removed");
                    }
                }
            }
            self.collect()?;
            self.enforce_size(retention.max_total_bytes)?;
        }
        pruned.bytes_freed = before.saturating_sub(bytes_below(self.base()));
        Ok(pruned)
    }

    /// Prunes, and writes down when, so that of several processes one does the work.
    pub fn prune_now(&self, retention: &Retention) -> Result<Pruned> {
        let marker = self.base().join(MARKER);
        write_atomic_exact(&marker, seconds_now().to_string().as_bytes(), 0o600)?;
        self.prune(retention)
    }

    /// Removes the snapshots of a project with its index and its record.
    fn forget(&self, id: &str) -> Result<()> {
        let reference = format!("refs/hermes/{id}");
        self.plain()?.run(["update-ref", "-d", &reference])?;
        remove_file_if_present(&self.directory().join("indexes").join(id))?;
        remove_file_if_present(&self.record_path(id))?;
        Ok(())
    }

    fn prune_archives(&self, retention: &Retention, pruned: &mut Pruned) -> Result<()> {
        let Some(kept) = retention.kept else {
            return Ok(());
        };
        for archive in self.archives()? {
            let modified = symlink_metadata(&archive)?.modified().ok();
            let age = modified.and_then(|time| SystemTime::now().duration_since(time).ok());
            if age.is_none_or(|age| age < kept) {
                continue;
            }
            match remove_tree(&archive) {
                Ok(()) => pruned.stale += 1,
                Err(error) => {
                    pruned.errors += 1;
                    tracing::warn!(%error, "an archive of old snapshots was not removed");
                }
            }
        }
        Ok(())
    }

    /// Directories that hold what an older layout left.
    pub(crate) fn archives(&self) -> Result<Vec<std::path::PathBuf>> {
        let entries = match hermes_fs::read_dir(self.base()) {
            Ok(entries) => entries,
            Err(error) if error.is_not_found() => return Ok(Vec::new()),
            Err(error) => return Err(error.into()),
        };
        let archives = entries.into_iter().filter(|entry| {
            entry.kind == Kind::Dir && entry.name.to_string_lossy().starts_with(LEGACY)
        });
        Ok(archives.map(|entry| entry.path).collect())
    }

    /// Removes all snapshots. Gives the bytes that were freed.
    pub fn clear(&self) -> Result<u64> {
        let bytes = bytes_below(self.base());
        if exists_no_follow(self.base()) {
            let _lock = self.lock()?;
            remove_tree(self.base())?;
        }
        Ok(bytes)
    }

    /// Removes what an older layout left. Gives how many archives that were, and their bytes.
    pub fn clear_legacy(&self) -> Result<(usize, u64)> {
        if self.archives()?.is_empty() {
            return Ok((0, 0));
        }
        let _lock = self.lock()?;
        let archives = self.archives()?;
        let mut bytes = 0;
        for archive in &archives {
            bytes += bytes_below(archive);
            remove_tree(archive)?;
        }
        Ok((archives.len(), bytes))
    }

    /// Drops all but the latest snapshots of a project.
    pub(crate) fn keep_latest(&self, project: &Project, most: usize) -> Result<()> {
        let git = self.plain()?;
        let reference = project.reference();
        let count = git.run(["rev-list", "--count", &reference])?;
        let count: usize = count.parse().unwrap_or(0);
        if count > most {
            rewrite(&git, &reference, count - most)?;
        }
        Ok(())
    }

    /// Drops the oldest snapshots of all projects until the store fits, but never the last one of a
    /// project.
    pub(crate) fn enforce_size(&self, most: u64) -> Result<()> {
        let objects = self.directory().join("objects");
        if most == 0 || bytes_below(&objects) <= most {
            return Ok(());
        }
        self.collect()?;
        for _ in 0..ROUNDS {
            let bytes = bytes_below(&objects);
            if bytes <= most {
                return Ok(());
            }
            if !self.drop_oldest()? {
                tracing::warn!(
                    "the snapshots take {} MB, more than checkpoints.max_total_size_mb allows, and \
                     only the last one of each directory is left",
                    bytes >> 20
                );
                return Ok(());
            }
            self.collect()?;
        }
        Ok(())
    }

    /// Drops a quarter of the snapshots that can be dropped, the oldest of all. Gives whether there were
    /// any.
    fn drop_oldest(&self) -> Result<bool> {
        let git = self.plain()?;
        let references = git.run(["for-each-ref", "--format=%(refname)", "refs/hermes"])?;
        let mut all: Vec<(i64, &str)> = Vec::new();
        for reference in references.lines() {
            let times = git.run(["log", "--format=%ct", reference, "--"])?;
            let old = times.lines().skip(1);
            all.extend(old.filter_map(|time| Some((time.parse().ok()?, reference))));
        }
        all.sort_unstable();
        all.truncate(all.len().div_ceil(4));
        for reference in references.lines() {
            let count = all.iter().filter(|(_, of)| *of == reference).count();
            if count > 0 {
                rewrite(&git, reference, count)?;
            }
        }
        Ok(!all.is_empty())
    }

    /// Removes what belongs to no snapshot, and packs the rest.
    fn collect(&self) -> Result<()> {
        let git = self.plain()?.patient(3);
        git.run(["reflog", "expire", "--expire=now", "--all"])?;
        git.run(["gc", "--prune=now", "--quiet"])?;
        self.make_needed()
    }
}

/// Whether the snapshots of a home were not pruned within `interval`. Without any they need not be.
pub fn is_prune_due(home: &Path, interval: Duration) -> bool {
    let base = home.join(BASE);
    if !exists_no_follow(&base) {
        return false;
    }
    let last = read_text_capped(&base.join(MARKER), LONGEST).ok();
    let last = last.and_then(|text| text.trim().parse::<f64>().ok());
    let now = seconds_now();
    // A time in the future is that of a clock that was wrong.
    !last.is_some_and(|last| last <= now && now - last < interval.as_secs_f64())
}

/// Writes the snapshots of a reference anew without its oldest ones. They keep their times.
fn rewrite(git: &StoreGit, reference: &str, dropped: usize) -> Result<()> {
    let words = [
        "log",
        "--reverse",
        "--date=raw",
        "--format=%T%x1f%ad%x1f%s",
        reference,
        "--",
    ];
    let text = git.run(words)?;
    let kept = text.lines().skip(dropped).filter_map(|line| {
        let mut fields = line.splitn(3, '\u{1f}').map(str::to_owned);
        Some(Kept {
            tree: fields.next()?,
            date: fields.next()?,
            reason: fields.next()?,
        })
    });
    let mut stream = format!("reset {reference}\n\n");
    for (at, one) in kept.enumerate() {
        let who = format!("Hermes Checkpoint <hermes@local> {}", one.date);
        let reason = if one.reason.is_empty() {
            "checkpoint"
        } else {
            &one.reason
        };
        let mark = at + 1;
        stream.push_str(&format!(
            "commit {reference}\nmark :{mark}\nauthor {who}\ncommitter {who}\ndata {}\n{reason}\n",
            reason.len()
        ));
        if at > 0 {
            stream.push_str(&format!("from :{at}\n"));
        }
        stream.push_str(&format!("M 040000 {} \"\"\n\n", one.tree));
    }
    git.run_with(["fast-import", "--quiet", "--force"], stream.as_bytes())?;
    Ok(())
}

fn is_orphan(record: &serde_json::Map<String, Value>) -> bool {
    let Some(directory) = record.get("workdir").and_then(Value::as_str) else {
        return true;
    };
    // A path that is not text is not the one that is recorded, and a directory that cannot be looked at
    // may still be there.
    let is_exact = !directory.contains(char::REPLACEMENT_CHARACTER);
    is_exact && matches!(Path::new(directory).try_exists(), Ok(false))
}

fn is_older(time: Option<&Value>, kept: Option<Duration>) -> bool {
    let time = time.and_then(Value::as_f64).filter(|time| *time > 0.0);
    match (time, kept) {
        (Some(time), Some(kept)) => time < seconds_now() - kept.as_secs_f64(),
        _ => false,
    }
}

/// Bytes of the files below a directory; what cannot be looked at does not count.
pub(crate) fn bytes_below(root: &Path) -> u64 {
    let mut bytes: u64 = 0;
    let walked: std::result::Result<(), std::convert::Infallible> = walk(root, &mut |_, entry| {
        if let Ok(entry) = entry
            && entry.kind == Kind::File
        {
            let size = symlink_metadata(&entry.path).map_or(0, |meta| meta.len());
            bytes = bytes.saturating_add(size);
        }
        Ok(true)
    });
    match walked {
        Ok(()) => bytes,
    }
}
