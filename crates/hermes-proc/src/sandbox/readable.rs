//! Which paths may be read so that hidden ones may not.
//!
//! Landlock allows whole trees and forbids nothing inside them. So the siblings along the way to each
//! hidden path are allowed one by one, and the hidden path is not. What comes into being beside them
//! later is not allowed either, until the sandbox is prepared anew.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use hermes_fs::Kind;

use super::plan::is_root;

/// The trees and files that may be read, and the directories that were listed to find them.
#[derive(Debug, Default)]
pub(super) struct Readable {
    pub(super) paths: Vec<PathBuf>,
    /// With the time of their last change.
    pub(super) listed: Vec<(PathBuf, Option<SystemTime>)>,
}

impl Readable {
    /// Everything but these.
    pub(super) fn except<'a>(hidden: impl Iterator<Item = &'a Path> + Clone) -> Self {
        let mut readable = Self::default();
        let on_the_way: BTreeSet<&Path> = hidden
            .clone()
            .flat_map(|path| path.ancestors().skip(1))
            .collect();
        let hidden: BTreeSet<&Path> = hidden.collect();
        readable.list(Path::new("/"), &hidden, &on_the_way);
        readable
    }

    fn list(&mut self, directory: &Path, hidden: &BTreeSet<&Path>, on_the_way: &BTreeSet<&Path>) {
        if !is_root(directory) && !on_the_way.contains(directory) {
            self.paths.push(directory.to_owned());
            return;
        }
        self.listed.push((directory.to_owned(), changed(directory)));
        // What cannot be listed cannot be allowed, and who cannot list it can hardly read it.
        for entry in hermes_fs::read_dir(directory).unwrap_or_default() {
            if hidden.contains(entry.path.as_path()) {
                continue;
            }
            match entry.kind {
                // What it leads to is allowed where that lies.
                Kind::Symlink => {}
                Kind::Dir => self.list(&entry.path, hidden, on_the_way),
                Kind::File | Kind::Special => self.paths.push(entry.path),
            }
        }
    }

    /// Whether the listed directories are as they were.
    pub(super) fn is_current(&self) -> bool {
        self.listed
            .iter()
            .all(|(directory, then)| changed(directory) == *then)
    }
}

fn changed(directory: &Path) -> Option<SystemTime> {
    hermes_fs::symlink_metadata(directory).ok()?.modified().ok()
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
        let readable = Readable::except(hidden.iter().map(PathBuf::as_path));
        let inside: Vec<_> = readable
            .paths
            .iter()
            .filter_map(|path| path.strip_prefix(&home).ok()?.to_str())
            .collect();
        assert_eq!(inside, [".config/htop", ".vimrc", "work"]);
        assert!(readable.paths.iter().any(|path| path == Path::new("/usr")));
        assert!(readable.is_current());
        drop(hermes_fs::create_new(&home.join("new"), 0o600).unwrap());
        assert!(!readable.is_current());
    }
}
