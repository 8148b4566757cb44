//! `hermes kanban review approve`: approved work is merged or pushed, whole or not at all.

use std::fs;
use std::path::{Path, PathBuf};

use hermes_testkit::git;
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::assert_refuses;
use crate::diffing::{POEM, Project};

/// A card with a commit and a file that is not committed, waiting for a review.
fn finished(project: &Project, flags: &[&str]) -> (String, PathBuf) {
    let (id, tree) = project.card(flags);
    let poem = POEM.replace("two", &format!("zwei, {id}"));
    fs::write(tree.join("poem.txt"), poem).unwrap();
    git(&tree, &["commit", "--quiet", "-a", "-m", "translated"]);
    fs::write(tree.join("note.txt"), format!("a note, {id}\n")).unwrap();
    project
        .desk
        .kanban(&["block", &id, "review-required: look"])
        .succeeds();
    (id, tree)
}

fn commit(repository: &Path, file: &str, content: &str) {
    fs::write(repository.join(file), content).unwrap();
    git(repository, &["add", file]);
    git(repository, &["commit", "--quiet", "-m", file]);
}

#[test]
fn approved_work_is_fast_forwarded_with_what_was_not_committed() {
    let project = Project::new();
    let desk = &project.desk;
    let (id, tree) = finished(&project, &[]);
    let answer = desk.kanban(&["review", "approve", &id, "--merge"]);
    let tip = git(&project.repository, &["rev-parse", "main"]);
    let short: String = tip.chars().take(12).collect();
    answer
        .succeeds()
        .prints(&format!("Approved {id}: fast-forwarded main ({short})\n"));
    assert_eq!(tip, git(&tree, &["rev-parse", "HEAD"]));
    assert_eq!(
        fs::read_to_string(project.repository.join("note.txt")).unwrap(),
        format!("a note, {id}\n")
    );
    assert_eq!(git(&project.repository, &["status", "--porcelain"]), "");
    assert_eq!(git(&tree, &["status", "--porcelain"]), "");
    let message = git(&project.repository, &["log", "-1", "--format=%B"]);
    assert_eq!(message, format!("a card\n\nCard: {id}"));
    assert_eq!(desk.status(&id), "done");
    let approval = desk.last_event(&id, "approved");
    assert_eq!(
        approval,
        json!({"by": "default", "action": "merge", "commit": tip, "branch": "main"})
    );
    desk.kanban(&["show", &id])
        .succeeds()
        .prints_part("\nReview: approved by default at ")
        .prints_part(&format!(", merged into main ({short})\n"));
    // Again is no harm: it has been merged.
    desk.kanban(&["review", "approve", &id, "--merge"])
        .succeeds()
        .prints(&format!(
            "Approved {id}: had been merged into main ({short})\n"
        ));
    assert_eq!(tip, git(&project.repository, &["rev-parse", "main"]));
    // Worktrees stay.
    assert!(tree.is_dir());
}

#[test]
fn branch_that_went_on_gets_a_merge_commit() {
    let project = Project::new();
    let desk = &project.desk;
    desk.kanban(&["boards", "set-on-approve", "default", "merge"])
        .succeeds()
        .prints("Board 'default' on approve set to 'merge'.\n");
    let (id, tree) = finished(&project, &[]);
    commit(&project.repository, "other.txt", "other\n");
    let before = git(&project.repository, &["rev-parse", "main"]);
    let approved = desk.json(&["review", "approve", &id]);
    assert_eq!(approved["landed"]["action"], "merge");
    assert_eq!(approved["landed"]["fast_forward"], false);
    let parents = git(&project.repository, &["log", "-1", "--format=%P", "main"]);
    let tip = git(&tree, &["rev-parse", "HEAD"]);
    assert_eq!(parents, format!("{before} {tip}"));
    for file in ["other.txt", "note.txt"] {
        assert!(project.repository.join(file).exists(), "{file}");
    }
    assert_eq!(git(&project.repository, &["status", "--porcelain"]), "");

    // A branch that is checked out nowhere moves, too.
    let (id, tree) = finished(&project, &[]);
    git(&project.repository, &["checkout", "--quiet", "--detach"]);
    desk.kanban(&["review", "approve", &id]).succeeds();
    let main = git(&project.repository, &["rev-parse", "main"]);
    assert_eq!(main, git(&tree, &["rev-parse", "HEAD"]));
}

#[test]
fn what_cannot_be_merged_changes_nothing() {
    let project = Project::new();
    let desk = &project.desk;
    let (id, tree) = finished(&project, &["--on-approve", "merge"]);
    let state = || {
        (
            git(&project.repository, &["rev-parse", "main"]),
            git(&project.repository, &["status", "--porcelain"]),
            desk.status(&id),
        )
    };
    // Changes that are not committed where it goes.
    fs::write(project.repository.join("run.sh"), "false\n").unwrap();
    let before = state();
    let refused = desk.kanban(&["review", "approve", &id]);
    let message = format!(
        "the work of {id} cannot be merged: 'main' has 1 changes that are not committed in {}",
        project.repository.display()
    );
    assert_refuses(&refused, 1, &message);
    assert_eq!(state(), before);
    git(
        &project.repository,
        &["checkout", "--quiet", "--", "run.sh"],
    );

    // A file that is in the way.
    fs::write(project.repository.join("note.txt"), "mine\n").unwrap();
    let before = state();
    desk.kanban(&["review", "approve", &id])
        .exits(1)
        .prints("")
        .says_part("cannot be merged: git does not move 'main': ")
        .says_part("nothing was merged");
    assert_eq!(state(), before);
    assert_eq!(
        fs::read_to_string(project.repository.join("note.txt")).unwrap(),
        "mine\n"
    );
    fs::remove_file(project.repository.join("note.txt")).unwrap();

    // Another branch in the worktree.
    git(&tree, &["checkout", "--quiet", "-b", "elsewhere"]);
    let refused = desk.kanban(&["review", "approve", &id]);
    let message = format!(
        "the work of {id} cannot be merged: its worktree is on branch 'elsewhere', not on 'wt/{id}'"
    );
    assert_refuses(&refused, 1, &message);
    git(&tree, &["checkout", "--quiet", &format!("wt/{id}")]);

    // Work that is not what was reviewed.
    let diff = desk.json(&["diff", &id]);
    let reviewed = diff["fingerprint"].as_str().unwrap();
    fs::write(tree.join("more.txt"), "more\n").unwrap();
    let refused = desk.kanban(&["review", "approve", &id, "--reviewed", reviewed]);
    assert_refuses(
        &refused,
        1,
        &format!("the work of {id} has changed since it was reviewed"),
    );
    fs::remove_file(tree.join("more.txt")).unwrap();

    // A conflict.
    commit(
        &project.repository,
        "poem.txt",
        &POEM.replace("two", "deux"),
    );
    let before = state();
    let refused = desk.kanban(&["review", "approve", &id]);
    let message =
        format!("the work of {id} cannot be merged: it conflicts with 'main' in poem.txt");
    assert_refuses(&refused, 1, &message);
    assert!(
        refused.stderr.contains("hint: send it back with"),
        "{refused}"
    );
    assert_eq!(state(), before);
    assert_eq!(desk.json(&["show", &id])["review"]["approval"], json!(null));
    // It can still be approved as it is.
    desk.kanban(&["review", "approve", &id, "--no-merge"])
        .succeeds();
    assert_eq!(desk.status(&id), "done");
}

#[test]
fn checks_pass_before_anything_is_merged() {
    let project = Project::new();
    let desk = &project.desk;
    let flags = [
        "--on-approve",
        "merge",
        "--check",
        "grep -q zwei poem.txt && test -e passed && touch left-over",
    ];
    let (id, tree) = finished(&project, &flags);
    let before = git(&project.repository, &["rev-parse", "main"]);
    let run = |args: &[&str]| desk.call(args).on_host().run();
    run(&["review", "approve", &id])
        .exits(1)
        .prints("")
        .says_part(&format!("kanban: {id} is not done: check 1 "));
    assert_eq!(git(&project.repository, &["rev-parse", "main"]), before);
    assert_eq!(desk.status(&id), "ready");
    fs::write(tree.join("passed"), "").unwrap();
    run(&["review", "approve", &id])
        .succeeds()
        .prints_part(&format!(
            "Approved {id} (1 acceptance check passed): fast-forwarded main ("
        ));
    assert_eq!(desk.status(&id), "done");
    assert!(project.repository.join("passed").exists());
    // What the check left behind is nobody's work.
    assert!(tree.join("left-over").exists());
    assert!(!project.repository.join("left-over").exists());

    // A branch that does not take it after all leaves the card with its reviewer.
    let (id, tree) = finished(&project, &["--on-approve", "merge", "--check", "true"]);
    fs::write(tree.join("fresh.txt"), "fresh\n").unwrap();
    fs::write(project.repository.join("fresh.txt"), "mine\n").unwrap();
    run(&["review", "approve", &id])
        .exits(1)
        .prints("")
        .says_part(&format!("{id}: running 1 acceptance check\n"))
        .says_part("cannot be merged: git does not move 'main': ");
    assert_eq!(desk.status(&id), "blocked");
}

#[test]
fn approved_work_is_pushed_to_the_remote_it_names() {
    let project = Project::new();
    let desk = &project.desk;
    let seen = desk.home.outside("seen");
    let program = format!("#!/bin/sh\necho \"$0 $*\" >> {}\nexit 1\n", seen.display());
    let program = desk.home.put_outside("program", program, 0o755);
    let program = program.to_str().unwrap();
    let (id, tree) = finished(&project, &["--on-approve", "push:backup"]);
    assert_refuses(
        &desk.kanban(&["review", "approve", &id]),
        1,
        &format!("the work of {id} cannot be pushed: its repository has no remote 'backup'"),
    );
    assert_eq!(desk.status(&id), "blocked");
    let remote = desk.home.outside("remote.git");
    git(
        &project.repository,
        &["init", "--quiet", "--bare", remote.to_str().unwrap()],
    );
    git(
        &project.repository,
        &["remote", "add", "backup", remote.to_str().unwrap()],
    );
    // Programs that the repository names are not run for it.
    for name in [
        "remote.backup.receivepack",
        "core.sshCommand",
        "credential.helper",
        "gpg.program",
        "core.fsmonitor",
    ] {
        git(&project.repository, &["config", name, program]);
    }
    git(&project.repository, &["config", "push.gpgSign", "if-asked"]);
    let hooks = project.repository.join(".git/hooks");
    fs::create_dir_all(&hooks).unwrap();
    for hook in [
        "pre-push",
        "pre-commit",
        "commit-msg",
        "reference-transaction",
    ] {
        fs::copy(program, hooks.join(hook)).unwrap();
    }
    desk.kanban(&["review", "approve", &id])
        .succeeds()
        .prints_part(&format!("Approved {id}: pushed wt/{id} to backup ("));
    let pushed = git(&remote, &["rev-parse", &format!("refs/heads/wt/{id}")]);
    assert_eq!(pushed, git(&tree, &["rev-parse", "HEAD"]));
    assert_eq!(fs::read_to_string(&seen).unwrap_or_default(), "");
    assert_eq!(desk.status(&id), "done");
    assert_eq!(desk.last_event(&id, "approved")["action"], "push:backup");
    assert!(!project.repository.join("note.txt").exists());

    // Only names of remotes, no addresses.
    for remote in [
        "--push=ext::sh -c id",
        "--push=https://example.org/x",
        "--push=--all",
    ] {
        desk.kanban(&["review", "approve", &id, remote])
            .exits(2)
            .prints("")
            .says_part("is not one of none, merge, push and push:REMOTE");
    }
    desk.kanban(&["review", "approve", &id, "--push", "--merge"])
        .exits(2);
    desk.kanban(&["create", "x", "--on-approve", "rebase"])
        .exits(2);
}

#[test]
fn merge_drivers_and_filters_of_a_repository_do_not_run() {
    let project = Project::new();
    let desk = &project.desk;
    let (id, tree) = finished(&project, &["--on-approve", "merge"]);
    let seen = desk.home.outside("seen");
    let program = format!("#!/bin/sh\necho \"$0 $*\" >> {}\nexit 0\n", seen.display());
    let program = desk.home.put_outside("program", program, 0o755);
    let program = program.to_str().unwrap();
    let attributes = project.repository.join(".git/info");
    fs::create_dir_all(&attributes).unwrap();
    fs::write(attributes.join("attributes"), "poem.txt merge=evil\n").unwrap();
    git(
        &project.repository,
        &["config", "merge.evil.driver", program],
    );
    commit(
        &project.repository,
        "poem.txt",
        &POEM.replace("eleven", "elf"),
    );
    let refused = desk.kanban(&["review", "approve", &id]);
    refused
        .exits(1)
        .says_part("it conflicts with 'main' in poem.txt");
    assert_eq!(fs::read_to_string(&seen).unwrap_or_default(), "");
    git(
        &project.repository,
        &["config", "--unset", "merge.evil.driver"],
    );
    fs::remove_file(attributes.join("attributes")).unwrap();

    // A file that git would change on its way into a commit is not committed as it lies there.
    fs::write(tree.join("raw.txt"), "raw\n").unwrap();
    git(
        &project.repository,
        &["config", "filter.evil.clean", program],
    );
    fs::write(tree.join(".gitattributes"), "raw.txt filter=evil\n").unwrap();
    desk.kanban(&["review", "approve", &id])
        .exits(1)
        .prints("")
        .says_part("raw.txt is not committed and has a filter, which is not run");
    assert_eq!(fs::read_to_string(&seen).unwrap_or_default(), "");
    fs::remove_file(tree.join(".gitattributes")).unwrap();
    desk.kanban(&["review", "approve", &id]).succeeds();
}

#[test]
fn cards_without_a_branch_are_approved_as_they_are() {
    let project = Project::new();
    let desk = &project.desk;
    let id = desk.create("x", &[]);
    desk.kanban(&["claim", &id]).succeeds();
    let running = desk.kanban(&["review", "approve", &id]);
    running.exits(1).says_part(&format!(
        "kanban: cannot approve {id}: somebody is working on it"
    ));
    desk.kanban(&["block", &id, "look"]).succeeds();
    assert_refuses(
        &desk.kanban(&["review", "approve", &id, "--merge"]),
        1,
        &format!("the work of {id} cannot be merged: it was not done on a branch of its own"),
    );
    desk.kanban(&["review", "approve", &id, "--author", "boss"])
        .succeeds();
    assert_eq!(desk.status(&id), "done");
    assert_eq!(
        desk.last_event(&id, "approved"),
        json!({"by": "boss", "action": "none"})
    );
    let todo = desk.create("y", &["--parent", &desk.create("z", &[])]);
    assert_refuses(
        &desk.kanban(&["review", "approve", &todo]),
        1,
        &format!("cannot approve {todo}: it is todo"),
    );
}
