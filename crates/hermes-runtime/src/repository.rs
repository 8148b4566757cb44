//! The git repository around a directory, read from its files: a session records where it was, and
//! running git for that would cost more than the rest of the start.

use std::path::{Path, PathBuf};

/// Longest file of git's own that is read.
const LONGEST: u64 = 64 * 1024;

/// A repository, or a worktree of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Repository {
    pub(crate) root: PathBuf,
    /// The branch; nothing when a commit is checked out.
    pub(crate) branch: Option<String>,
}

impl Repository {
    /// The repository that `directory` lies in.
    pub(crate) fn around(directory: &Path) -> Option<Self> {
        let root = directory
            .ancestors()
            .find(|dir| hermes_fs::exists_no_follow(&dir.join(".git")))?;
        let head = text(&own_directory(root)?.join("HEAD"))?;
        let branch = head.trim().strip_prefix("ref: refs/heads/");
        Some(Self {
            root: root.to_owned(),
            branch: branch.map(str::to_owned),
        })
    }
}

/// The branch checked out in a directory; `None` outside of repositories and on a bare commit.
pub fn git_branch(directory: &Path) -> Option<String> {
    Repository::around(directory)?.branch
}

/// Where git keeps its files: in a worktree a file says where.
fn own_directory(root: &Path) -> Option<PathBuf> {
    let dot_git = root.join(".git");
    if dot_git.is_dir() {
        return Some(dot_git);
    }
    let pointer = text(&dot_git)?;
    let path = pointer.trim().strip_prefix("gitdir: ")?;
    Some(root.join(path))
}

fn text(path: &Path) -> Option<String> {
    hermes_fs::read_text_capped(path, LONGEST).ok()
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests write files directly")]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn put(path: &Path, text: &str) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    #[test]
    fn repository_is_found_with_branch_commit_and_worktree() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().join("repo");
        let head = root.join(".git/HEAD");
        put(&root.join("a/b/file"), "");
        assert_eq!(Repository::around(&root.join("a")), None);
        put(&head, "ref: refs/heads/feature/x\n");
        let found = |branch: Option<&str>| {
            Some(Repository {
                root: root.clone(),
                branch: branch.map(str::to_owned),
            })
        };
        assert_eq!(
            Repository::around(&root.join("a/b")),
            found(Some("feature/x"))
        );
        put(&head, "0123456789abcdef0123456789abcdef01234567\n");
        assert_eq!(Repository::around(&root), found(None));
        let tree = place.path().join("tree");
        put(
            &root.join(".git/worktrees/tree/HEAD"),
            "ref: refs/heads/t\n",
        );
        put(&tree.join(".git"), "gitdir: ../repo/.git/worktrees/tree\n");
        let found = Repository::around(&tree).unwrap();
        assert_eq!(
            (found.root, found.branch.as_deref()),
            (tree.clone(), Some("t"))
        );
        put(&tree.join(".git"), "nonsense");
        assert_eq!(Repository::around(&tree), None);
    }
}
