//! What is refused: with which code, in which words, and without a trace.

use pretty_assertions::assert_eq;

use crate::{Desk, assert_refuses};

fn cards(desk: &Desk) -> i64 {
    desk.count("SELECT count(*) FROM tasks")
}

// check 5
#[test]
fn invalid_cards_are_not_created() {
    let desk = Desk::new();
    desk.kanban(&["list"]).succeeds();
    let blank = desk.kanban(&["create", ""]);
    assert_refuses(&blank, 1, "the title of a card cannot be blank");
    for (flags, message) in [
        (
            &["--workspace", "foo"][..],
            "--workspace: 'foo' is not one of scratch, worktree, worktree:PATH and dir:PATH",
        ),
        (
            &["--workspace", "dir:"],
            "--workspace dir: a path must follow the colon",
        ),
        (
            &["--workspace", "dir:some/where"],
            "--workspace: 'some/where' is not an absolute path",
        ),
        (
            &["--max-runtime", "5x"],
            "--max-runtime: invalid duration '5x': use seconds, or a number with s, m, h, d or w",
        ),
        (
            &["--max-retries", "0"],
            "--max-retries must be at least 1, not 0",
        ),
        (
            &["--max-retries", "-3"],
            "--max-retries must be at least 1, not -3",
        ),
        (
            &["--branch", "b"],
            "--branch can only be given with --workspace worktree",
        ),
        (
            &["--workspace", "worktree", "--branch", "a b"],
            "--branch must not contain spaces",
        ),
        (
            &["--scheduled-at", "soon"],
            "--scheduled-at: invalid time 'soon': use 2027-01-31T09:00:00Z, or seconds since 1970",
        ),
        (
            &["--initial-status", "blocked", "--triage"],
            "a card can have one initial status: --initial-status blocked, --triage or \
             --scheduled-at",
        ),
    ] {
        let args: Vec<&str> = ["create", "x"].iter().chain(flags).copied().collect();
        assert_refuses(&desk.kanban(&args), 2, message);
    }
    for (flags, message) in [
        (&["--parent", "t_none"][..], "there is no card t_none"),
        (
            &["--skill", "a,b"],
            "a skill name cannot contain a comma: 'a,b'",
        ),
        (
            &["--skill", "Web", "--skill", "fine", "--skill", "terminal"],
            "these are toolsets, not skills: Web, terminal",
        ),
        (&["--assignee", "../x"], "invalid assignee: '../x'"),
        (&["--check", "  "], "the command of a check cannot be blank"),
    ] {
        let args: Vec<&str> = ["create", "x"].iter().chain(flags).copied().collect();
        assert_refuses(&desk.kanban(&args), 1, message);
    }
    assert_eq!(cards(&desk), 0);
    assert_eq!(desk.count("SELECT count(*) FROM task_events"), 0);
}

// check 6
#[test]
fn what_does_not_exist_is_named() {
    let desk = Desk::new();
    for verb in [
        &["show", "t_none"][..],
        &["assign", "t_none", "x"],
        &["comment", "t_none", "x"],
        &["attachments", "t_none"],
        &["heartbeat", "t_none"],
        &["context", "t_none"],
        &["runs", "t_none"],
        &["tail", "t_none"],
        &["diagnostics", "--task", "t_none"],
        &["edit", "t_none", "--result", "x"],
    ] {
        assert_refuses(&desk.kanban(verb), 1, "there is no card 't_none'");
    }
    let nope = desk.kanban(&["--board", "nope", "list"]);
    assert_refuses(&nope, 1, "there is no board 'nope'");
    nope.says_part("hermes kanban boards create nope");
    desk.kanban(&["--board", "Bad Slug!", "list"])
        .exits(2)
        .says_part("kanban: 'Bad Slug!' is not a valid board slug");
    desk.kanban(&["juggle"]).exits(2).prints("");
    assert!(!desk.home.has("kanban/boards/nope"), "nothing was made");
}

// check 16
#[test]
fn summary_and_metadata_are_for_one_card() {
    let desk = Desk::new();
    let (a, b) = (desk.create("a", &[]), desk.create("b", &[]));
    for flags in [&["--summary", "x"][..], &["--metadata", "{}"]] {
        let args: Vec<&str> = ["complete", &a, &b].iter().chain(flags).copied().collect();
        desk.kanban(&args).exits(2).prints("");
    }
    for bad in ["[1]", "3", "null", "{", ""] {
        desk.kanban(&["complete", &a, "--metadata", bad])
            .exits(2)
            .prints("")
            .says_part("kanban: --metadata:");
    }
    assert_eq!(
        (desk.status(&a), desk.status(&b)),
        ("ready".into(), "ready".into())
    );
}

// check 15
#[test]
fn a_blank_summary_counts_as_none() {
    let desk = Desk::new();
    let id = desk.create("x", &[]);
    desk.kanban(&["complete", &id, "--summary", "   "])
        .succeeds()
        .prints(&format!("Completed {id}\n"));
    assert_eq!(
        desk.last_event(&id, "completed")["summary"],
        serde_json::Value::Null
    );
}

#[test]
fn one_flag_of_a_pair_is_a_usage_error() {
    let desk = Desk::new();
    let id = desk.create("x", &[]);
    for verb in ["show", "runs"] {
        for half in [["--state-type", "status"], ["--state-name", "done"]] {
            let refused = desk.kanban(&[verb, &id, half[0], half[1]]);
            assert_refuses(
                &refused,
                2,
                "--state-type and --state-name must be given together",
            );
        }
        desk.kanban(&[verb, &id, "--state-type", "colour", "--state-name", "x"])
            .exits(2);
        desk.kanban(&[verb, &id, "--state-type", "outcome", "--state-name", "x"])
            .succeeds();
    }
}

#[test]
fn a_usage_error_creates_no_board() {
    let desk = Desk::new();
    desk.kanban(&["create", "x", "--max-runtime", "5x"])
        .exits(2);
    desk.kanban(&["swarm", "goal", "--verifier", "v", "--synthesizer", "s"])
        .exits(2)
        .says_part("kanban: a swarm needs at least one --worker");
    for worker in ["alpha", "alpha:", "../x:title", "alpha:title:web"] {
        desk.kanban(&[
            "swarm",
            "g",
            "--worker",
            worker,
            "--verifier",
            "v",
            "--synthesizer",
            "s",
        ])
        .exits(2)
        .says_part("kanban: --worker");
    }
    assert!(!desk.home.has("kanban.db"));
}

#[test]
fn archive_and_rm_exclude_each_other() {
    let desk = Desk::new();
    let id = desk.create("x", &[]);
    assert_refuses(&desk.kanban(&["archive"]), 1, "name at least one card");
    desk.kanban(&["archive", &id, "--rm", &id])
        .exits(1)
        .prints("");
    let early = desk.kanban(&["archive", "--rm", &id]);
    assert_refuses(&early, 1, &format!("cannot delete {id}: it is ready"));
    assert_eq!(desk.status(&id), "ready");
}
