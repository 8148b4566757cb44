//! `hermes kanban review`: comments on lines that are found again, and cards that are sent back.

use std::fs;

use hermes_testkit::git;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::diffing::{POEM, Project};
use crate::worker::as_worker;
use crate::{assert_refuses, text};

/// A card whose poem was changed, waiting for a review.
fn finished(project: &Project, flags: &[&str]) -> (String, std::path::PathBuf) {
    let (id, tree) = project.card(flags);
    fs::write(
        tree.join("poem.txt"),
        POEM.replace("five\nsix", "fünf\nsechs"),
    )
    .unwrap();
    project
        .desk
        .kanban(&["block", &id, "review-required: look"])
        .succeeds();
    (id, tree)
}

fn comments(project: &Project, id: &str) -> Vec<Value> {
    let comments = project.desk.json(&["review", "list", id]);
    comments.as_array().unwrap().clone()
}

#[test]
fn comments_are_made_answered_and_resolved() {
    let project = Project::new();
    let (id, _) = finished(&project, &[]);
    let desk = &project.desk;
    let made = desk.kanban(&["review", "comment", &id, "poem.txt:5-6", "Keep", "English."]);
    made.succeeds()
        .prints(&format!("Comment 1 added to {id}\n"));
    desk.kanban(&[
        "review",
        "comment",
        &id,
        "poem.txt:6",
        "Was good.",
        "--side",
        "old",
    ])
    .succeeds();
    let all = comments(&project, &id);
    assert_eq!(all[0]["file"], "poem.txt");
    assert_eq!(
        (&all[0]["first_line"], &all[0]["last_line"]),
        (&json!(5), &json!(6))
    );
    assert_eq!(all[0]["quote"], "fünf\nsechs");
    assert_eq!(all[0]["side"], "new");
    assert_eq!(all[1]["quote"], "six");
    assert_eq!(all[0]["outdated"], false);
    let event = desk.last_event(&id, "review_commented");
    assert_eq!(
        event,
        json!({"by": "default", "comment": 2, "file": "poem.txt", "side": "old", "lines": [6, 6]})
    );
    desk.kanban(&["review", "reply", &id, "1", "Why?"])
        .succeeds();
    desk.kanban(&["review", "resolve", &id, "2"])
        .succeeds()
        .prints(&format!("Resolved comment 2 of {id}\n"));
    desk.kanban(&["review", "resolve", &id, "2"])
        .succeeds()
        .prints(&format!("Comment 2 of {id} was resolved already\n"));
    let list = desk.kanban(&["review", "list", &id]);
    list.succeeds()
        .prints_part("#1 poem.txt:5-6  default ")
        .prints_part("    | fünf\n    | sechs\n    Keep English.\n    ↳ default ")
        .prints_part("    Why?\n")
        .says("hint: --all also shows 1 resolved comment\n");
    desk.kanban(&["show", &id])
        .succeeds()
        .prints_part("\nReview: 1 open comment (0 outdated), 1 resolved\n");
    desk.kanban(&["why", &id])
        .succeeds()
        .prints_part("  Review: 1 open comment (0 outdated), 1 resolved.\n");
    let summary = desk.kanban(&["review", &id]);
    summary
        .succeeds()
        .prints_part("  modified  poem.txt  +2 -2\n")
        .prints_part("approving it leaves its branch as it is")
        .prints_part("1 open comment:\n");
    let all = desk.json(&["review", &id]);
    assert_eq!(all["review"]["comments"].as_array().unwrap().len(), 2);
    assert_eq!(all["on_approve"], "none");
    assert_eq!(all["diff"]["files"][0]["path"], "poem.txt");
}

#[test]
fn bad_comments_are_refused_by_name() {
    let project = Project::new();
    let (id, _) = finished(&project, &[]);
    let desk = &project.desk;
    let comment = |place: &str, text: &str| desk.kanban(&["review", "comment", &id, place, text]);
    for place in [
        "poem.txt",
        "poem.txt:",
        "poem.txt:0",
        "poem.txt:3-2",
        "poem.txt:x",
        ":1",
    ] {
        let message = format!("'{place}' is not FILE:LINE or FILE:LINE-LINE");
        assert_refuses(&comment(place, "x"), 2, &message);
    }
    assert_refuses(
        &comment("run.sh:1", "x"),
        1,
        &format!("run.sh is not part of the changes of {id}"),
    );
    assert_refuses(
        &comment("poem.txt:13", "x"),
        2,
        "poem.txt has 12 lines on the new side, so there is no line 13",
    );
    assert_refuses(&comment("poem.txt:1", "  "), 1, "a comment cannot be blank");
    assert_refuses(
        &comment("poem.txt:1", &"x".repeat(20_000)),
        1,
        "a review comment has at most 16 KiB, this one has 20",
    );
    assert_refuses(
        &desk.kanban(&["review", "resolve", &id, "7"]),
        1,
        &format!("{id} has no review comment 7"),
    );
    assert_refuses(&desk.kanban(&["review"]), 2, "review: no card was given");
    assert_refuses(
        &desk.kanban(&["review", "list", "t_none"]),
        1,
        "no such card: 't_none'",
    );
    assert_eq!(comments(&project, &id), Vec::<Value>::new());
}

#[test]
fn commented_lines_are_found_again_or_outdated() {
    let project = Project::new();
    let (id, tree) = finished(&project, &[]);
    let desk = &project.desk;
    desk.kanban(&["review", "comment", &id, "poem.txt:5", "first"])
        .succeeds();
    desk.kanban(&["review", "comment", &id, "poem.txt:6", "second"])
        .succeeds();
    // The next worker puts lines before the first and removes the second.
    let now = POEM
        .replace("one\n", "zero\nhalf\none\n")
        .replace("five\nsix\n", "fünf\n");
    fs::write(tree.join("poem.txt"), now).unwrap();
    let all = comments(&project, &id);
    let seen = |comment: &Value| (comment["first_line"].clone(), comment["outdated"].clone());
    assert_eq!(seen(&all[0]), (json!(7), json!(false)));
    assert_eq!(seen(&all[1]), (json!(6), json!(true)));
    desk.kanban(&["show", &id])
        .succeeds()
        .prints_part("\nReview: 2 open comments (1 outdated), 0 resolved\n");
    desk.kanban(&["review", "request-changes", &id]).succeeds();
    let context = desk.kanban(&["context", &id]);
    context
        .succeeds()
        .prints_part("### Comment 1 on poem.txt:7, by `default` at ")
        .prints_part("\n    fünf\n\nfirst\n")
        .prints_part(
            "_These lines have changed since; this is what they were:_\n    sechs\n\nsecond\n",
        );
    // A file that is gone, or a link now, has no lines.
    fs::remove_file(tree.join("poem.txt")).unwrap();
    std::os::unix::fs::symlink("/etc/hostname", tree.join("poem.txt")).unwrap();
    let all = comments(&project, &id);
    assert!(
        all.iter().all(|comment| comment["outdated"] == true),
        "{all:?}"
    );
}

#[test]
fn card_is_sent_back_with_its_comments() {
    let project = Project::new();
    let desk = &project.desk;
    let (id, _) = finished(&project, &[]);
    let nothing = desk.kanban(&["review", "request-changes", &id]);
    assert_refuses(
        &nothing,
        1,
        &format!("there is nothing to send {id} back for: it has no open review comment"),
    );
    assert_eq!(desk.status(&id), "blocked");
    desk.kanban(&["review", "comment", &id, "poem.txt:5", "Keep English."])
        .succeeds();
    desk.kanban(&["review", "request-changes", &id, "Mind", "the style."])
        .succeeds()
        .prints(&format!(
            "Sent {id} back with 1 open comment; it is ready\n"
        ));
    assert_eq!(desk.status(&id), "ready");
    assert_eq!(
        desk.last_event(&id, "changes_requested"),
        json!({"by": "default", "comments": 1, "text": "Mind the style."})
    );
    let context = desk.kanban(&["context", &id]);
    context
        .succeeds()
        .prints_part("## Review comments\n")
        .prints_part("### Comment 1 on poem.txt:5, by `default` at ")
        .prints_part("\n    fünf\n\nKeep English.\n")
        .prints_part("CHANGES REQUESTED: Mind the style.\n");
    // A worker of it is not held back, though it was completed a moment ago.
    let child = desk.create("child", &["--parent", &id]);
    desk.kanban(&["complete", &id, "--summary", "done"])
        .succeeds();
    assert_eq!(desk.status(&child), "ready");
    desk.kanban(&["review", "request-changes", &id]).succeeds();
    assert_eq!(desk.status(&id), "ready");
    assert_eq!(desk.status(&child), "todo");
    assert_eq!(
        desk.last_event(&child, "status"),
        json!({"status": "todo", "reason": "parent_reopened", "parent": id})
    );
    desk.home.run(["profile", "create", "coder"]).succeeds();
    desk.kanban(&["assign", &id, "coder"]).succeeds();
    let why = desk.json(&["why", &id]);
    let guarded = why["verdicts"].to_string().contains("recent_success");
    assert!(!guarded, "{why}");
    assert_eq!(
        why["review"],
        json!({"open": 1, "outdated": 0, "approval": null})
    );

    // While somebody works on it, it is theirs.
    desk.claimed(&id);
    let running = desk.kanban(&["review", "request-changes", &id, "x"]);
    running.exits(1).prints("").says_part(&format!(
        "kanban: cannot send back {id}: somebody is working on it"
    ));
}

#[test]
fn review_lane_takes_both_verdicts() {
    let project = Project::new();
    let desk = &project.desk;
    let (id, _) = finished(&project, &[]);
    let to_review = || {
        let database = desk.database();
        let sql = "UPDATE tasks SET status = 'review' WHERE id = ?1";
        assert_eq!(database.execute(sql, [&id]).unwrap(), 1);
    };
    to_review();
    desk.kanban(&["review", "request-changes", &id, "again"])
        .succeeds();
    assert_eq!(desk.status(&id), "ready");
    to_review();
    assert_refuses(
        &desk.kanban(&["complete", &id]),
        1,
        &format!("cannot complete {id}: it is review"),
    );
    desk.kanban(&["review", "approve", &id])
        .succeeds()
        .prints(&format!("Approved {id}\n"));
    assert_eq!(desk.status(&id), "done");
}

#[test]
fn workers_answer_and_only_people_judge() {
    let project = Project::new();
    let desk = &project.desk;
    let (id, tree) = finished(&project, &["--on-approve", "merge"]);
    desk.kanban(&["review", "comment", &id, "poem.txt:5", "Keep English."])
        .succeeds();
    desk.kanban(&["review", "request-changes", &id]).succeeds();
    let run = desk.claimed(&id);
    let other = desk.create("other", &[]);
    let worker = |args: &[&str]| as_worker(desk, &id, run, args);
    for (args, action) in [
        (vec!["review", "approve", &id], "approve the work of a card"),
        (
            vec!["review", "approve", &other],
            "approve the work of a card",
        ),
        (
            vec!["review", "request-changes", &id, "x"],
            "send back the work of a card",
        ),
        (
            vec!["edit", &id, "--on-approve", "push"],
            "choose what becomes of approved work",
        ),
        (
            vec!["boards", "set-on-approve", "default", "merge"],
            "choose what becomes of approved work",
        ),
        (
            vec!["create", "x", "--on-approve", "merge"],
            "choose what becomes of approved work",
        ),
    ] {
        assert_refuses(&worker(&args), 1, &format!("an agent cannot {action}"));
        let agent = desk.call(&args).env("HERMES_AGENT_SHELL", "1").run();
        assert_refuses(&agent, 1, &format!("an agent cannot {action}"));
    }
    worker(&["review", "reply", &id, "1", "Changed."]).succeeds();
    worker(&["review", "resolve", &id, "1"]).succeeds();
    let resolved = &comments(&project, &id)[0];
    assert_eq!(resolved["resolved_by"], "coder");
    assert_eq!(resolved["replies"][0]["author"], "coder");
    let foreign = as_worker(desk, &other, run, &["review", "resolve", &id, "1"]);
    foreign
        .exits(1)
        .says_part("cannot resolve review comments of card");
    assert_eq!(
        git(&tree, &["rev-parse", "HEAD"]),
        git(&tree, &["rev-parse", "main"])
    );
    assert_eq!(desk.status(&id), "running");
}

#[test]
fn walk_at_a_terminal_comments_and_sends_back() {
    let project = Project::new();
    let desk = &project.desk;
    let (id, tree) = finished(&project, &["--on-approve", "merge"]);
    fs::write(tree.join("second\x1b[2J.txt"), "new\n").unwrap();
    let mut at = desk.call(&["review", &id]).start_at_terminal();
    at.wait_for("modified  poem.txt");
    at.wait_for("[1/2] n next");
    at.press("n\r");
    at.wait_for("second\\033[2J.txt");
    at.wait_for("[2/2]");
    at.press("n\r");
    at.wait_for("That was the last file.");
    at.press("p\r");
    at.wait_for("[1/2]");
    at.press("c\r");
    at.wait_for("Line, or first-last");
    at.press("99\r");
    at.wait_for("Comment: ");
    at.press("too far\r");
    at.wait_for("poem.txt has 12 lines");
    at.press("c\r");
    at.wait_for("Line, or first-last");
    at.press("o5-6\r");
    at.wait_for("Comment: ");
    at.press("Keep these.\r");
    at.wait_for("#1 poem.txt:5-6 (old)");
    at.press("a\r");
    at.wait_for("merges its branch into the one it came from. [y/N]");
    at.press("n\r");
    at.wait_for("[1/2]");
    at.press("s\r");
    at.wait_for("What to change");
    at.press("\r");
    at.wait_for("Sent ");
    at.wait().succeeds();
    assert_eq!(desk.status(&id), "ready");
    let all = comments(&project, &id);
    assert_eq!(text(&all[0]["quote"]), "five\nsix");
    let mut at = desk.call(&["review", &id]).start_at_terminal();
    at.wait_for("[1/2]");
    at.press("a\r");
    at.wait_for("[y/N]");
    at.press("y\r");
    at.wait_for("Approved ");
    at.wait().succeeds();
    assert_eq!(desk.status(&id), "done");
    assert!(project.repository.join("second\x1b[2J.txt").exists());
}
