//! The directory a command runs in, when the one it should run in may be gone.

use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

pub(super) fn is_enterable(path: &Path) -> bool {
    path.is_dir() && access(path, Access::EXEC_OK).is_ok()
}

/// The nearest directory to `wanted` that can be entered: itself, an ancestor, or at last the
/// temporary directory.
pub(super) fn nearest_enterable(wanted: &Path, temp_dir: &Path) -> PathBuf {
    wanted
        .ancestors()
        .find(|path| path.is_absolute() && is_enterable(path))
        .unwrap_or(temp_dir)
        .to_owned()
}

/// What a `workdir` argument means.
pub(super) fn resolve_workdir(workdir: &str, cwd: &Path, home: &Path) -> PathBuf {
    if workdir == "~" {
        return home.to_owned();
    }
    match workdir.strip_prefix("~/") {
        Some(rest) => home.join(rest),
        None => cwd.join(workdir),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_place_leads_to_its_nearest_ancestor() {
        let dir = tempfile::tempdir().unwrap();
        let deep = dir.path().join("gone/deeper");
        assert_eq!(nearest_enterable(&deep, Path::new("/")), dir.path());
        assert_eq!(nearest_enterable(dir.path(), Path::new("/")), dir.path());
        let nowhere = Path::new("relative");
        assert_eq!(
            nearest_enterable(nowhere, Path::new("/tmp")),
            Path::new("/tmp")
        );
    }

    #[test]
    fn a_workdir_is_relative_to_the_session_and_tilde_is_the_childs_home() {
        let (cwd, home) = (Path::new("/w"), Path::new("/h"));
        let resolved = |text| resolve_workdir(text, cwd, home);
        assert_eq!(resolved("sub"), Path::new("/w/sub"));
        assert_eq!(resolved("/abs"), Path::new("/abs"));
        assert_eq!(resolved("~"), Path::new("/h"));
        assert_eq!(resolved("~/x y"), Path::new("/h/x y"));
        assert_eq!(resolved("~other"), Path::new("/w/~other"));
        assert_eq!(resolved("a'$HOME"), Path::new("/w/a'$HOME"));
    }
}
