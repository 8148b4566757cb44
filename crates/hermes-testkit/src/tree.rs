//! Directory trees as values, so that tests compare whole states.

use std::collections::BTreeMap;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

/// Up to here content is kept as text, to be shown when it differs.
const SHOWN_BYTES: usize = 16 * 1024;

/// What a directory holds, by path; directories have a slash at the end.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tree(pub BTreeMap<String, TreeEntry>);

/// One entry.
#[derive(Clone, PartialEq, Eq)]
pub struct TreeEntry {
    /// Permission bits; 0 for links, which have none of their own.
    pub mode: u32,
    /// Seconds and nanoseconds of the last change; zero after [`Tree::without_times`].
    pub modified: (i64, i64),
    /// What it is.
    pub content: TreeContent,
}

/// What an entry is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TreeContent {
    /// A directory.
    Directory,
    /// A file that can be shown.
    Text(String),
    /// Another file: length and checksum.
    Bytes(usize, u64),
    /// A symbolic link.
    Link(String),
    /// A FIFO, socket or device.
    Special,
}

impl fmt::Debug for TreeEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04o} ", self.mode)?;
        if self.modified != (0, 0) {
            write!(f, "@{}.{:09} ", self.modified.0, self.modified.1)?;
        }
        write!(f, "{:?}", self.content)
    }
}

impl Tree {
    /// Reads everything below a directory; a directory that is not there is an empty tree.
    pub fn read(root: &Path) -> Self {
        let mut tree = Self::default();
        if root.is_dir() {
            tree.collect(root, "");
        }
        tree
    }

    fn collect(&mut self, directory: &Path, below: &str) {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy();
            let mut name = format!("{below}{name}");
            let meta = std::fs::symlink_metadata(&path).unwrap();
            let content = if meta.is_symlink() {
                let target = std::fs::read_link(&path).unwrap();
                TreeContent::Link(target.to_string_lossy().into_owned())
            } else if meta.is_dir() {
                name.push('/');
                self.collect(&path, &name);
                TreeContent::Directory
            } else if meta.is_file() {
                TreeContent::of(std::fs::read(&path).unwrap())
            } else {
                TreeContent::Special
            };
            let mode = meta.permissions().mode() & 0o7777;
            let entry = TreeEntry {
                mode: if meta.is_symlink() { 0 } else { mode },
                modified: (meta.mtime(), meta.mtime_nsec()),
                content,
            };
            self.0.insert(name, entry);
        }
    }

    /// For states that were reached in different ways.
    #[must_use]
    pub fn without_times(mut self) -> Self {
        for entry in self.0.values_mut() {
            entry.modified = (0, 0);
        }
        self
    }

    /// For a command that may have made and removed something: files and modes must be the same.
    #[must_use]
    pub fn without_directory_times(mut self) -> Self {
        for entry in self.0.values_mut() {
            if entry.content == TreeContent::Directory {
                entry.modified = (0, 0);
            }
        }
        self
    }

    /// Only the entries whose path passes.
    #[must_use]
    pub fn only(mut self, wanted: impl Fn(&str) -> bool) -> Self {
        self.0.retain(|path, _| wanted(path));
        self
    }

    /// All but files of these kinds, such as `lock`.
    #[must_use]
    pub fn without_extensions(self, extensions: &[&str]) -> Self {
        self.only(|path| {
            let extension = path.rsplit_once('.').map(|(_, extension)| extension);
            !extension.is_some_and(|extension| extensions.contains(&extension))
        })
    }

    /// All paths.
    pub fn paths(&self) -> Vec<&str> {
        self.0.keys().map(String::as_str).collect()
    }

    /// Fails unless `after` is the same, times of change included.
    #[track_caller]
    pub fn is_still(&self, after: &Self) {
        pretty_assertions::assert_eq!(self, after);
    }
}

impl TreeContent {
    fn of(bytes: Vec<u8>) -> Self {
        let length = bytes.len();
        match String::from_utf8(bytes) {
            Ok(text) if length <= SHOWN_BYTES => Self::Text(text),
            Ok(text) => Self::Bytes(length, checksum(text.as_bytes())),
            Err(error) => Self::Bytes(length, checksum(error.as_bytes())),
        }
    }
}

fn checksum(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_change_is_noticed() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file");
        std::fs::write(&file, "one").unwrap();
        let first = Tree::read(directory.path());
        assert_eq!(first.paths(), ["file"]);

        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o604)).unwrap();
        let mode = Tree::read(directory.path());
        assert_ne!(first, mode);

        let earlier = std::time::SystemTime::UNIX_EPOCH;
        let handle = std::fs::File::options().write(true).open(&file).unwrap();
        handle.set_modified(earlier).unwrap();
        let time = Tree::read(directory.path());
        assert_ne!(mode, time);
        assert_eq!(mode.without_times(), time.clone().without_times());

        std::fs::write(&file, "two").unwrap();
        handle.set_modified(earlier).unwrap();
        assert_ne!(time, Tree::read(directory.path()));

        std::fs::create_dir(directory.path().join("empty")).unwrap();
        std::os::unix::fs::symlink("nowhere", directory.path().join("link")).unwrap();
        let more = Tree::read(directory.path());
        assert_eq!(more.paths(), ["empty/", "file", "link"]);
    }

    #[test]
    fn large_files_are_compared_by_checksum() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file");
        std::fs::write(&file, vec![b'a'; 100_000]).unwrap();
        let first = Tree::read(directory.path()).without_times();
        std::fs::write(&file, [vec![b'a'; 99_999], vec![b'b']].concat()).unwrap();
        assert_ne!(first, Tree::read(directory.path()).without_times());
    }
}
