//! Skills in git repositories.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hermes_fs::Staging;
use hermes_home::each_skill_below;
use hermes_proc::{EnvPlan, Git, GitError, GitLimits};

use super::Hub;
use crate::error::{Error, Result};
use crate::files::shown;

/// A shallow clone over a slow line.
const CLONE_LIMITS: GitLimits = GitLimits {
    timeout: Duration::from_mins(5),
    max_output: 64 * 1024,
};
/// Skills that a message lists.
const LISTED: usize = 12;

/// A repository in a hidden directory, which goes with this value.
pub(super) struct Clone {
    staging: Staging,
}

impl Clone {
    /// The working tree.
    pub(super) fn path(&self) -> PathBuf {
        self.staging.path().join("clone")
    }
}

impl Hub {
    /// Clones a repository.
    pub(super) fn clone_repository(&self, address: &str, env: &EnvPlan) -> Result<Clone> {
        self.make_directories()?;
        let quarantine = self.quarantine();
        Staging::sweep(&quarantine, "fetch")?;
        let git = Git::find(env.clone()).map_err(|_| Error::Source {
            message: "git is needed to fetch skills from a repository, and it is not installed."
                .to_owned(),
        })?;
        let staging = Staging::begin(&quarantine, "fetch")?;
        let clone = Clone { staging };
        let mut args: Vec<OsString> = ["clone", "--quiet", "--depth", "1", "--"]
            .map(OsString::from)
            .to_vec();
        args.extend([OsString::from(address), clone.path().into()]);
        match git.run_within(clone.staging.path(), args, CLONE_LIMITS) {
            Ok(_) => Ok(clone),
            Err(GitError::Refused { message, .. }) => Err(Error::Source {
                message: format!("{} cannot be fetched: {message}", without_password(address)),
            }),
            Err(error) => Err(Error::Source {
                message: format!("{} cannot be fetched: {error}", without_password(address)),
            }),
        }
    }
}

/// The directory of a skill in a working tree: by path, by path below `skills/`, or by name.
pub(super) fn skill_directory(root: PathBuf, path: &str) -> Result<PathBuf> {
    if !path.is_empty() {
        let relative = hermes_fs::confined_relative(path).map_err(|_| {
            Error::refused(format!("'{}' leads out of the repository.", shown(path)))
        })?;
        for base in [root.clone(), root.join("skills")] {
            let inside = hermes_fs::join_without_symlinks(&base, &relative);
            if let Ok(directory) = inside
                && directory.join("SKILL.md").is_file()
            {
                return Ok(directory);
            }
        }
    }
    let mut found = Vec::new();
    if root.join("SKILL.md").is_file() {
        found.push(root.clone());
    }
    each_skill_below(&root, &mut |directory| {
        let name = directory.file_name().unwrap_or_default();
        if path.is_empty() || name == path {
            found.push(directory.to_owned());
        }
        found.len() <= 200
    });
    match found.as_slice() {
        [one] => Ok(one.clone()),
        [] => Err(Error::refused(format!(
            "The repository has no skill '{}'.",
            shown(path)
        ))),
        several => {
            let names = several
                .iter()
                .filter_map(|skill| skill.strip_prefix(&root).ok());
            let names: Vec<String> = names
                .take(LISTED)
                .map(|p| p.display().to_string())
                .collect();
            Err(Error::refused_with(
                "The repository has several skills.",
                format!("name one by its path: {}", names.join(", ")),
            ))
        }
    }
}

/// An address for a message: what stands before an `@` in it may be a password.
pub(super) fn without_password(address: &str) -> String {
    let masked = address.split_once("://").and_then(|(scheme, rest)| {
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (_, host) = authority.rsplit_once('@')?;
        Some(format!("{scheme}://…@{host}/{path}"))
    });
    shown(&masked.unwrap_or_else(|| address.to_owned()))
}

/// The path of a skill in a working tree.
pub(super) fn relative_to(root: &Path, skill: &Path) -> String {
    let relative = skill.strip_prefix(root).unwrap_or(skill);
    relative.to_string_lossy().into_owned()
}
