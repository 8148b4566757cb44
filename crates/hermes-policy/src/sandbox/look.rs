//! Looking at the disk, and remembering what was found: so that the next command need not look again
//! at everything, only whether it is still so.
//!
//! A directory that has not changed holds the same names, so most of it is one question per
//! directory. One that has changed is asked again for the names that matter.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use hermes_fs::{Entry, Version, version};

/// Which names of a directory matter.
pub(super) type Wanted = fn(&str) -> bool;

/// The disk while a policy is resolved.
#[derive(Debug, Default)]
pub(super) struct Look(RefCell<Looked>);

/// What a policy was resolved from.
#[derive(Debug, Clone, Default)]
pub struct Looked {
    directories: BTreeMap<PathBuf, Directory>,
    /// Where paths lead: device and number.
    targets: BTreeMap<PathBuf, Option<(u64, u64)>>,
    /// Files whose text matters.
    texts: BTreeMap<PathBuf, (u64, Option<String>)>,
}

/// A directory, and what was asked of it.
#[derive(Debug, Clone)]
struct Directory {
    /// Its version; `None` if it cannot be told from later ones.
    version: Option<Version>,
    /// Entries, and whether there is such a one.
    entries: BTreeMap<PathBuf, bool>,
    lists: Vec<(Wanted, Vec<PathBuf>)>,
}

impl Look {
    /// Whether there is such an entry, also one that leads nowhere.
    pub(super) fn has(&self, path: &Path) -> bool {
        let parent = path.parent().unwrap_or(path);
        // Before the look itself: a change in between shows afterwards.
        self.directory(parent, |_| ());
        let found = hermes_fs::symlink_metadata(path).is_ok();
        self.directory(parent, |directory| {
            directory.entries.insert(path.to_owned(), found);
        });
        found
    }

    /// The entries of a directory with such names; none if it cannot be listed.
    pub(super) fn list(&self, directory: &Path, wanted: Wanted) -> Vec<Entry> {
        self.directory(directory, |_| ());
        let found = listed(directory, wanted);
        self.directory(directory, |directory| {
            let paths = found.iter().map(|entry| entry.path.clone()).collect();
            directory.lists.push((wanted, paths));
        });
        found
    }

    pub(super) fn is_dir(&self, path: &Path) -> bool {
        self.target(path);
        path.is_dir()
    }

    pub(super) fn is_file(&self, path: &Path) -> bool {
        self.target(path);
        path.is_file()
    }

    /// The path without links, if it leads anywhere.
    pub(super) fn resolved(&self, path: &Path) -> Option<PathBuf> {
        self.target(path);
        hermes_fs::canonicalize(path).ok()
    }

    /// A small text, if there is one.
    pub(super) fn text(&self, path: &Path, limit: u64) -> Option<String> {
        let text = hermes_fs::read_text_capped(path, limit).ok();
        let known = (limit, text.clone());
        self.0.borrow_mut().texts.insert(path.to_owned(), known);
        text
    }

    /// What was looked at.
    pub(super) fn end(self) -> Looked {
        self.0.into_inner()
    }

    fn target(&self, path: &Path) {
        let mut looked = self.0.borrow_mut();
        let targets = &mut looked.targets;
        targets
            .entry(path.to_owned())
            .or_insert_with(|| target(path));
    }

    fn directory(&self, path: &Path, change: impl FnOnce(&mut Directory)) {
        let mut looked = self.0.borrow_mut();
        let directories = &mut looked.directories;
        change(
            directories
                .entry(path.to_owned())
                .or_insert_with(|| Directory {
                    version: version(path),
                    entries: BTreeMap::new(),
                    lists: Vec::new(),
                }),
        );
    }
}

impl Looked {
    /// Whether the disk would tell the same again.
    pub fn still_holds(&mut self) -> bool {
        self.targets
            .iter()
            .all(|(path, then)| target(path) == *then)
            && self.texts.iter().all(|(path, (limit, then))| {
                hermes_fs::read_text_capped(path, *limit).ok() == *then
            })
            && self
                .directories
                .iter_mut()
                .all(|(path, directory)| directory.still_holds(path))
    }
}

impl Directory {
    fn still_holds(&mut self, path: &Path) -> bool {
        let now = version(path);
        if now.is_some() && now == self.version {
            return true;
        }
        self.version = now;
        let entries = &self.entries;
        entries
            .iter()
            .all(|(path, then)| hermes_fs::symlink_metadata(path).is_ok() == *then)
            && self.lists.iter().all(|(wanted, then)| {
                let now = listed(path, *wanted);
                now.iter().map(|entry| &entry.path).eq(then)
            })
    }
}

fn listed(directory: &Path, wanted: Wanted) -> Vec<Entry> {
    hermes_fs::read_dir_named(directory, |name| wanted(&name.to_string_lossy())).unwrap_or_default()
}

fn target(path: &Path) -> Option<(u64, u64)> {
    let found = hermes_fs::metadata(path).ok()?;
    Some((found.dev(), found.ino()))
}
