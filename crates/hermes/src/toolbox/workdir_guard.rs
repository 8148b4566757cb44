//! Where file tools may write: below the working directory, whatever links say.

use std::path::{Component, Path, PathBuf};

use hermes_tools::{CrossProfile, WriteGuard};

/// Confines writes to one directory.
pub(super) struct WorkdirGuard {
    directory: PathBuf,
}

impl WorkdirGuard {
    pub(super) fn of(directory: PathBuf) -> Self {
        Self {
            directory: hermes_fs::canonicalize(&directory).unwrap_or(directory),
        }
    }
}

impl WriteGuard for WorkdirGuard {
    fn check(&self, path: &Path, _: CrossProfile) -> Result<PathBuf, String> {
        let real = resolved(path)?;
        if real.starts_with(&self.directory) {
            Ok(real)
        } else {
            Err(format!(
                "Write denied: {} is outside the working directory {}.",
                real.display(),
                self.directory.display()
            ))
        }
    }
}

/// Where a write to `path` ends: links of everything that exists resolved, the rest as written.
fn resolved(path: &Path) -> Result<PathBuf, String> {
    let mut missing: Vec<&std::ffi::OsStr> = Vec::new();
    let mut existing = path;
    while !hermes_fs::exists_no_follow(existing) {
        match (existing.components().next_back(), existing.parent()) {
            (Some(Component::Normal(name)), Some(parent)) => {
                missing.push(name);
                existing = parent;
            }
            // `..` below something that does not exist leads nowhere.
            _ => return Err(format!("Write denied: {} leads nowhere.", path.display())),
        }
    }
    let mut real = hermes_fs::canonicalize(existing).map_err(|error| error.to_string())?;
    real.extend(missing.iter().rev());
    Ok(real)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_and_dots_do_not_lead_out() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let work = root.join("work");
        hermes_fs::create_dir(&work, 0o755).unwrap();
        hermes_fs::symlink(&root, &work.join("up")).unwrap();
        hermes_fs::symlink(Path::new("/no/where"), &work.join("dangling")).unwrap();
        let guard = WorkdirGuard::of(work.clone());
        let check = |path: &str| guard.check(&work.join(path), CrossProfile::Refused);
        assert_eq!(check("a/b"), Ok(work.join("a/b")));
        assert_eq!(check("up/work/a"), Ok(work.join("a")));
        for outside in ["../a", "up/a", "a/../../b", "dangling", "/etc/passwd"] {
            assert!(check(outside).is_err(), "{outside}");
        }
        assert!(
            guard
                .check(&root.join("workshop"), CrossProfile::Refused)
                .is_err()
        );
    }
}
