//! Which paths may be read so that hidden ones may not.
//!
//! Landlock allows whole trees and forbids nothing inside them. So the siblings along the way to each
//! hidden path are allowed one by one, and the hidden path is not. What comes into being beside them
//! later is not allowed either, until the directories are looked at again.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hermes_fs::{Entry, Kind, Version};

/// The trees and files that may be read, and the directories that were listed to find them.
#[derive(Debug, Default)]
pub(super) struct Readable {
    /// With the number of each, by which one that was replaced is known.
    pub(super) paths: BTreeMap<PathBuf, u64>,
    listings: BTreeMap<PathBuf, Arc<Listing>>,
}

/// A directory as it was listed.
#[derive(Debug)]
struct Listing {
    /// `None` if it cannot be told from later ones.
    version: Option<Version>,
    entries: Vec<Entry>,
}

impl Readable {
    /// Everything but these.
    pub(super) fn except<'a>(hidden: impl Iterator<Item = &'a Path> + Clone) -> Self {
        Self::default().renewed(hidden)
    }

    /// The same at another time. Directories that have not changed are not listed again.
    pub(super) fn renewed<'a>(&self, hidden: impl Iterator<Item = &'a Path> + Clone) -> Self {
        let mut renewal = Renewal {
            earlier: self,
            on_the_way: hidden
                .clone()
                .flat_map(|path| path.ancestors().skip(1))
                .collect(),
            hidden: hidden.collect(),
            renewed: Self::default(),
        };
        renewal.list(Path::new("/"));
        renewal.renewed
    }

    /// Whether the listed directories are as they were.
    pub(super) fn is_current(&self) -> bool {
        self.listings.iter().all(|(directory, listing)| {
            listing.version.is_some() && hermes_fs::version(directory) == listing.version
        })
    }

    /// What may be read and could not be at an earlier time.
    pub(super) fn beyond(&self, earlier: &Self) -> Vec<&Path> {
        let new = self
            .paths
            .iter()
            .filter(|(path, inode)| earlier.paths.get(*path) != Some(inode));
        new.map(|(path, _)| path.as_path()).collect()
    }

    /// Whether a path is allowed, or lies in a tree that is.
    pub(super) fn allows(&self, path: &Path) -> bool {
        path.ancestors()
            .any(|ancestor| self.paths.contains_key(ancestor))
    }
}

struct Renewal<'a> {
    earlier: &'a Readable,
    on_the_way: BTreeSet<&'a Path>,
    hidden: BTreeSet<&'a Path>,
    renewed: Readable,
}

impl Renewal<'_> {
    fn list(&mut self, directory: &Path) {
        let listing = self.listing(directory);
        for entry in &listing.entries {
            let path = &entry.path;
            if self.hidden.contains(path.as_path()) {
                continue;
            }
            match entry.kind {
                // What it leads to is allowed where that lies.
                Kind::Symlink => {}
                Kind::Dir if self.on_the_way.contains(path.as_path()) => self.list(path),
                Kind::Dir | Kind::File | Kind::Special => {
                    self.renewed.paths.insert(path.clone(), entry.inode);
                }
            }
        }
        let listings = &mut self.renewed.listings;
        listings.insert(directory.to_owned(), listing);
    }

    fn listing(&self, directory: &Path) -> Arc<Listing> {
        // Before the look itself: a change in between shows afterwards.
        let version = hermes_fs::version(directory);
        match self.earlier.listings.get(directory) {
            Some(known) if version.is_some() && known.version == version => Arc::clone(known),
            _ => Arc::new(Listing {
                version,
                // What cannot be listed cannot be allowed, and who cannot list it can hardly read it.
                entries: hermes_fs::read_dir(directory).unwrap_or_default(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn siblings_are_readable_and_the_hidden_are_not() {
        let dir = tempfile::tempdir().unwrap();
        let home = hermes_fs::canonicalize(dir.path()).unwrap();
        for name in [".ssh", "work/sub", ".config/gh", ".config/htop"] {
            hermes_fs::create_dir_all(&home.join(name), 0o755).unwrap();
        }
        for name in [".netrc", ".vimrc"] {
            drop(hermes_fs::create_new(&home.join(name), 0o600).unwrap());
        }
        let hidden = [".ssh", ".config/gh", ".netrc"].map(|name| home.join(name));
        let hidden = || hidden.iter().map(PathBuf::as_path);
        let readable = Readable::except(hidden());
        let inside: Vec<_> = readable
            .paths
            .keys()
            .filter_map(|path| path.strip_prefix(&home).ok()?.to_str())
            .collect();
        assert_eq!(inside, [".config/htop", ".vimrc", "work"]);
        assert!(readable.allows(Path::new("/usr/bin")));
        assert!(readable.allows(&home.join("work/sub")));
        assert!(!readable.allows(&home.join(".netrc")));
        assert!(!readable.allows(&home.join("new")));

        drop(hermes_fs::create_new(&home.join("new"), 0o600).unwrap());
        assert!(!readable.is_current());
        let renewed = readable.renewed(hidden());
        // Others make files beside this home.
        let beyond = |now: &Readable, then: &Readable| -> Vec<PathBuf> {
            let new = now.beyond(then).into_iter();
            new.filter(|path| path.starts_with(&home))
                .map(Path::to_owned)
                .collect()
        };
        assert_eq!(beyond(&renewed, &readable), [home.join("new")]);
        hermes_fs::remove_file(&home.join("new")).unwrap();
        let without = renewed.renewed(hidden());
        assert!(beyond(&without, &renewed).is_empty());
        // Another file of the same name.
        drop(hermes_fs::create_new(&home.join("other"), 0o600).unwrap());
        hermes_fs::rename(&home.join("other"), &home.join(".vimrc")).unwrap();
        let replaced = without.renewed(hidden());
        assert_eq!(beyond(&replaced, &without), [home.join(".vimrc")]);
    }
}
