//! Directories as they were listed, shared between the sandboxes of this process.
//!
//! A server keeps a sandbox for each conversation, and each needs to know what lay beside the hidden
//! paths when it was made. Those lists are nearly the same, and may be long (`/tmp`), so equal ones
//! are kept once, and unequal ones share the paths they have in common. Nothing is kept for its own
//! sake: a list goes with the last sandbox that was made from it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use hermes_fs::{Kind, Version};

/// Directories whose latest list is remembered; those that nobody holds are forgotten first.
const MOST_DIRECTORIES: usize = 256;

/// The latest list of each directory that a sandbox holds.
static LATEST: Mutex<Latest> = Mutex::new(Latest(BTreeMap::new()));

/// A directory as it was listed.
#[derive(Debug, Clone)]
pub(super) struct Listing {
    /// `None` if it cannot be told from later ones.
    version: Option<Version>,
    /// Sorted by path.
    pub(super) entries: Arc<[Listed]>,
}

/// One entry of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Listed {
    pub(super) path: Arc<Path>,
    pub(super) kind: Kind,
    /// The number of what it names, by which one that was replaced is known.
    pub(super) inode: u64,
}

impl Listing {
    /// What a directory holds now, given an earlier list of it. One that has not changed is not
    /// listed again.
    pub(super) fn of(directory: &Path, earlier: Option<&Self>) -> Self {
        // Before the look itself: a change in between shows afterwards.
        let version = hermes_fs::version(directory);
        if let Some(known) = earlier.filter(|known| known.is_of(version)) {
            return known.clone();
        }
        let mut latest = LATEST.lock().unwrap_or_else(PoisonError::into_inner);
        let known = latest.of(directory);
        if let Some(known) = known.as_ref().filter(|known| known.is_of(version)) {
            return known.clone();
        }
        let listing = Self {
            version,
            entries: entries_of(directory, known.map(|known| known.entries)),
        };
        latest.remember(directory, &listing);
        listing
    }

    /// Whether the directory still is as it was.
    pub(super) fn is_current(&self, directory: &Path) -> bool {
        self.is_of(hermes_fs::version(directory))
    }

    /// The entry of this path.
    pub(super) fn entry(&self, path: &Path) -> Option<&Listed> {
        let found = self
            .entries
            .binary_search_by(|entry| (*entry.path).cmp(path));
        self.entries.get(found.ok()?)
    }

    fn is_of(&self, version: Option<Version>) -> bool {
        version.is_some() && self.version == version
    }
}

/// The entries of a directory; what an earlier list has as well is taken from there.
fn entries_of(directory: &Path, earlier: Option<Arc<[Listed]>>) -> Arc<[Listed]> {
    let known = earlier.as_deref().unwrap_or_default();
    // What cannot be listed cannot be allowed, and who cannot list it can hardly read it.
    let found = hermes_fs::read_dir(directory).unwrap_or_default();
    let mut entries: Vec<Listed> = Vec::with_capacity(found.len());
    for entry in found {
        let same = known.binary_search_by(|known| (*known.path).cmp(&entry.path));
        let same = same.ok().and_then(|position| known.get(position));
        entries.push(Listed {
            path: same.map_or_else(|| entry.path.into(), |known| Arc::clone(&known.path)),
            kind: entry.kind,
            inode: entry.inode,
        });
    }
    // By path, not by name: that is how they are looked for.
    entries.sort_unstable_by(|one, other| one.path.cmp(&other.path));
    earlier
        .filter(|earlier| **earlier == *entries)
        .unwrap_or_else(|| entries.into())
}

/// The latest list of each directory, as long as a sandbox holds it.
struct Latest(BTreeMap<PathBuf, (Option<Version>, Weak<[Listed]>)>);

impl Latest {
    fn of(&self, directory: &Path) -> Option<Listing> {
        let (version, entries) = self.0.get(directory)?;
        Some(Listing {
            version: *version,
            entries: entries.upgrade()?,
        })
    }

    fn remember(&mut self, directory: &Path, listing: &Listing) {
        if self.0.len() >= MOST_DIRECTORIES && !self.0.contains_key(directory) {
            self.0.retain(|_, (_, entries)| entries.strong_count() > 0);
            if self.0.len() >= MOST_DIRECTORIES {
                self.0.pop_first();
            }
        }
        let known = (listing.version, Arc::downgrade(&listing.entries));
        self.0.insert(directory.to_owned(), known);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &Path) {
        drop(hermes_fs::create_new(path, 0o600).unwrap());
    }

    #[test]
    fn equal_lists_are_one_and_unequal_ones_share_their_paths() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["a", "b", "c"] {
            file(&dir.path().join(name));
        }
        let first = Listing::of(dir.path(), None);
        let second = Listing::of(dir.path(), None);
        assert!(Arc::ptr_eq(&first.entries, &second.entries));
        file(&dir.path().join("d"));
        let third = Listing::of(dir.path(), None);
        assert_eq!(third.entries.len(), 4);
        let path = |listing: &Listing, name| {
            let entry = listing.entry(&dir.path().join(name)).unwrap();
            Arc::clone(&entry.path)
        };
        for name in ["a", "b", "c"] {
            assert!(Arc::ptr_eq(&path(&first, name), &path(&third, name)));
        }
        assert!(first.entry(&dir.path().join("d")).is_none());
    }

    #[test]
    fn a_list_is_gone_with_the_last_that_holds_it() {
        let dir = tempfile::tempdir().unwrap();
        file(&dir.path().join("a"));
        let listing = Listing::of(dir.path(), None);
        let entries = Arc::downgrade(&listing.entries);
        drop(listing);
        assert!(entries.upgrade().is_none());
    }

    #[test]
    fn only_so_many_directories_are_remembered() {
        let mut latest = Latest(BTreeMap::new());
        let listing = Listing {
            version: None,
            entries: Arc::from([]),
        };
        for number in 0..MOST_DIRECTORIES + 10 {
            latest.remember(Path::new(&format!("/{number}")), &listing);
        }
        assert_eq!(latest.0.len(), MOST_DIRECTORIES);
        drop(listing);
        let listing = Listing {
            version: None,
            entries: Arc::from([]),
        };
        latest.remember(Path::new("/new"), &listing);
        assert_eq!(latest.0.len(), 1);
    }
}
