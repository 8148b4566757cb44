//! Which paths may be read so that hidden ones may not.
//!
//! Landlock allows whole trees and forbids nothing inside them. So the siblings along the way to each
//! hidden path are allowed one by one, and the hidden path is not. What comes into being beside them
//! later is not allowed either, until the directories are looked at again.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hermes_fs::Kind;

use super::listings::{Listed, Listing};

/// The trees and files that may be read: what the listed directories hold, but links, which lead
/// elsewhere, hidden paths, and directories that are listed themselves.
#[derive(Debug, Default)]
pub(super) struct Readable {
    listings: BTreeMap<PathBuf, Listing>,
    hidden: Arc<BTreeSet<PathBuf>>,
}

impl Readable {
    /// Everything but these.
    pub(super) fn except<'a>(hidden: impl Iterator<Item = &'a Path> + Clone) -> Self {
        Self::default().renewed(hidden)
    }

    /// The same at another time. Directories that have not changed are not listed again.
    pub(super) fn renewed<'a>(&self, hidden: impl Iterator<Item = &'a Path> + Clone) -> Self {
        let on_the_way: BTreeSet<&Path> = hidden
            .clone()
            .flat_map(|path| path.ancestors().skip(1))
            .collect();
        let is_same = hidden.clone().count() == self.hidden.len()
            && hidden.clone().all(|path| self.hidden.contains(path));
        let hidden = if is_same {
            Arc::clone(&self.hidden)
        } else {
            Arc::new(hidden.map(Path::to_owned).collect())
        };
        let mut renewed = Self {
            listings: BTreeMap::new(),
            hidden,
        };
        let mut left = vec![PathBuf::from("/")];
        while let Some(directory) = left.pop() {
            let listing = Listing::of(&directory, self.listings.get(&directory));
            let ways = listing.entries.iter().filter(|entry| {
                entry.kind == Kind::Dir
                    && on_the_way.contains(&*entry.path)
                    && !renewed.hidden.contains(&*entry.path)
            });
            left.extend(ways.map(|entry| entry.path.to_path_buf()));
            renewed.listings.insert(directory, listing);
        }
        renewed
    }

    /// Whether the listed directories are as they were.
    pub(super) fn is_current(&self) -> bool {
        let mut listings = self.listings.iter();
        listings.all(|(directory, listing)| listing.is_current(directory))
    }

    /// What may be read.
    pub(super) fn paths(&self) -> impl Iterator<Item = &Path> {
        self.entries().map(|entry| &*entry.path)
    }

    /// What may be read and could not be at an earlier time.
    pub(super) fn beyond(&self, earlier: &Self) -> Vec<&Path> {
        let is_new = |entry: &&Listed| {
            let known = earlier.entry(&entry.path);
            known.is_none_or(|known| known.inode != entry.inode)
        };
        let new = self.entries().filter(is_new);
        new.map(|entry| &*entry.path).collect()
    }

    /// Whether a path is allowed, or lies in a tree that is.
    pub(super) fn allows(&self, path: &Path) -> bool {
        path.ancestors()
            .any(|ancestor| self.entry(ancestor).is_some())
    }

    fn entries(&self) -> impl Iterator<Item = &Listed> {
        let listed = self.listings.values();
        listed
            .flat_map(|listing| listing.entries.iter())
            .filter(|entry| self.is_readable(entry))
    }

    /// What lies at a path, if it may be read by a rule of its own.
    fn entry(&self, path: &Path) -> Option<&Listed> {
        let entry = self.listings.get(path.parent()?)?.entry(path)?;
        self.is_readable(entry).then_some(entry)
    }

    fn is_readable(&self, entry: &Listed) -> bool {
        // What a link leads to is allowed where that lies.
        entry.kind != Kind::Symlink
            && !self.hidden.contains(&*entry.path)
            && !(entry.kind == Kind::Dir && self.listings.contains_key(&*entry.path))
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
        let mut inside: Vec<_> = readable
            .paths()
            .filter_map(|path| path.strip_prefix(&home).ok()?.to_str())
            .collect();
        inside.sort_unstable();
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
