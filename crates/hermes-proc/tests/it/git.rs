//! Git that runs nothing of a repository's choosing.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use hermes_proc::{Git, GitError, GitLimits, WorktreeBranch};
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
    let Err(GitError::Refused {
        command, message, ..
    }) = refused
    else {
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
fn programs_that_settings_of_a_repository_name_do_not_run() {
    let dir = tempfile::tempdir().unwrap();
    let git = repository(dir.path());
    let seen = dir.path().join("seen");
    let program = dir.path().join("program");
    let script = format!("#!/bin/sh\necho \"$0 $*\" >> {}\ncat\n", seen.display());
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    // Everything is filtered, shown and signed by the program, if the repository has its way.
    std::fs::write(dir.path().join(".gitattributes"), "* filter=a.b diff=a\n").unwrap();
    std::fs::write(dir.path().join("file"), "one\n").unwrap();
    let program = program.display().to_string();
    for name in [
        "filter.a.b.clean",
        "filter.a.b.smudge",
        "filter.a.b.process",
        "diff.external",
        "diff.a.textconv",
        "diff.a.command",
        "core.pager",
        "core.editor",
        "core.askPass",
        "credential.helper",
        "gpg.program",
    ] {
        git.run(dir.path(), ["config", name, &program]).unwrap();
    }
    for name in ["filter.a.b.required", "commit.gpgSign", "log.showSignature"] {
        git.run(dir.path(), ["config", name, "true"]).unwrap();
    }
    let other = tempfile::tempdir().unwrap();
    let beside = other.path().join("beside").display().to_string();
    let git_runs = |words: &[&str]| git.run(dir.path(), words.iter().copied()).unwrap();
    git_runs(&["add", "."]);
    git_runs(&["commit", "-q", "-m", "second"]);
    std::fs::write(dir.path().join("file"), "two\n").unwrap();
    assert!(git_runs(&["diff"]).contains("+two"));
    git_runs(&["status", "--porcelain"]);
    git_runs(&["checkout", "-q", "--", "file"]);
    git_runs(&["worktree", "add", "-q", &beside, "-b", "beside"]);
    assert!(git_runs(&["log", "--patch"]).contains("+one"));
    let text = std::fs::read_to_string(Path::new(&beside).join("file"));
    git_runs(&["worktree", "remove", "--force", &beside]);
    assert_eq!(text.unwrap(), "one\n");
    let ran = std::fs::read_to_string(&seen).unwrap_or_default();
    assert_eq!(ran, "");
}

/// A program that leaves a trace, for a repository to name.
struct Trap {
    dir: tempfile::TempDir,
}

impl Trap {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        // A server would be waited for, and waits itself; a filter passes its input on.
        let script = format!(
            "#!/bin/sh\ntouch {}/sprung\ncase \"$#$GIT_PROTOCOL\" in 0) exec cat;; esac\n",
            dir.path().display()
        );
        let program = dir.path().join("program");
        std::fs::write(&program, script).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        Self { dir }
    }

    fn program(&self) -> String {
        self.dir.path().join("program").display().to_string()
    }

    fn is_sprung(&self) -> bool {
        self.dir.path().join("sprung").exists()
    }

    /// Whether git as anybody would run it springs the trap; it is set again afterwards.
    fn is_real(&self, directory: &Path, words: &[&str]) -> bool {
        let path = std::env::var_os("PATH").unwrap();
        let mut git = std::process::Command::new("git");
        git.env_clear()
            .env("PATH", path)
            .env("HOME", "/nonexistent");
        let _output = git.current_dir(directory).args(words).output().unwrap();
        std::fs::remove_file(self.dir.path().join("sprung")).is_ok()
    }
}

/// Puts a file with this text into a commit.
fn commit_file(git: &Git, directory: &Path, text: &str) {
    std::fs::write(directory.join("file"), text).unwrap();
    git.run(directory, ["add", "file"]).unwrap();
    git.run(directory, ["commit", "-q", "-m", "file"]).unwrap();
}

#[test]
fn filter_that_only_counts_on_the_branch_of_a_new_worktree_does_not_run() {
    for condition in ["onbranch:hermes/**", "gitdir:**/worktrees/**"] {
        let dir = tempfile::tempdir().unwrap();
        let git = repository(dir.path());
        commit_file(&git, dir.path(), "one\n");
        let trap = Trap::new();
        let included = format!("[filter \"late\"]\nsmudge = {}\n", trap.program());
        std::fs::write(dir.path().join(".git/late"), included).unwrap();
        std::fs::write(dir.path().join(".git/info/attributes"), "* filter=late\n").unwrap();
        let name = format!("includeIf.{condition}.path");
        git.run(dir.path(), ["config", &name, "late"]).unwrap();
        let other = tempfile::tempdir().unwrap();
        let plain = other.path().join("plain").display().to_string();
        let words = ["worktree", "add", "-b", "hermes/plain", &plain];
        assert!(trap.is_real(dir.path(), &words), "{condition}");
        let target = other.path().join("ours");
        git.add_worktree(dir.path(), &target, WorktreeBranch::New("hermes/ours"))
            .unwrap();
        assert!(!trap.is_sprung(), "{condition}");
        assert_eq!(std::fs::read(target.join("file")).unwrap(), b"one\n");
        let status = git.run(&target, ["status", "--porcelain"]).unwrap();
        assert_eq!((status.as_str(), trap.is_sprung()), ("", false));
    }
}

#[test]
fn worktree_that_cannot_be_filled_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let git = repository(dir.path());
    commit_file(&git, dir.path(), "one\n");
    let blob = git.run(dir.path(), ["rev-parse", "HEAD:file"]).unwrap();
    let (first, rest) = blob.split_at(2);
    let object = dir.path().join(".git/objects").join(first).join(rest);
    std::fs::remove_file(object).unwrap();
    let other = tempfile::tempdir().unwrap();
    let target = other.path().join("ours");
    let added = git.add_worktree(dir.path(), &target, WorktreeBranch::New("ours"));
    assert!(added.is_err());
    assert!(!target.exists());
    let branches = git.run(dir.path(), ["branch", "--format=%(refname:short)"]);
    assert_eq!(branches.unwrap(), "trunk");
}

#[test]
fn programs_that_a_submodule_names_do_not_run() {
    let dir = tempfile::tempdir().unwrap();
    let git = repository(dir.path());
    let below = dir.path().join("below");
    std::fs::create_dir(&below).unwrap();
    repository(&below);
    commit_file(&git, &below, "one\n");
    git.run(dir.path(), ["add", "below"]).unwrap();
    git.run(dir.path(), ["commit", "-q", "-m", "below"])
        .unwrap();
    let trap = Trap::new();
    let program = trap.program();
    git.run(&below, ["config", "filter.below.clean", &program])
        .unwrap();
    git.run(&below, ["config", "diff.external", &program])
        .unwrap();
    std::fs::write(below.join(".git/info/attributes"), "* filter=below\n").unwrap();
    for (name, value) in [
        ("diff.submodule", "diff"),
        ("status.submoduleSummary", "true"),
    ] {
        git.run(dir.path(), ["config", name, value]).unwrap();
    }
    // Of the same size, so that only its content tells that it is another.
    std::fs::write(below.join("file"), "two\n").unwrap();
    for command in ["status", "diff"] {
        assert!(trap.is_real(dir.path(), &[command]), "{command}");
        git.run(dir.path(), [command]).unwrap();
        assert!(!trap.is_sprung(), "{command}");
    }
}

#[test]
fn missing_object_is_not_fetched_by_a_program_of_the_repository() {
    for (address, program_setting) in [
        ("file:///nonexistent", "remote.origin.uploadpack"),
        ("ssh://nobody.invalid/x", "core.sshCommand"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let git = repository(dir.path());
        commit_file(&git, dir.path(), "one\n");
        let blob = git.run(dir.path(), ["rev-parse", "HEAD:file"]).unwrap();
        let (first, rest) = blob.split_at(2);
        std::fs::remove_file(dir.path().join(".git/objects").join(first).join(rest)).unwrap();
        std::fs::write(dir.path().join("file"), "changed, and of another size\n").unwrap();
        let trap = Trap::new();
        for (name, value) in [
            ("core.repositoryFormatVersion", "1"),
            ("extensions.partialClone", "origin"),
            ("remote.origin.promisor", "true"),
            ("remote.origin.url", address),
            (program_setting, &trap.program()),
        ] {
            git.run(dir.path(), ["config", name, value]).unwrap();
        }
        assert!(trap.is_real(dir.path(), &["diff"]), "{program_setting}");
        assert!(git.run(dir.path(), ["diff"]).is_err());
        assert!(git.run(dir.path(), ["log", "--patch"]).is_err());
        assert!(!trap.is_sprung(), "{program_setting}");
    }
}

#[test]
fn format_that_asks_for_signatures_does_not_run_the_program_for_them() {
    let dir = tempfile::tempdir().unwrap();
    let git = repository(dir.path());
    let tree = git.run(dir.path(), ["rev-parse", "HEAD^{tree}"]).unwrap();
    let commit = format!(
        "tree {tree}\nauthor a <a@example.org> 1 +0000\ncommitter a <a@example.org> 1 +0000\n\
         gpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n\nsigned\n"
    );
    let words = ["hash-object", "-t", "commit", "-w", "--stdin"];
    let limits = GitLimits::default();
    let made = git.run_with_input(dir.path(), words, commit.as_bytes(), limits);
    let made = String::from_utf8(made.unwrap()).unwrap();
    git.run(dir.path(), ["update-ref", "HEAD", made.trim()])
        .unwrap();
    let trap = Trap::new();
    for (name, value) in [
        ("format.pretty", "signed: %G?"),
        ("gpg.program", &trap.program()),
        ("gpg.openpgp.program", &trap.program()),
    ] {
        git.run(dir.path(), ["config", name, value]).unwrap();
    }
    assert!(trap.is_real(dir.path(), &["log"]));
    assert!(git.run(dir.path(), ["log"]).unwrap().contains("signed"));
    git.run(dir.path(), ["log", "--format=%G?"]).unwrap();
    assert!(!trap.is_sprung());
}

#[test]
fn repository_with_more_filters_than_can_be_switched_off_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let git = repository(dir.path());
    commit_file(&git, dir.path(), "one\n");
    let trap = Trap::new();
    let config = dir.path().join(".git/config");
    let before = std::fs::read_to_string(&config).unwrap();
    let named = |count: usize| {
        let name = "n".repeat(500);
        let mut many = String::new();
        for at in 0..count {
            many.extend(["[filter \"", &name, &at.to_string(), "\"]\nclean = true\n"]);
        }
        let last = format!("[filter \"last\"]\nclean = {}\n", trap.program());
        std::fs::write(&config, format!("{before}{many}{last}")).unwrap();
    };
    std::fs::write(dir.path().join(".git/info/attributes"), "* filter=last\n").unwrap();
    std::fs::write(dir.path().join("file"), "changed, and of another size\n").unwrap();
    // More than any other answer of git's may be long.
    named(300);
    assert!(trap.is_real(dir.path(), &["diff"]));
    assert!(git.run(dir.path(), ["diff"]).unwrap().contains("+changed"));
    assert!(!trap.is_sprung());
    named(5_000);
    let refused = git.run(dir.path(), ["diff"]).unwrap_err().to_string();
    assert!(refused.contains("too many programs"), "{refused}");
    assert!(!trap.is_sprung());
}

#[test]
fn merge_drivers_of_a_repository_leave_a_conflict() {
    let dir = tempfile::tempdir().unwrap();
    let git = repository(dir.path());
    let run = |words: &[&str]| git.run(dir.path(), words.iter().copied()).unwrap();
    let file = dir.path().join("file");
    let lines = |changed: &str| format!("{changed}\n2\n3\n4\n5\n6\n7\n8\nlast\n");
    std::fs::write(&file, lines("1")).unwrap();
    run(&["add", "."]);
    run(&["commit", "-q", "-m", "second"]);
    run(&["checkout", "-q", "-b", "other"]);
    std::fs::write(&file, lines("one")).unwrap();
    run(&["commit", "-q", "-a", "-m", "other"]);
    run(&["checkout", "-q", "trunk"]);
    std::fs::write(&file, lines("1").replace("last", "end")).unwrap();
    run(&["commit", "-q", "-a", "-m", "third"]);
    let merge = || {
        let words = [
            "merge-tree",
            "--write-tree",
            "--name-only",
            "trunk",
            "other",
        ];
        let limits = GitLimits::default();
        git.run_accepting(&[0, 1], dir.path(), words, b"", limits)
            .unwrap()
    };
    assert_eq!(merge().code, 0);
    let seen = dir.path().join("seen");
    std::fs::write(dir.path().join(".git/info/attributes"), "file merge=evil\n").unwrap();
    let program = format!("touch {}", seen.display());
    run(&["config", "merge.evil.driver", &program]);
    let answer = merge();
    assert_eq!(answer.code, 1);
    assert!(String::from_utf8_lossy(&answer.bytes).contains("\nfile\n"));
    assert!(!seen.exists());
}

#[test]
fn repository_is_the_named_one_and_not_one_that_lies_in_the_work_tree() {
    let (own, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let git = repository(own.path());
    repository(other.path());
    std::fs::write(other.path().join("file"), "x\n").unwrap();
    git.run(own.path(), ["config", "core.worktree", "/nonexistent"])
        .unwrap();
    let place = hermes_proc::GitPlace {
        directory: &own.path().join(".git"),
        work_tree: other.path(),
    };
    let at = git.at(place);
    let index = own.path().join("index");
    let content = || std::fs::read(own.path().join(".git/index")).ok();
    let before = content();
    let known = at
        .run(other.path(), ["rev-parse", "--absolute-git-dir"])
        .unwrap();
    assert_eq!(Path::new(&known), own.path().join(".git"));
    let scratch = at.clone().with_index(&index).with_literal_paths();
    scratch
        .run(other.path(), ["add", "--intent-to-add", "file"])
        .unwrap();
    assert!(index.exists());
    assert_eq!(content(), before);
    let bounded = hermes_proc::GitLimits {
        max_output: 4,
        ..Default::default()
    };
    let words = ["rev-parse", "HEAD"];
    let output = at
        .run_accepting(&[0], other.path(), words, b"", bounded)
        .unwrap();
    assert!(output.truncated && output.bytes.len() == 4);
}

#[test]
fn missing_git_is_an_error_of_its_own() {
    let found = Git::find(plan(&[]).with("PATH", "/nonexistent"));
    assert!(matches!(found, Err(GitError::Missing)));
}

#[test]
fn a_store_of_our_own_has_no_other_end() {
    let dir = tempfile::tempdir().unwrap();
    let git = repository(dir.path());
    let address = format!("file://{}", dir.path().display());
    git.run(dir.path(), ["clone", "--quiet", &address, "a"])
        .unwrap();
    let words = ["clone", "--quiet", &address, "b"];
    let refused = git.of_nobody().run(dir.path(), words);
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("not allowed"), "{refused}");
}

#[test]
fn half_a_list_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let git = repository(dir.path());
    let words = ["rev-parse", "HEAD", "HEAD"];
    let limits = |max_output| GitLimits {
        max_output,
        ..GitLimits::default()
    };
    let whole = git.run_with_input(dir.path(), words, b"", limits(82));
    assert_eq!(whole.unwrap().len(), 82);
    let half = git.run_with_input(dir.path(), words, b"", limits(81));
    let half = half.unwrap_err().to_string();
    assert!(half.contains("more than 81 bytes"), "{half}");
}
