//! Finding a program by name.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

/// The first executable file of this name in a `PATH` value.
///
/// Empty and relative entries are skipped: what runs must not depend on the current directory. A
/// name with a slash is taken as it is.
pub fn find_on_path(name: &OsStr, path_value: Option<&OsStr>) -> Option<PathBuf> {
    if name.is_empty() {
        return None;
    }
    if name.as_encoded_bytes().contains(&b'/') {
        let path = PathBuf::from(name);
        return is_executable(&path).then_some(path);
    }
    std::env::split_paths(path_value?)
        .filter(|directory| directory.is_absolute())
        .map(|directory| directory.join(name))
        .find(|candidate| is_executable(candidate))
}

fn is_executable(path: &Path) -> bool {
    hermes_fs::metadata(path).is_ok_and(|meta| meta.is_file())
        && access(path, Access::EXEC_OK).is_ok()
}
