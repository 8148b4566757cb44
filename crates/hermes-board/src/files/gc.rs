//! Garbage collection.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use hermes_fs::{Directory, Kind, resolved};

use crate::boards::BoardHome;
use crate::files::cleanup::remove_finished_workspaces;
use crate::files::transfer::publish_attachments;
use crate::files::workspace_archive::is_left_by;
use crate::model::TaskId;
use crate::sqlite::shared_root;
use crate::{Result, StoredBoard};

const DAY_SECONDS: u64 = 86_400;

/// How long things are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// Days events of finished cards are kept.
    pub event_days: u32,
    /// Days logs and exit records are kept.
    pub log_days: u32,
    /// Days archived boards are kept; for ever if not given.
    pub archive_days: Option<u32>,
}

impl Default for Retention {
    fn default() -> Self {
        Self {
            event_days: 30,
            log_days: 30,
            archive_days: None,
        }
    }
}

/// What was collected.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GarbageReport {
    /// Scratch workspaces of archived cards.
    pub workspaces: usize,
    pub events: usize,
    /// Logs and exit records.
    pub logs: usize,
    /// Attachments that no card names.
    pub attachments: usize,
    /// Rows that belonged to cards which another program deleted.
    pub rows: usize,
    /// Archived boards.
    pub boards: usize,
}

/// Collects the garbage of one board, and archived boards that are old enough.
pub fn collect_garbage(
    store: &mut StoredBoard,
    home: &BoardHome,
    retention: &Retention,
) -> Result<GarbageReport> {
    let mut report = GarbageReport::default();
    let archived = if store.is_on_server() {
        archived_here(store)?
    } else {
        store.archived_scratch()?
    };
    // Only below this board's own root: other boards have their own collection.
    let root = resolved(&store.board().workspaces);
    let own: Vec<_> = archived
        .into_iter()
        .filter(|(_, path)| resolved(&home.expand(path)).starts_with(&root))
        .collect();
    report.workspaces = remove_finished_workspaces(home, &own);
    if store.is_on_server() {
        remove_left_aside(store, &own)?;
    }
    report.events = store.forget_old_events(i64::from(retention.event_days) * 86_400)?;
    report.rows = store.forget_orphans()?;
    if store.is_on_server() {
        report.rows += store.forget_contents()?;
        remove_unnamed_contents(store)?;
        publish_attachments(store)?;
    }
    report.logs = remove_old_files(&store.board().logs, retention.log_days)?;
    report.attachments = remove_unnamed_attachments(store)?;
    if let Some(days) = retention.archive_days {
        report.boards = remove_old_archives(&home.archive_dir(), days)?;
    }
    Ok(report)
}

/// The directories that archived cards have on this machine. The paths on the cards may be those of
/// others.
fn archived_here(store: &StoredBoard) -> Result<Vec<(TaskId, PathBuf)>> {
    let cards = store.archived_cards_with_files()?.into_iter();
    cards
        .map(|task| Ok((task.clone(), store.board().workspace_of(&task)?)))
        .collect()
}

/// What was put aside of the workspaces of archived cards.
fn remove_left_aside(store: &StoredBoard, archived: &[(TaskId, PathBuf)]) -> Result<()> {
    let Some(workspaces) = opened(&store.board().workspaces)? else {
        return Ok(());
    };
    for entry in workspaces.entries()? {
        let name = entry.name.to_string_lossy();
        if archived.iter().any(|(task, _)| is_left_by(&name, task)) {
            workspaces.remove_tree(Path::new(&entry.name))?;
        }
    }
    Ok(())
}

fn remove_old_files(directory: &Path, days: u32) -> Result<usize> {
    let Some(directory) = opened(directory)? else {
        return Ok(0);
    };
    let mut removed = 0;
    for entry in directory.entries()? {
        if entry.kind == Kind::File && is_older(&directory, &entry.name, days) {
            directory.remove_file(Path::new(&entry.name))?;
            removed += 1;
        }
    }
    Ok(removed)
}

/// Files below the attachments that no row names: left by a crash between copy and record, or by a
/// program that deletes rows only. Young ones may be on their way to a row.
fn remove_unnamed_attachments(store: &StoredBoard) -> Result<usize> {
    let named: HashSet<_> = store.attachment_paths()?.into_iter().collect();
    let Some(attachments) = opened(&store.board().attachments)? else {
        return Ok(0);
    };
    let mut removed = 0;
    for card in attachments.entries()? {
        if card.kind != Kind::Dir {
            continue;
        }
        let card = attachments.directory(Path::new(&card.name))?;
        for file in card.entries()? {
            let path = resolved(&file.path);
            let known = named.contains(&path) || named.contains(&file.path);
            if file.kind == Kind::File && !known && is_older(&card, &file.name, 1) {
                card.remove_file(Path::new(&file.name))?;
                removed += 1;
            }
        }
    }
    Ok(removed)
}

/// Contents in the shared directory that the database does not know. Young ones may be on their way.
fn remove_unnamed_contents(store: &StoredBoard) -> Result<()> {
    let Some(shared) = shared_root(store)? else {
        return Ok(());
    };
    let Some(directory) = opened(&shared)? else {
        return Ok(());
    };
    let named: HashSet<String> = store
        .shared_contents()?
        .into_iter()
        .map(|number| number.to_string())
        .collect();
    for entry in directory.entries()? {
        let is_known = entry.name.to_str().is_some_and(|name| named.contains(name));
        if entry.kind == Kind::File && !is_known && is_older(&directory, &entry.name, 1) {
            directory.remove_file(Path::new(&entry.name))?;
        }
    }
    Ok(())
}

fn remove_old_archives(directory: &Path, days: u32) -> Result<usize> {
    let Some(directory) = opened(directory)? else {
        return Ok(0);
    };
    let mut removed = 0;
    for entry in directory.entries()? {
        // Hidden ones are deletions that were interrupted.
        let unfinished = entry.name.to_string_lossy().starts_with(".deleting-");
        if entry.kind == Kind::Dir && (unfinished || is_older(&directory, &entry.name, days)) {
            directory.remove_tree(Path::new(&entry.name))?;
            removed += 1;
        }
    }
    Ok(removed)
}

/// A directory that may not be there.
fn opened(path: &Path) -> Result<Option<Directory>> {
    match Directory::open(path) {
        Err(error) if error.is_not_found() => Ok(None),
        directory => Ok(Some(directory?)),
    }
}

fn is_older(directory: &Directory, name: &OsStr, days: u32) -> bool {
    let age = directory
        .metadata(Path::new(name))
        .ok()
        .and_then(|meta| meta.modified().ok())
        .and_then(|modified| SystemTime::now().duration_since(modified).ok());
    age.is_some_and(|age| age >= Duration::from_secs(u64::from(days) * DAY_SECONDS))
}
