//! Git that runs nothing of a repository's choosing.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use hermes_proc::{Git, GitError};
use pretty_assertions::assert_eq;

use crate::plan;

const PATH: (&str, &str) = ("PATH", "/usr/local/bin:/usr/bin:/bin");

/// A repository with one commit.
fn repository(directory: &Path) -> Git {
    let git = Git::find(plan(&[PATH, ("GIT_DIR", "/nonexistent")])).unwrap();
    git.run(directory, ["init", "-q", "-b", "trunk"]).unwrap();
    for (name, value) in [("user.name", "n"), ("user.email", "e@example.org")] {
        git.run(directory, ["config", name, value]).unwrap();
    }
    let commit = ["commit", "-q", "--allow-empty", "-m", "first"];
    git.run(directory, commit).unwrap();
    git
}

#[test]
fn git_answers_about_the_directory_and_not_about_a_variable() {
    let dir = tempfile::tempdir().unwrap();
    let git = repository(dir.path());
    let branch = git.run(dir.path(), ["branch", "--show-current"]);
    assert_eq!(branch.unwrap(), "trunk");
    let refused = git.run(dir.path(), ["rev-parse", "--verify", "nothing"]);
    let Err(GitError::Refused { command, message }) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(command, "rev-parse");
    assert!(message.contains("single revision"), "{message}");
}

#[test]
fn hooks_and_monitors_of_a_repository_do_not_run() {
    let dir = tempfile::tempdir().unwrap();
    let git = repository(dir.path());
    let seen = dir.path().join("seen");
    let hook = dir.path().join(".git/hooks/post-checkout");
    std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
    std::fs::write(&hook, format!("#!/bin/sh\ntouch {}\n", seen.display())).unwrap();
    std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
    let monitor = hook.display().to_string();
    git.run(dir.path(), ["config", "core.fsmonitor", &monitor])
        .unwrap();
    git.run(dir.path(), ["checkout", "-q", "-b", "other"])
        .unwrap();
    git.run(dir.path(), ["status"]).unwrap();
    assert!(!seen.exists());
}

#[test]
fn missing_git_is_an_error_of_its_own() {
    let found = Git::find(plan(&[]).with("PATH", "/nonexistent"));
    assert!(matches!(found, Err(GitError::Missing)));
}
