//! `hermes kanban diff`: what the work on a card changed, whatever lies in its workspace.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use hermes_testkit::git;
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::{Desk, assert_refuses};

/// A repository of the user's, and cards worked on in it by hand.
pub(crate) struct Project {
    pub(crate) desk: Desk,
    pub(crate) repository: PathBuf,
}

/// Twelve lines to change.
pub(crate) const POEM: &str =
    "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\neleven\ntwelve\n";

impl Project {
    pub(crate) fn new() -> Self {
        let desk = Desk::new();
        let repository = desk.home.user_home().join("project");
        fs::create_dir_all(&repository).unwrap();
        git(&repository, &["init", "--quiet", "-b", "main"]);
        fs::write(repository.join("poem.txt"), POEM).unwrap();
        fs::write(repository.join("old name.txt"), "a\nb\nc\nd\ne\nf\n").unwrap();
        fs::write(repository.join("gone.txt"), "soon\n").unwrap();
        fs::write(repository.join("run.sh"), "true\n").unwrap();
        fs::write(repository.join("picture.bin"), [0, 1, 2, 255].repeat(100)).unwrap();
        fs::write(repository.join(".gitignore"), "*.log\n.worktrees/\n").unwrap();
        git(&repository, &["add", "."]);
        git(&repository, &["commit", "--quiet", "-m", "first"]);
        Self { desk, repository }
    }

    /// A card with a worktree, claimed; gives it and the worktree.
    #[track_caller]
    pub(crate) fn card(&self, flags: &[&str]) -> (String, PathBuf) {
        let workspace = format!("worktree:{}", self.repository.display());
        let mut all = vec!["--workspace", &workspace];
        all.extend(flags);
        let id = self.desk.create("a card", &all);
        self.desk.kanban(&["claim", &id]).succeeds();
        let tree = self.repository.join(".worktrees").join(&id);
        assert!(tree.is_dir());
        (id, tree)
    }

    /// What `kanban diff` writes into a pipe.
    #[track_caller]
    pub(crate) fn patch(&self, id: &str) -> Vec<u8> {
        let to = self.desk.home.put_outside("patch", "", 0o600);
        self.desk.call(&["diff", id]).run_into(&to).succeeds();
        fs::read(to).unwrap()
    }
}

/// The names that are changed, as JSON has them.
fn names(diff: &serde_json::Value) -> Vec<(String, String)> {
    let files = diff["files"].as_array().unwrap();
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    files
        .iter()
        .map(|file| (text(&file["change"]), text(&file["path"])))
        .collect()
}

/// Every file of a tree with its content and whether it can be executed.
fn content(tree: &Path) -> Vec<(PathBuf, Vec<u8>, bool)> {
    let mut all: Vec<_> = fs::read_dir(tree)
        .unwrap()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.is_file() && path.file_name() != Some(OsStr::new(".git")))
        .map(|path| {
            let mode = fs::metadata(&path).unwrap().permissions().mode();
            let name = PathBuf::from(path.file_name().unwrap());
            (name, fs::read(&path).unwrap(), mode & 0o100 != 0)
        })
        .collect();
    all.sort();
    all
}

#[test]
fn all_that_changed_is_one_view_and_a_patch_that_git_applies() {
    let project = Project::new();
    let (id, tree) = project.card(&[]);
    // Committed.
    git(&tree, &["mv", "old name.txt", "new name.txt"]);
    git(&tree, &["commit", "--quiet", "-m", "renamed"]);
    // Staged.
    fs::write(tree.join("poem.txt"), POEM.replace("two", "zwei")).unwrap();
    git(&tree, &["add", "poem.txt"]);
    // Not staged, on top of it.
    fs::write(
        tree.join("poem.txt"),
        POEM.replace("two", "zwei").replace("nine", "neun"),
    )
    .unwrap();
    fs::remove_file(tree.join("gone.txt")).unwrap();
    fs::set_permissions(tree.join("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(tree.join("picture.bin"), [9, 0, 2, 255].repeat(90)).unwrap();
    // Not known to git.
    let odd = OsStr::from_bytes(b"caf\xe9\n\x1b[31m \"x\"");
    fs::write(tree.join(odd), "odd\nname").unwrap();
    fs::write(tree.join("noise.log"), "ignored\n").unwrap();
    let index = tree.join(".git");
    let before = (
        fs::read(&index).unwrap(),
        git(&tree, &["status", "--porcelain"]),
    );

    let diff = project.desk.json(&["diff", &id]);
    let odd_name = "\"caf\\351\\n\\033[31m \\\"x\\\"\"";
    let mut seen = names(&diff);
    seen.sort();
    let expected = [
        ("added", odd_name),
        ("deleted", "gone.txt"),
        ("modified", "picture.bin"),
        ("modified", "poem.txt"),
        ("modified", "run.sh"),
        ("renamed", "new name.txt"),
    ];
    assert_eq!(
        seen,
        expected.map(|(change, path)| (change.to_owned(), path.to_owned()))
    );
    let file = |path: &str| {
        let mut files = diff["files"].as_array().unwrap().iter();
        files.find(|file| file["path"] == path).unwrap().clone()
    };
    assert_eq!(file("new name.txt")["old_path"], "old name.txt");
    assert_eq!(file("run.sh")["old_mode"], "100644");
    assert_eq!(file("run.sh")["mode"], "100755");
    assert_eq!(file("picture.bin")["binary"], true);
    let poem = file("poem.txt");
    assert_eq!(
        (&poem["additions"], &poem["deletions"]),
        (&json!(2), &json!(2))
    );
    let line = &poem["hunks"][0]["lines"][1];
    assert_eq!(
        line,
        &json!({"kind": "removed", "old": 2, "new": null, "text": "two"})
    );
    assert_eq!(file(odd_name)["hunks"][0]["lines"][1]["no_newline"], true);
    assert_eq!(diff["base"]["origin"], "recorded");
    assert_eq!(diff["base"]["branch"], "main");
    assert_eq!(
        diff["base"]["commit"],
        git(&project.repository, &["rev-parse", "main"])
    );
    assert_eq!(diff["branch"], format!("wt/{id}"));

    let patch = project.desk.home.outside("the.patch");
    fs::write(&patch, project.patch(&id)).unwrap();
    let elsewhere = project.desk.home.outside("elsewhere");
    git(
        &project.repository,
        &[
            "worktree",
            "add",
            "-q",
            elsewhere.to_str().unwrap(),
            "--detach",
        ],
    );
    git(&elsewhere, &["apply", "--index", patch.to_str().unwrap()]);
    let mut there = content(&tree);
    there.retain(|(name, ..)| name != Path::new("noise.log"));
    assert_eq!(content(&elsewhere), there);
    // Looking has changed nothing.
    assert_eq!(
        (
            fs::read(&index).unwrap(),
            git(&tree, &["status", "--porcelain"])
        ),
        before
    );
}

#[test]
fn one_file_and_the_list_of_files_can_be_asked_for() {
    let project = Project::new();
    let (id, tree) = project.card(&[]);
    fs::write(
        tree.join("poem.txt"),
        POEM.replace("two", "zwei").replace("nine", "neun"),
    )
    .unwrap();
    git(&tree, &["mv", "old name.txt", "new name.txt"]);
    let one = project.desk.json(&["diff", &id, "--file", "poem.txt"]);
    assert_eq!(
        names(&one),
        [("modified".to_owned(), "poem.txt".to_owned())]
    );
    let stat = project.desk.kanban(&["diff", &id, "--stat"]);
    stat.succeeds()
        .prints_part("  modified  poem.txt  +2 -2\n")
        .prints_part("  renamed   old name.txt → new name.txt\n")
        .prints_part("  2 files changed, 2 lines added, 2 removed\n");
    assert_refuses(
        &project.desk.kanban(&["diff", &id, "--file", "nothing"]),
        1,
        &format!("nothing is not part of the changes of {id}"),
    );
}

#[test]
fn nothing_in_a_diff_steers_the_terminal() {
    let project = Project::new();
    let (id, tree) = project.card(&[]);
    fs::write(
        tree.join("evil\x1b[2J.txt"),
        "\x1b]0;title\x07 \u{202e}text\ttab\n",
    )
    .unwrap();
    let at = project.desk.call(&["diff", &id]).start_at_terminal();
    let shown = at.wait();
    shown.succeeds();
    let text = format!("{}{}", shown.stdout, shown.stderr);
    assert!(text.contains("\x1b[32m+"), "no colour: {text:?}");
    assert!(
        !text.contains("\x1b[2J") && !text.contains("\x1b]0"),
        "{text:?}"
    );
    assert!(!text.contains('\u{202e}'), "{text:?}");
}

#[test]
fn programs_that_a_repository_names_do_not_run() {
    let project = Project::new();
    let (id, tree) = project.card(&[]);
    let seen = project.desk.home.outside("seen");
    let program = format!("#!/bin/sh\necho \"$0 $*\" >> {}\ncat\n", seen.display());
    let program = project.desk.home.put_outside("program", program, 0o755);
    let program = program.to_str().unwrap();
    fs::write(
        tree.join(".gitattributes"),
        "* filter=evil diff=evil merge=evil\n",
    )
    .unwrap();
    fs::write(tree.join("poem.txt"), POEM.replace("two", "zwei")).unwrap();
    for name in [
        "filter.evil.clean",
        "filter.evil.smudge",
        "filter.evil.process",
        "diff.external",
        "diff.evil.textconv",
        "diff.evil.command",
        "core.fsmonitor",
        "core.pager",
        "core.alternateRefsCommand",
        "merge.evil.driver",
    ] {
        git(&project.repository, &["config", name, program]);
    }
    git(&project.repository, &["config", "diff.noprefix", "true"]);
    git(&project.repository, &["config", "color.diff", "always"]);
    git(&project.repository, &["config", "core.worktree", "/etc"]);
    git(
        &project.repository,
        &["config", "filter.evil.required", "true"],
    );
    let hooks = project.repository.join(".git/hooks");
    fs::create_dir_all(&hooks).unwrap();
    for hook in [
        "post-index-change",
        "reference-transaction",
        "post-checkout",
    ] {
        fs::copy(program, hooks.join(hook)).unwrap();
    }
    let diff = project.desk.json(&["diff", &id]);
    assert_eq!(names(&diff).len(), 2, "{diff}");
    let patch = String::from_utf8(project.patch(&id)).unwrap();
    assert!(
        patch.contains("diff --git a/poem.txt b/poem.txt\n"),
        "{patch}"
    );
    assert!(patch.contains("\n+zwei\n"), "{patch}");
    assert_eq!(fs::read_to_string(&seen).unwrap_or_default(), "");
}

#[test]
fn workspace_that_was_swapped_is_not_read() {
    let project = Project::new();
    let (id, tree) = project.card(&[]);
    let secret = project.desk.home.user_home().join("secret");
    fs::create_dir_all(&secret).unwrap();
    fs::write(secret.join("key"), "s3cret\n").unwrap();
    let away = project.desk.home.outside("away");
    fs::rename(&tree, &away).unwrap();
    project
        .desk
        .kanban(&["diff", &id])
        .exits(1)
        .prints("")
        .says_part(&format!("kanban: the workspace of {id} is gone: "));
    symlink(&secret, &tree).unwrap();
    let refused = project.desk.kanban(&["diff", &id]);
    refused
        .exits(1)
        .prints("")
        .says_part("is a link now")
        .never_shows("s3cret");
    fs::remove_file(&tree).unwrap();
    fs::rename(&away, &tree).unwrap();
    project.desk.kanban(&["diff", &id]).succeeds();

    // A repository of the worker's own, with a work tree of its choice.
    fs::remove_file(tree.join(".git")).unwrap();
    git(&tree, &["init", "--quiet"]);
    git(
        &tree,
        &["config", "core.worktree", secret.to_str().unwrap()],
    );
    let refused = project.desk.kanban(&["diff", &id]);
    refused
        .exits(1)
        .prints("")
        .says_part("is not a worktree of a repository")
        .never_shows("s3cret");
    fs::rename(tree.join(".git"), tree.join("own")).unwrap();
    fs::write(tree.join(".git"), "gitdir: own\n").unwrap();
    fs::write(tree.join("own/commondir"), ".\n").unwrap();
    fs::write(
        tree.join("own/gitdir"),
        format!("{}\n", tree.join(".git").display()),
    )
    .unwrap();
    let refused = project.desk.kanban(&["diff", &id]);
    refused
        .exits(1)
        .prints("")
        .says_part("is not a worktree of a repository");

    // Another repository that knows it.
    let other = project.desk.home.user_home().join("other");
    fs::create_dir_all(&other).unwrap();
    git(&other, &["init", "--quiet"]);
    git(
        &other,
        &["commit", "--quiet", "--allow-empty", "-m", "first"],
    );
    fs::remove_dir_all(&tree).unwrap();
    git(
        &other,
        &["worktree", "add", "-q", tree.to_str().unwrap(), "-b", "x"],
    );
    let refused = project.desk.kanban(&["diff", &id]);
    refused
        .exits(1)
        .prints("")
        .says_part("belongs to the repository ");
}

#[test]
fn large_diffs_are_shown_and_huge_files_named() {
    let project = Project::new();
    let (id, tree) = project.card(&[]);
    let mut many = String::new();
    for number in 0..100_000 {
        many.push_str(&format!("line {number}\n"));
    }
    fs::write(tree.join("many.txt"), &many).unwrap();
    fs::write(tree.join("huge.txt"), vec![b'x'; 9 * 1024 * 1024]).unwrap();
    let diff = project.desk.json(&["diff", &id]);
    let files = diff["files"].as_array().unwrap();
    let many = files
        .iter()
        .find(|file| file["path"] == "many.txt")
        .unwrap();
    assert_eq!(many["additions"], 100_000);
    assert_eq!(many["hunks"][0]["lines"][99_999]["new"], 100_000);
    let huge = files
        .iter()
        .find(|file| file["path"] == "huge.txt")
        .unwrap();
    assert_eq!(
        (&huge["binary"], &huge["hunks"]),
        (&json!(true), &json!([]))
    );
    let to = project.desk.home.put_outside("patch", "", 0o600);
    let run = project.desk.call(&["diff", &id]).run_into(&to);
    run.succeeds()
        .says_part("warning: not shown: huge.txt (larger than 8 MiB)\n");
    let patch = fs::read(&to).unwrap();
    assert!(patch.len() < 2_000_000, "{}", patch.len());
    assert!(patch.ends_with(b"+line 99999\n"));
}

#[test]
fn directories_and_scratch_workspaces_have_a_diff_too() {
    let project = Project::new();
    let desk = &project.desk;
    let inside = project.repository.join("docs");
    fs::create_dir_all(&inside).unwrap();
    let id = desk.create("x", &["--workspace", &format!("dir:{}", inside.display())]);
    assert_refuses(
        &desk.kanban(&["diff", &id]),
        1,
        &format!("{id} has no workspace yet: nobody has worked on it"),
    );
    desk.kanban(&["claim", &id]).succeeds();
    fs::write(inside.join("page.md"), "text\n").unwrap();
    git(&project.repository, &["add", "docs"]);
    git(&project.repository, &["commit", "--quiet", "-m", "page"]);
    fs::write(inside.join("page.md"), "more text\n").unwrap();
    fs::write(project.repository.join("poem.txt"), "somebody else's\n").unwrap();
    let diff = desk.json(&["diff", &id]);
    assert_eq!(
        names(&diff),
        [("added".to_owned(), "docs/page.md".to_owned())]
    );
    assert_eq!(
        diff["files"][0]["hunks"][0]["lines"][0]["text"],
        "more text"
    );

    let id = desk.create("x", &[]);
    desk.kanban(&["claim", &id]).succeeds();
    let scratch = desk.home.path(&format!("kanban/workspaces/{id}"));
    fs::create_dir_all(scratch.join("sub")).unwrap();
    fs::write(scratch.join("sub/a.txt"), "a\n").unwrap();
    symlink("/etc/passwd", scratch.join("link")).unwrap();
    // What a worker made of its directory is not believed.
    git(&scratch, &["init", "--quiet"]);
    git(&scratch, &["config", "core.worktree", "/etc"]);
    let diff = desk.json(&["diff", &id]);
    let seen = names(&diff);
    let expected = [("added", "link"), ("added", "sub/a.txt")];
    assert_eq!(
        seen,
        expected.map(|(change, path)| (change.to_owned(), path.to_owned()))
    );
    assert_eq!(diff["base"]["origin"], "nothing");
    assert_eq!(
        diff["files"][0]["hunks"][0]["lines"][0]["text"],
        "/etc/passwd"
    );
    assert!(
        fs::read_dir(desk.home.path("kanban/workspaces"))
            .unwrap()
            .count()
            == 1
    );

    let plain = desk.home.outside("plain");
    fs::create_dir_all(&plain).unwrap();
    let id = desk.create("x", &["--workspace", &format!("dir:{}", plain.display())]);
    desk.kanban(&["claim", &id]).succeeds();
    desk.kanban(&["diff", &id])
        .exits(1)
        .prints("")
        .says_part("is not inside a git repository, so there is nothing to compare it with");
}

#[test]
fn work_that_began_before_bases_were_recorded_has_one() {
    let project = Project::new();
    let (id, tree) = project.card(&[]);
    let base = git(&project.repository, &["rev-parse", "main"]);
    fs::write(tree.join("new.txt"), "new\n").unwrap();
    git(&tree, &["add", "."]);
    git(&tree, &["commit", "--quiet", "-m", "new"]);
    fs::write(project.repository.join("later.txt"), "later\n").unwrap();
    git(&project.repository, &["add", "later.txt"]);
    git(&project.repository, &["commit", "--quiet", "-m", "later"]);
    project
        .desk
        .database()
        .execute("DELETE FROM task_reviews", [])
        .unwrap();
    let diff = project.desk.json(&["diff", &id]);
    assert_eq!(
        diff["base"],
        json!({"commit": base, "branch": null, "origin": "merge_base"})
    );
    assert_eq!(names(&diff), [("added".to_owned(), "new.txt".to_owned())]);
}

#[test]
fn missing_git_and_unknown_cards_are_named() {
    let project = Project::new();
    let (id, _) = project.card(&[]);
    let run = project
        .desk
        .call(&["diff", &id])
        .in_mount_namespace(
            "for git in /usr/local/bin/git /usr/bin/git; do\n\
             if test -e $git; then mount --bind /dev/null $git; fi\ndone\nexec \"$0\" \"$@\"",
        )
        .run();
    run.exits(3)
        .prints("")
        .says_part("kanban: git is not installed\n")
        .says_part("hint: install git");
    assert_refuses(
        &project.desk.kanban(&["diff", "t_none"]),
        1,
        "no such card: 't_none'",
    );
}
