//! A plugin in a stage: cloned or copied, with nothing in it that leads out, and a manifest that can
//! be used. The stage goes away with its value.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hermes_fs::{Kind as EntryKind, Staging};
use hermes_proc::{EnvPlan, Error as ProcessError, Git, GitError, GitLimits};

use crate::error::{Error, Result};
use crate::manifest::Manifest;
use crate::origin::Origin;

/// A shallow clone.
const CLONE_LIMITS: GitLimits = GitLimits {
    timeout: Duration::from_mins(1),
    max_output: 64 * 1024,
};
/// Most files and bytes of a plugin.
const MOST_FILES: usize = 20_000;
const MOST_BYTES: u64 = 512 << 20;
/// The beginning of the names of stages.
pub(crate) const STAGE: &str = "fetch";

/// A plugin that was fetched.
pub(crate) struct Fetched {
    pub(crate) manifest: Manifest,
    /// The commit of its repository.
    pub(crate) commit: Option<String>,
    tree: PathBuf,
    /// Holds the tree, and removes what is left of it.
    pub(crate) staging: Staging,
}

impl Fetched {
    /// The directory of the plugin, in the stage.
    pub(crate) fn tree(&self) -> &Path {
        &self.tree
    }
}

/// Fetches a plugin into a stage below `parent`.
pub(crate) fn fetch(origin: &Origin, parent: &Path, git: &EnvPlan) -> Result<Fetched> {
    let staging = Staging::begin(parent, STAGE)?;
    let whole = staging.path().join("plugin");
    let (tree, commit) = match origin {
        Origin::Directory(directory) => {
            copy(directory, &whole)?;
            (whole, None)
        }
        Origin::Repository { address, path } => {
            let commit = clone(address, &whole, staging.path(), git, origin)?;
            (below(&whole, path)?, Some(commit))
        }
    };
    check_tree(&tree)?;
    let manifest = match Manifest::of_directory(&tree) {
        None => {
            return Err(Error::refused_with(
                format!("{} is not a plugin: it has no plugin.yaml.", origin.shown()),
                "a plugin in a subdirectory is named by its path: owner/repository/path, or #path \
                 behind an address",
            ));
        }
        Some(manifest) => manifest.map_err(|problem| {
            Error::refused(format!(
                "The plugin cannot be installed: {}",
                hermes_text::one_line(&problem, 400)
            ))
        })?,
    };
    Ok(Fetched {
        manifest,
        commit,
        tree,
        staging,
    })
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    if !from.is_dir() {
        let path = from.display();
        return Err(Error::refused(format!("{path} is not a directory.")));
    }
    hermes_fs::create_dir(to, 0o700)?;
    let mut files = 0;
    Ok(hermes_fs::copy_tree(from, to, &mut |_, _| {
        files += 1;
        // One more than may be, so that the check sees it.
        files <= MOST_FILES + 1
    })?)
}

/// Clones a repository and gives its commit.
fn clone(address: &str, to: &Path, stage: &Path, env: &EnvPlan, origin: &Origin) -> Result<String> {
    let git = Git::find(env.clone()).map_err(|_| Error::Source {
        message: "git is needed to install a plugin from a repository, and it is not installed."
            .to_owned(),
    })?;
    let words = ["clone", "--quiet", "--no-local", "--depth", "1", "--"];
    let mut args: Vec<OsString> = words.map(OsString::from).to_vec();
    args.extend([OsString::from(address), to.into()]);
    let failed = |error: GitError| {
        let reason = match error {
            GitError::Refused { message, .. } => message,
            GitError::Process(ProcessError::Deadline { .. }) => {
                format!("git took longer than {} s", CLONE_LIMITS.timeout.as_secs())
            }
            other => other.to_string(),
        };
        Error::Source {
            message: format!("{} cannot be fetched: {reason}", origin.shown()),
        }
    };
    git.run_within(stage, args, CLONE_LIMITS).map_err(failed)?;
    git.run(to, ["rev-parse", "HEAD"]).map_err(failed)
}

fn below(whole: &Path, path: &str) -> Result<PathBuf> {
    if path.is_empty() {
        return Ok(whole.to_owned());
    }
    let out = |_| {
        let path = hermes_text::shown(path, 80);
        Error::refused(format!("'{path}' leads out of the repository."))
    };
    let relative = hermes_fs::confined_relative(path).map_err(out)?;
    let directory = hermes_fs::join_without_symlinks(whole, &relative)
        .map_err(|_| Error::refused(format!("'{path}' leads out of the repository.")))?;
    if !directory.is_dir() {
        return Err(Error::refused(format!(
            "The repository has no directory '{}'.",
            hermes_text::shown(path, 80)
        )));
    }
    Ok(directory)
}

/// Refuses what is too large, and links that lead out of the plugin or nowhere.
fn check_tree(root: &Path) -> Result<()> {
    let real = hermes_fs::canonicalize(root)?;
    let (mut files, mut bytes) = (0, 0);
    hermes_fs::walk(root, &mut |path, entry| {
        let entry = entry?;
        // What git keeps there is its own.
        if path == Path::new(".git") {
            return Ok(false);
        }
        files += 1;
        match entry.kind {
            EntryKind::Symlink => {
                let target = hermes_fs::canonicalize(&entry.path);
                if !target.is_ok_and(|target| target.starts_with(&real)) {
                    let path = hermes_text::shown(&path.to_string_lossy(), 80);
                    return Err(Error::refused(format!(
                        "The plugin is refused: its link '{path}' leads out of it, or nowhere."
                    )));
                }
            }
            EntryKind::File => {
                bytes += hermes_fs::symlink_metadata(&entry.path)?.len();
            }
            EntryKind::Dir | EntryKind::Special => {}
        }
        if files > MOST_FILES || bytes > MOST_BYTES {
            return Err(Error::refused(format!(
                "The plugin is refused: it has more than {MOST_FILES} files or {} MiB.",
                MOST_BYTES >> 20
            )));
        }
        Ok(true)
    })
}
