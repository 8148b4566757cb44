//! `-w`: a worktree for one conversation.

use std::path::Path;

use hermes_testkit::{ScriptedAnswer, git};
use serde_json::json;

use crate::world::World;

fn repository(world: &World) -> std::path::PathBuf {
    let root = world.home.outside("repo");
    std::fs::create_dir(&root).unwrap();
    git(&root, &["init", "-q", "-b", "main"]);
    std::fs::write(root.join("file"), "x").unwrap();
    std::fs::write(root.join("local.env"), "here").unwrap();
    std::fs::create_dir(root.join("cache")).unwrap();
    std::fs::write(root.join("cache/entry"), "kept").unwrap();
    std::fs::write(
        root.join(".worktreeinclude"),
        "local.env\ncache\n../outside\n",
    )
    .unwrap();
    git(&root, &["add", "file", ".worktreeinclude"]);
    git(&root, &["commit", "-q", "-m", "one"]);
    root
}

#[test]
fn worktree_outside_of_a_repository_is_refused() {
    let world = World::answering([]);
    let outcome = world.hermes(&["-w", "chat", "-Q", "-q", "hi"]).run();
    outcome
        .exits(1)
        .prints("")
        .says_part("a worktree needs a git repository");
}

#[test]
fn failed_opening_leaves_no_worktree() {
    let world = World::answering([]);
    let root = repository(&world);
    for (mistake, code) in [(["-t", "nosuch"], 2), (["--image", "/nonexistent.png"], 1)] {
        let words = ["chat", "-Q", "-q", "hi", "-w", mistake[0], mistake[1]];
        world.hermes(&words).in_directory(&root).run().exits(code);
        assert_eq!(git(&root, &["worktree", "list"]).lines().count(), 1);
        assert_eq!(git(&root, &["branch", "--list", "hermes/*"]), "");
    }
}

#[test]
fn clean_worktree_is_removed_and_a_dirty_one_kept() {
    let world = World::answering([
        ScriptedAnswer::call(
            "terminal",
            &json!({"command": "pwd; cat local.env cache/entry"}),
        ),
        ScriptedAnswer::text("done"),
        ScriptedAnswer::call("terminal", &json!({"command": "echo work > new"})),
        ScriptedAnswer::text("done"),
    ]);
    let root = repository(&world);
    let run = || {
        world
            .hermes(&["chat", "-Q", "-q", "hi", "-w"])
            .in_directory(&root)
            .run()
    };
    run().succeeds().prints("done\n");
    let session = world.home.run(["sessions", "export", "-"]).json();
    let branch = session["git_branch"].as_str().unwrap();
    assert!(branch.starts_with("hermes/hermes-"), "{branch}");
    let tree = session["git_repo_root"].as_str().unwrap();
    assert!(
        Path::new(tree).starts_with(root.join(".worktrees")),
        "{tree}"
    );
    let seen = world.bodies()[1].to_string();
    assert!(
        seen.contains(".worktrees/hermes-") && seen.contains("herekept"),
        "{seen}"
    );
    assert!(
        git(&root, &["branch", "--list", "hermes/*"])
            .trim()
            .is_empty()
    );
    assert!(
        std::fs::read_dir(root.join(".worktrees"))
            .unwrap()
            .next()
            .is_none()
    );
    let ignored = std::fs::read_to_string(root.join(".gitignore")).unwrap();
    assert_eq!(ignored.matches(".worktrees/").count(), 1);
    let kept = run();
    kept.succeeds().prints("done\n").says_part("was kept");
    let left = std::fs::read_dir(root.join(".worktrees")).unwrap().next();
    assert!(left.unwrap().unwrap().path().join("new").exists());
}
