//! A copy of a tree of skills without symbolic links.
//!
//! A link in a mounted tree leads, inside the container, to whatever has that path there; and it is
//! an easy way to show a container more than was meant. So a tree with links is mounted as a copy of
//! its regular files. The copy has one fixed path and is brought up to date there, so that running
//! containers see changes.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use hermes_fs::{Directory, Kind};

use super::labels::short_hash;

/// Deeper trees are not skills.
const DEEPEST: usize = 24;

/// Where the copy of a tree is.
pub(crate) fn mirror_of(home: &Path, tree: &Path) -> PathBuf {
    let name = short_hash(tree.as_os_str().as_encoded_bytes(), 12);
    home.join("cache").join("sandbox-skills").join(name)
}

/// What to mount for a tree: itself, or a fresh copy if it holds links.
pub(crate) fn mountable(home: &Path, tree: &Path) -> hermes_fs::Result<PathBuf> {
    let opened = Directory::open(tree)?;
    if !holds_link(&opened, DEEPEST)? {
        return Ok(tree.to_owned());
    }
    let mirror = mirror_of(home, tree);
    hermes_fs::create_dir_all(&mirror, 0o700)?;
    refresh(&opened, &Directory::open(&mirror)?, DEEPEST)?;
    Ok(mirror)
}

/// Brings an existing copy up to date; a tree that has none is mounted itself.
pub(crate) fn refresh_if_copied(home: &Path, tree: &Path) -> hermes_fs::Result<()> {
    let mirror = mirror_of(home, tree);
    if mirror.is_dir() {
        refresh(&Directory::open(tree)?, &Directory::open(&mirror)?, DEEPEST)?;
    }
    Ok(())
}

fn holds_link(directory: &Directory, depth: usize) -> hermes_fs::Result<bool> {
    for entry in directory.entries()? {
        let found = match entry.kind {
            Kind::Symlink => true,
            Kind::Dir if depth > 0 => {
                holds_link(&directory.directory(Path::new(&entry.name))?, depth - 1)?
            }
            Kind::Dir | Kind::File | Kind::Special => false,
        };
        if found {
            return Ok(true);
        }
    }
    Ok(false)
}

fn refresh(from: &Directory, to: &Directory, depth: usize) -> hermes_fs::Result<()> {
    let mut wanted = BTreeSet::new();
    for entry in from.entries()? {
        let name = Path::new(&entry.name);
        match entry.kind {
            Kind::Dir if depth > 0 => {
                if to.metadata(name).is_ok_and(|meta| !meta.is_dir()) {
                    to.remove_file(name)?;
                }
                let below = to.create_directories(name, 0o700)?;
                refresh(&from.directory(name)?, &below, depth - 1)?;
            }
            Kind::File => copy_if_changed(from, to, name)?,
            Kind::Dir | Kind::Symlink | Kind::Special => continue,
        }
        wanted.insert(entry.name);
    }
    for entry in to.entries()? {
        if !wanted.contains(&entry.name) {
            to.remove_tree(Path::new(&entry.name))?;
        }
    }
    Ok(())
}

fn copy_if_changed(from: &Directory, to: &Directory, name: &Path) -> hermes_fs::Result<()> {
    let source = from.metadata(name)?;
    if let Ok(copy) = to.metadata(name) {
        // The copy is made after the source was written: an older copy is out of date.
        let fresh = copy.is_file()
            && copy.size() == source.size()
            && (copy.mtime(), copy.mtime_nsec()) >= (source.mtime(), source.mtime_nsec());
        if fresh {
            return Ok(());
        }
        to.remove_tree(name)?;
    }
    let mode = if source.mode() & 0o100 == 0 {
        0o600
    } else {
        0o700
    };
    from.copy_file(name, to, name, mode).map(drop)
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests access files directly")]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn names(root: &Path) -> Vec<String> {
        let mut names = Vec::new();
        let mut waiting = vec![root.to_owned()];
        while let Some(directory) = waiting.pop() {
            for entry in hermes_fs::read_dir(&directory).unwrap() {
                let below = entry.path.strip_prefix(root).unwrap().display().to_string();
                names.push(below);
                if entry.kind == Kind::Dir {
                    waiting.push(entry.path);
                }
            }
        }
        names.sort();
        names
    }

    #[test]
    fn a_tree_without_links_is_mounted_itself() {
        let dir = tempfile::tempdir().unwrap();
        let tree = dir.path().join("skills");
        std::fs::create_dir_all(tree.join("a")).unwrap();
        assert_eq!(mountable(dir.path(), &tree).unwrap(), tree);
        assert!(!dir.path().join("cache").exists());
    }

    #[test]
    fn a_tree_with_links_is_mounted_as_a_copy_that_follows_it() {
        let dir = tempfile::tempdir().unwrap();
        let tree = dir.path().join("skills");
        std::fs::create_dir_all(tree.join("a/b")).unwrap();
        std::fs::write(tree.join("a/SKILL.md"), "one").unwrap();
        std::fs::write(tree.join("a/b/x"), "x").unwrap();
        std::os::unix::fs::symlink("/etc/passwd", tree.join("a/secret")).unwrap();
        std::os::unix::fs::symlink("/etc", tree.join("etc")).unwrap();
        let copy = mountable(dir.path(), &tree).unwrap();
        assert_eq!(copy, mirror_of(dir.path(), &tree));
        assert_eq!(names(&copy), ["a", "a/SKILL.md", "a/b", "a/b/x"]);

        std::fs::write(tree.join("a/SKILL.md"), "three").unwrap();
        std::fs::remove_dir_all(tree.join("a/b")).unwrap();
        std::fs::write(tree.join("a/b"), "now a file").unwrap();
        refresh_if_copied(dir.path(), &tree).unwrap();
        assert_eq!(names(&copy), ["a", "a/SKILL.md", "a/b"]);
        assert_eq!(
            std::fs::read_to_string(copy.join("a/SKILL.md")).unwrap(),
            "three"
        );
    }

    #[test]
    fn a_tree_never_copied_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let tree = dir.path().join("skills");
        std::fs::create_dir_all(&tree).unwrap();
        refresh_if_copied(dir.path(), &tree).unwrap();
        assert_eq!(names(dir.path()), ["skills"]);
    }
}
