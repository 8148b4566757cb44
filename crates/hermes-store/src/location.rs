//! Where a database lives: its real path, the files beside it, and what may be asked about them
//! without opening anything.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::Result;

/// Endings of the files SQLite keeps beside a database.
const SIDECARS: [&str; 3] = ["-wal", "-shm", "-journal"];

/// The files SQLite may keep beside this database: write-ahead log, shared memory, rollback journal.
pub fn sidecars(database: &Path) -> [PathBuf; 3] {
    SIDECARS.map(|suffix| with_suffix(database, suffix))
}

/// Whether a file name is that of a sidecar of a `*.db` file.
pub fn is_sidecar_name(name: &str) -> bool {
    SIDECARS.iter().any(|suffix| {
        name.strip_suffix(suffix)
            .is_some_and(|stem| stem.strip_suffix(".db").is_some())
    })
}

/// Bytes in the write-ahead log; zero if there is none.
pub fn wal_size(database: &Path) -> Result<u64> {
    match hermes_fs::symlink_metadata(&log_of(database)) {
        Ok(meta) => Ok(meta.len()),
        Err(error) if error.is_not_found() => Ok(0),
        Err(error) => Err(error.into()),
    }
}

/// The write-ahead log of a database.
pub(crate) fn log_of(database: &Path) -> PathBuf {
    with_suffix(database, "-wal")
}

fn with_suffix(database: &Path, suffix: &str) -> PathBuf {
    let mut name: OsString = database.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// What is known of a database file before it is opened.
pub(crate) struct DatabaseLocation {
    /// The path with its directory resolved, so that SQLite can be told to follow no link at all.
    pub(crate) real: PathBuf,
    pub(crate) exists: bool,
}

impl DatabaseLocation {
    /// Looks at `path`; a symbolic link in the last place is refused, links above it are followed.
    pub(crate) fn of(path: &Path) -> Result<Self> {
        let parent = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let name = path.file_name().unwrap_or_default();
        let real = hermes_fs::canonicalize(parent)?.join(name);
        let exists = match hermes_fs::symlink_metadata(&real) {
            Ok(meta) if meta.is_symlink() => {
                return Err(hermes_fs::Error::SymlinkInPath {
                    path: path.to_owned(),
                }
                .into());
            }
            Ok(meta) if meta.is_dir() => {
                let source = std::io::Error::from(std::io::ErrorKind::IsADirectory);
                return Err(hermes_fs::Error::io("open the database", path)(source).into());
            }
            Ok(_) => true,
            Err(error) if error.is_not_found() => false,
            Err(error) => return Err(error.into()),
        };
        Ok(Self { real, exists })
    }

    /// Fails like a plain open would if the file is missing.
    pub(crate) fn must_exist(&self) -> Result<()> {
        if self.exists {
            return Ok(());
        }
        let source = std::io::Error::from(std::io::ErrorKind::NotFound);
        Err(hermes_fs::Error::io("open the database", &self.real)(source).into())
    }

    /// Whether SQLite may create its sidecars here.
    pub(crate) fn directory_is_writable(&self) -> bool {
        let parent = self.real.parent().unwrap_or_else(|| Path::new("/"));
        rustix::fs::access(parent, rustix::fs::Access::WRITE_OK).is_ok()
    }

    /// Whether this process may change the file and what lies beside it.
    pub(crate) fn is_writable(&self) -> bool {
        self.directory_is_writable()
            && rustix::fs::access(&self.real, rustix::fs::Access::WRITE_OK).is_ok()
    }

    /// The path as an SQLite URI that promises nobody will write to the file.
    pub(crate) fn immutable_uri(&self) -> String {
        let mut uri = "file:".to_owned();
        for byte in self.real.as_os_str().as_bytes() {
            if byte.is_ascii_alphanumeric() || b"/-_.".contains(byte) {
                uri.push(char::from(*byte));
            } else {
                uri.push('%');
                for nibble in [byte >> 4, byte & 0xF] {
                    uri.extend(char::from_digit(u32::from(nibble), 16));
                }
            }
        }
        uri.push_str("?immutable=1");
        uri
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sidecar_names_are_told_from_others() {
        for name in ["state.db-wal", "a.db-shm", "a.db-journal"] {
            assert!(is_sidecar_name(name), "{name}");
        }
        for name in ["state.db", "notes-wal", "x.db-walrus", "db-wal"] {
            assert!(!is_sidecar_name(name), "{name}");
        }
    }

    #[test]
    fn odd_characters_survive_in_the_uri() {
        let location = DatabaseLocation {
            real: PathBuf::from("/a b/ü?#%.db"),
            exists: true,
        };
        assert_eq!(
            location.immutable_uri(),
            "file:/a%20b/%c3%bc%3f%23%25.db?immutable=1"
        );
    }
}
