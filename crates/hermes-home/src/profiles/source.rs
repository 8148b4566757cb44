//! Fetching a distribution: a directory as it is, or a git repository into a hidden directory.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use hermes_fs::{Kind, Staging};
use hermes_proc::{EnvPlan, Git, GitError, GitLimits};

use crate::name::shown;
use crate::{Error, Location, Result};

/// A shallow clone over a slow line.
const CLONE_LIMITS: GitLimits = GitLimits {
    timeout: Duration::from_mins(10),
    max_output: 64 * 1024,
};

/// Files and directories of a distribution.
const MAX_ENTRIES: u64 = 50_000;
/// Bytes of them all.
const MAX_BYTES: u64 = 1 << 30;

/// A distribution on this machine.
#[derive(Debug)]
pub(crate) struct FetchedDistribution {
    pub(crate) directory: PathBuf,
    /// What to remember as its source, so that it can be fetched again.
    pub(crate) provenance: String,
    /// Keeps a clone until it has been copied.
    _clone: Option<Staging>,
}

/// Fetches `source`. `env` is the environment for git.
pub(crate) fn fetch(
    location: &Location,
    source: &str,
    env: &EnvPlan,
) -> Result<FetchedDistribution> {
    let source = source.trim();
    let fetched = if is_git_url(source) {
        clone(location, source, env)?
    } else {
        let directory = PathBuf::from(expand_tilde(source, &location.user_home));
        if source.is_empty() || !directory.is_dir() {
            return Err(Error::UnknownSource {
                shown: shown(source),
            });
        }
        let directory = hermes_fs::canonicalize(&directory)?;
        FetchedDistribution {
            provenance: directory.to_string_lossy().into_owned(),
            directory,
            _clone: None,
        }
    };
    check_content(&fetched.directory, &shown(source))?;
    Ok(fetched)
}

fn is_git_url(source: &str) -> bool {
    const SCHEMES: &[&str] = &["git@", "ssh://", "git://", "http://", "https://", "file://"];
    SCHEMES.iter().any(|scheme| source.starts_with(scheme))
        || Path::new(source).extension() == Some(OsStr::new("git"))
        || is_github_shorthand(source)
}

/// `github.com/user/repo`.
fn is_github_shorthand(source: &str) -> bool {
    let parts: Vec<&str> = source.trim_end_matches('/').split('/').collect();
    matches!(parts.as_slice(), ["github.com", user, repo] if !user.is_empty() && !repo.is_empty())
}

fn clone(location: &Location, source: &str, env: &EnvPlan) -> Result<FetchedDistribution> {
    let no_git = || Error::NoGit {
        shown: without_password(source),
    };
    let git = Git::find(env.clone()).map_err(|_| no_git())?;
    let profiles = location.profiles_dir();
    hermes_fs::create_dir_all(&profiles, 0o700)?;
    let staging = Staging::begin(&profiles, "fetch")?;
    let directory = staging.path().join("clone");
    let url = if is_github_shorthand(source) {
        format!("https://{}", source.trim_end_matches('/'))
    } else {
        source.to_owned()
    };
    let mut args: Vec<OsString> = ["clone", "--quiet", "--depth", "1", "--"]
        .map(OsString::from)
        .to_vec();
    args.extend([OsString::from(url), directory.clone().into()]);
    match git.run_within(staging.path(), args, CLONE_LIMITS) {
        Ok(_) => {}
        Err(GitError::Refused { message, .. }) => {
            return Err(Error::Git {
                shown: without_password(source),
                message,
            });
        }
        Err(GitError::Process(error)) => return Err(error.into()),
        Err(GitError::Missing) => return Err(no_git()),
    }
    hermes_fs::remove_tree(&directory.join(".git"))?;
    Ok(FetchedDistribution {
        directory,
        provenance: source.to_owned(),
        _clone: Some(staging),
    })
}

/// Refuses what must not be copied into a profile: more than a distribution has, and links, which
/// could lead to a file from elsewhere on this machine.
fn check_content(directory: &Path, origin: &str) -> Result<()> {
    let refused = |reason: String| Error::NotADistribution {
        origin: origin.to_owned(),
        reason,
    };
    let mut entries: u64 = 0;
    let mut bytes: u64 = 0;
    hermes_fs::walk(directory, &mut |_, entry| {
        let entry = entry?;
        if entry.kind == Kind::Symlink {
            let name = shown(&entry.name.to_string_lossy());
            return Err(refused(format!("it contains the symbolic link '{name}'")));
        }
        entries += 1;
        if entry.kind == Kind::File {
            let size = hermes_fs::symlink_metadata(&entry.path)?.len();
            bytes = bytes.saturating_add(size);
        }
        if entries > MAX_ENTRIES || bytes > MAX_BYTES {
            return Err(refused(format!(
                "it has more than {MAX_ENTRIES} entries or {} MiB",
                MAX_BYTES >> 20
            )));
        }
        Ok(true)
    })
}

fn expand_tilde(source: &str, user_home: &Path) -> OsString {
    match source.strip_prefix("~/") {
        Some(rest) => user_home.join(rest).into(),
        None => source.into(),
    }
}

/// The source for a message: `https://user:token@host/…` loses what stands before the `@`.
fn without_password(source: &str) -> String {
    let masked = source.split_once("://").and_then(|(scheme, rest)| {
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (_, host) = authority.rsplit_once('@')?;
        Some(format!("{scheme}://…@{host}/{path}"))
    });
    shown(&masked.unwrap_or_else(|| source.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn git_urls_are_told_from_directories() {
        for url in [
            "https://github.com/u/r",
            "git@github.com:u/r",
            "ssh://h/r",
            "github.com/u/r/",
            "/srv/repo.git",
            "file:///srv/repo",
        ] {
            assert!(is_git_url(url), "{url}");
        }
        for other in ["/srv/repo", "./x", "github.com/u", "ext::sh -c x", "-x", ""] {
            assert!(!is_git_url(other), "{other}");
        }
    }

    #[test]
    fn a_token_in_an_address_is_not_shown() {
        assert_eq!(
            without_password("https://u:tok@h.example/r"),
            "https://…@h.example/r"
        );
        assert_eq!(
            without_password("https://h.example/r"),
            "https://h.example/r"
        );
    }
}
