//! Repositories that cards are worked on by address: the copy that this machine keeps of one, worktrees of
//! it, and pushing back, so that any machine of the board can go on. Whoever works in a worktree can
//! change the settings of the copy, so that it is treated like a repository of anybody.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use hermes_fs::{FileLock, LockOptions};
use hermes_proc::{Git, GitError, GitLimits, WorktreeBranch};
use sha2::{Digest, Sha256};

use crate::boards::Board;
use crate::model::WorkBase;
use crate::repository_address::RepositoryAddress;
use crate::repository_error::RepositoryError;
use crate::store::ResolvedWorkspace;

type Result<T> = std::result::Result<T, RepositoryError>;

/// Time for what goes over the network.
const NETWORK: GitLimits = GitLimits {
    timeout: Duration::from_mins(10),
    max_output: 4 * 1024 * 1024,
};
/// Where the branches of the repository are in the copy.
const REMOTE: &str = "refs/remotes/origin/";
const REMOTE_HEAD: &str = "refs/remotes/origin/HEAD";

/// The copy of a repository on this machine.
#[derive(Debug)]
pub(crate) struct Mirror {
    git: Git,
    path: PathBuf,
    address: RepositoryAddress,
}

impl Mirror {
    pub(crate) fn of(board: &Board, address: &str, git: Git) -> Result<Self> {
        let address = RepositoryAddress::parse(address)?;
        let digest = Sha256::digest(address.as_str());
        let name = hermes_fs::hex(digest.get(..10).unwrap_or_default());
        Ok(Self {
            git,
            path: board.repositories().join(format!("{name}.git")),
            address,
        })
    }

    /// The directory of the copy, without links.
    pub(crate) fn directory(&self) -> PathBuf {
        hermes_fs::resolved(&self.path)
    }

    fn stamp(&self) -> PathBuf {
        self.path.with_extension("fetched")
    }

    /// How long ago it was last fetched; `None` if it never was.
    pub(crate) fn age(&self) -> Option<Duration> {
        let fetched = hermes_fs::metadata(&self.stamp()).ok()?.modified().ok()?;
        Some(
            SystemTime::now()
                .duration_since(fetched)
                .unwrap_or_default(),
        )
    }

    /// Whether a commit is in the copy.
    pub(crate) fn has(&self, commit: &str) -> bool {
        let object = format!("{commit}^{{commit}}");
        self.git
            .run(&self.path, ["cat-file", "-e", &object])
            .is_ok()
    }

    /// Brings the copy up to date, making it if need be.
    pub(crate) fn fetch(&self) -> Result<()> {
        if let Some(parent) = self.path.parent() {
            hermes_fs::create_dir_all(parent, 0o700)?;
        }
        let lock = self.path.with_extension("lock");
        let options = LockOptions {
            timeout: NETWORK.timeout,
            ..LockOptions::new("the copy of a repository")
        };
        let _lock = FileLock::acquire(&lock, &options)?;
        let is_new = !self.path.join("HEAD").exists();
        if is_new {
            self.create()?;
        }
        let fetched = self.fetch_branches();
        if fetched.is_err() && is_new {
            // A copy of nothing would hide that it was never fetched.
            hermes_fs::remove_tree(&self.path)?;
        }
        fetched?;
        hermes_fs::touch(&self.stamp(), 0o600)?;
        Ok(())
    }

    fn create(&self) -> Result<()> {
        hermes_fs::create_dir_all(&self.path, 0o700)?;
        self.git.run(&self.path, ["init", "--quiet", "--bare"])?;
        let settings = [
            ("remote.origin.url", self.address.as_str()),
            ("remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*"),
        ];
        for (name, value) in settings {
            self.git.run(&self.path, ["config", name, value])?;
        }
        Ok(())
    }

    fn fetch_branches(&self) -> Result<()> {
        let git = with_credentials(&self.git, &self.path);
        let words = [
            "fetch",
            "--quiet",
            "--prune",
            "--no-tags",
            "--no-auto-maintenance",
            "--no-write-fetch-head",
            "--recurse-submodules=no",
            "--upload-pack=git-upload-pack",
            self.address.as_str(),
            "+refs/heads/*:refs/remotes/origin/*",
        ];
        git.run_within(&self.path, words, NETWORK)
            .map_err(|error| self.unreachable(error))?;
        let words = [
            "ls-remote",
            "--symref",
            "--upload-pack=git-upload-pack",
            self.address.as_str(),
            "HEAD",
        ];
        let head = git
            .run_within(&self.path, words, NETWORK)
            .map_err(|error| self.unreachable(error))?;
        let branch = head.lines().find_map(|line| {
            line.strip_prefix("ref: refs/heads/")?
                .strip_suffix("\tHEAD")
        });
        if let Some(branch) = branch {
            let target = format!("{REMOTE}{branch}");
            self.git
                .run(&self.path, ["symbolic-ref", REMOTE_HEAD, &target])?;
        }
        Ok(())
    }

    fn unreachable(&self, error: GitError) -> RepositoryError {
        match error {
            GitError::Refused { message, .. } => RepositoryError::Unreachable {
                address: self.address.to_string(),
                message,
            },
            other => other.into(),
        }
    }

    /// The commit that a name stands for.
    fn commit(&self, directory: &Path, name: &str) -> Result<Option<String>> {
        let name = format!("{name}^{{commit}}");
        let words = [
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            &name,
        ];
        match self.git.run(directory, words) {
            // What was asked is repeated before the answer.
            Ok(text) => Ok(text.lines().last().map(str::to_owned)),
            Err(GitError::Refused { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn leads_to(&self, from: &str, to: &str) -> Result<bool> {
        let words = ["merge-base", "--is-ancestor", from, to];
        match self.git.run(&self.path, words) {
            Ok(_) => Ok(true),
            Err(GitError::Refused { code: Some(1), .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether a directory is a worktree of the copy.
    pub(crate) fn has_worktree(&self, target: &Path) -> bool {
        let words = ["rev-parse", "--path-format=absolute", "--git-common-dir"];
        let is_linked =
            hermes_fs::symlink_metadata(&target.join(".git")).is_ok_and(|found| found.is_file());
        is_linked
            && self
                .git
                .run(target, words)
                .is_ok_and(|common| hermes_fs::resolved(Path::new(&common)) == self.directory())
    }

    /// The worktree of a card at `target`, on its branch: as the repository has it, or as it was left
    /// here if nobody has gone on elsewhere.
    pub(crate) fn worktree(&self, target: &Path, branch: &str) -> Result<ResolvedWorkspace> {
        let theirs = self.commit(&self.path, &format!("{REMOTE}{branch}"))?;
        if self.has_worktree(target) {
            self.catch_up(target, branch, theirs.as_deref())?;
        } else {
            let is_in_the_way = target.is_dir()
                && hermes_fs::read_dir(target).is_ok_and(|entries| !entries.is_empty());
            if is_in_the_way {
                return Err(RepositoryError::InTheWay {
                    address: self.address.to_string(),
                    path: target.to_owned(),
                });
            }
            self.point_branch(branch, theirs.as_deref())?;
            if let Some(parent) = target.parent() {
                hermes_fs::create_dir_all(parent, 0o700)?;
            }
            self.git.run(&self.path, ["worktree", "prune"])?;
            let branch = WorktreeBranch::Existing(branch);
            self.git.add_worktree(&self.path, target, branch)?;
        }
        let current = self.git.run(target, ["branch", "--show-current"])?;
        Ok(ResolvedWorkspace {
            path: target.to_owned(),
            branch: Some(current).filter(|name| !name.is_empty()),
            base: self.base(target)?,
        })
    }

    /// Where the work begins: where it and the repository part.
    fn base(&self, target: &Path) -> Result<Option<WorkBase>> {
        let Some(head) = self.commit(target, "HEAD")? else {
            return Ok(None);
        };
        let parted = self.git.run(&self.path, ["merge-base", &head, REMOTE_HEAD]);
        let branch = self.git.run(&self.path, ["symbolic-ref", REMOTE_HEAD]);
        let branch = branch.ok();
        Ok(Some(WorkBase {
            repository: self.directory(),
            commit: parted.unwrap_or(head),
            branch: branch.and_then(|name| name.strip_prefix(REMOTE).map(str::to_owned)),
        }))
    }

    /// Makes the branch, or moves it to where the repository has it.
    fn point_branch(&self, branch: &str, theirs: Option<&str>) -> Result<()> {
        let name = format!("refs/heads/{branch}");
        let ours = self.commit(&self.path, &name)?;
        let target = match (ours.as_deref(), theirs) {
            (Some(_), None) => return Ok(()),
            (None, Some(theirs)) => theirs.to_owned(),
            (Some(ours), Some(theirs)) => {
                if self.leads_to(theirs, ours)? {
                    return Ok(());
                }
                if !self.leads_to(ours, theirs)? {
                    return Err(self.diverged(branch));
                }
                theirs.to_owned()
            }
            (None, None) => {
                let head = self.commit(&self.path, REMOTE_HEAD)?;
                head.ok_or_else(|| RepositoryError::Empty {
                    address: self.address.to_string(),
                })?
            }
        };
        let old = ours.unwrap_or_else(|| "0".repeat(target.len()));
        self.git
            .run(&self.path, ["update-ref", &name, &target, &old])?;
        Ok(())
    }

    /// Moves a worktree to where the repository has its branch.
    fn catch_up(&self, target: &Path, branch: &str, theirs: Option<&str>) -> Result<()> {
        let current = self.git.run(target, ["branch", "--show-current"])?;
        let head = self.commit(target, "HEAD")?;
        let (Some(theirs), Some(head)) = (theirs, head.as_deref()) else {
            return Ok(());
        };
        // Whatever is checked out there is what the next worker finds.
        if current != branch || self.leads_to(theirs, head)? {
            return Ok(());
        }
        if !self.leads_to(head, theirs)? {
            return Err(self.diverged(branch));
        }
        let words = ["status", "--porcelain", "--untracked-files=all"];
        if !self.git.run(target, words)?.is_empty() {
            return Err(RepositoryError::Uncommitted {
                branch: branch.to_owned(),
                address: self.address.to_string(),
                path: target.to_owned(),
            });
        }
        self.git
            .run_within(target, ["merge", "--quiet", "--ff-only", theirs], NETWORK)?;
        Ok(())
    }

    fn diverged(&self, branch: &str) -> RepositoryError {
        RepositoryError::Diverged {
            branch: branch.to_owned(),
            address: self.address.to_string(),
        }
    }

    /// Commits what is not committed in a worktree, if that can be done as it is.
    pub(crate) fn commit_rest(&self, target: &Path, branch: &str, message: &str) -> Result<()> {
        let refuse = |problem: &str| RepositoryError::NotCommitted {
            path: target.to_owned(),
            problem: problem.to_owned(),
        };
        if self.git.run(target, ["branch", "--show-current"])? != branch {
            return Err(refuse("is not on the branch of its card"));
        }
        let words = [
            "status",
            "--porcelain",
            "--untracked-files=all",
            "--no-renames",
        ];
        let status = self.git.run_within(target, words, NETWORK)?;
        if status.is_empty() {
            return Ok(());
        }
        if status.lines().any(|line| line.ends_with('/')) {
            return Err(refuse("holds a repository of its own"));
        }
        let ask = ["config", "--get-regexp", "^filter\\..*\\.(clean|process)$"];
        if self.git.run(target, ask).is_ok() {
            return Err(refuse(
                "has changes that are not committed, and filters, which are not run here",
            ));
        }
        let git = match self.git.run(target, ["config", "user.email"]) {
            Ok(_) => self.git.clone(),
            Err(_) => self
                .git
                .clone()
                .with_settings(&["user.name=Hermes", "user.email=hermes@localhost"]),
        };
        git.run_within(target, ["add", "--all"], NETWORK)?;
        let words = [
            "commit",
            "--quiet",
            "--no-verify",
            "--no-status",
            "-m",
            message,
        ];
        git.run_within(target, words, NETWORK)?;
        Ok(())
    }

    /// Pushes the commits of a worktree, never by force. Gives the newest one if it is in the repository
    /// now, and `None` if there is nothing that the repository does not have.
    pub(crate) fn push(&self, target: &Path, branch: &str) -> Result<Option<String>> {
        let Some(head) = self.commit(target, "HEAD")? else {
            return Ok(None);
        };
        let theirs = self.commit(&self.path, &format!("{REMOTE}{branch}"))?;
        if theirs.as_deref() == Some(head.as_str()) {
            return Ok(Some(head));
        }
        let begun = self.commit(&self.path, REMOTE_HEAD)?;
        let has_commits = match begun {
            Some(begun) => !self.leads_to(&head, &begun)?,
            None => true,
        };
        if theirs.is_none() && !has_commits {
            return Ok(None);
        }
        let reference = format!("{head}:refs/heads/{branch}");
        let words = push_words(self.address.as_str(), &reference);
        let git = with_credentials(&self.git, target);
        match git.run_within(target, words, NETWORK) {
            Ok(_) => {}
            Err(GitError::Refused { message, .. }) => {
                // Another machine may have gone on from here.
                if self.fetch().is_ok()
                    && let Some(theirs) = self.commit(&self.path, &format!("{REMOTE}{branch}"))?
                    && self.leads_to(&head, &theirs)?
                {
                    return Ok(Some(theirs));
                }
                return Err(RepositoryError::Rejected {
                    branch: branch.to_owned(),
                    address: self.address.to_string(),
                    message,
                });
            }
            Err(error) => return Err(error.into()),
        }
        let name = format!("{REMOTE}{branch}");
        self.git.run(&self.path, ["update-ref", &name, &head])?;
        Ok(Some(head))
    }
}

/// A push that runs nothing and sends nothing besides the one reference, never by force.
pub(crate) fn push_words<'w>(remote: &'w str, reference: &'w str) -> [&'w str; 9] {
    [
        "push",
        "--quiet",
        "--no-verify",
        "--no-signed",
        "--no-follow-tags",
        "--recurse-submodules=no",
        "--receive-pack=git-receive-pack",
        remote,
        reference,
    ]
}

/// Git with the programs that the user has chosen for passwords; those of the repository are not run.
pub(crate) fn with_credentials(git: &Git, directory: &Path) -> Git {
    let mut with = git.clone().with_settings(&["core.sshCommand=ssh"]);
    for scope in ["--system", "--global"] {
        let words = ["config", scope, "--get-all", "credential.helper"];
        let helpers = git.run(directory, words).unwrap_or_default();
        for helper in helpers.lines() {
            with = with.with_setting(format!("credential.helper={helper}"));
        }
    }
    with
}
