//! Paths from outside (archives, arguments of tools) that must stay below a root.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use crate::{Error, Result, canonicalize, symlink_metadata};

/// A path that would leave its root.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unsafe path '{0}'")]
pub struct UnsafePath(pub String);

/// Checks a relative path as found in an archive and gives it back without `.` components.
///
/// Refused: absolute paths, drive letters, `..`, backslashes, NUL and an empty path.
pub fn confined_relative(
    raw: &(impl AsRef<OsStr> + ?Sized),
) -> std::result::Result<PathBuf, UnsafePath> {
    let raw = raw.as_ref();
    let refuse = || UnsafePath(raw.to_string_lossy().escape_debug().to_string());
    let bytes = raw.as_bytes();
    let drive = bytes.get(1) == Some(&b':') && bytes.first().is_some_and(u8::is_ascii_alphabetic);
    if drive || bytes.iter().any(|byte| matches!(byte, b'\\' | 0)) {
        return Err(refuse());
    }
    let mut clean = PathBuf::new();
    for component in Path::new(raw).components() {
        match component {
            Component::Normal(part) => clean.push(part),
            Component::CurDir => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                return Err(refuse());
            }
        }
    }
    if clean.as_os_str().is_empty() {
        Err(refuse())
    } else {
        Ok(clean)
    }
}

/// The path with `.` and `..` resolved by its text alone.
pub fn without_dots(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                clean.pop();
            }
            other => clean.push(other),
        }
    }
    clean
}

/// Resolves links as far as the path exists, and keeps the rest as written, `..` taken literally.
pub fn resolved(path: &Path) -> PathBuf {
    if let Ok(real) = canonicalize(path) {
        return real;
    }
    let (Some(parent), Some(last)) = (path.parent(), path.components().next_back()) else {
        return path.to_owned();
    };
    let mut real = resolved(parent);
    match last {
        Component::ParentDir => {
            real.pop();
        }
        Component::CurDir => {}
        other => real.push(other),
    }
    real
}

/// Joins a confined path to a root, refusing if any existing component below the root is a link.
pub fn join_without_symlinks(root: &Path, relative: &Path) -> Result<PathBuf> {
    let mut path = root.to_owned();
    for component in relative.components() {
        path.push(component);
        match symlink_metadata(&path) {
            Ok(meta) if meta.is_symlink() => return Err(Error::SymlinkInPath { path }),
            Ok(_) => {}
            Err(error) if error.is_not_found() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_paths_are_cleaned() {
        assert_eq!(confined_relative("./a/./b").unwrap(), PathBuf::from("a/b"));
    }

    #[test]
    fn everything_that_could_leave_the_root_is_refused() {
        for bad in ["", ".", "/x", "a/../../x", "..", "C:x", "a\\..\\x", "a\0b"] {
            assert!(confined_relative(bad).is_err(), "{bad:?} was accepted");
        }
    }

    #[test]
    fn names_that_are_not_utf8_are_judged_the_same_way() {
        let odd = OsStr::from_bytes(b"a/\xff");
        assert_eq!(confined_relative(odd).unwrap(), PathBuf::from(odd));
        assert!(confined_relative(OsStr::from_bytes(b"../\xff")).is_err());
    }
}
