//! The tools of the board in the hands of a worker: its own card, and nothing after its attempt.

use hermes_board::model::{Assignee, TaskId};
use hermes_board::store::{Applied, BoardStore, Claimant, NewTask, ResolvedWorkspace};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::board_stage::{BoardStage, CLAIM, refusal};
use crate::stage::SECRET;

fn filed(board: &BoardStage) -> TaskId {
    board.card(NewTask {
        body: Some("Count the files.".to_owned()),
        assignee: Some(Assignee::parse("coder").unwrap()),
        ..NewTask::titled("count")
    })
}

#[test]
fn a_worker_reads_its_own_card_by_default_and_any_by_name() {
    let board = BoardStage::new();
    let (own, other) = (filed(&board), filed(&board));
    let run = board.claimed(&own);
    let shown = board.worker(&own, run, "kanban_show", json!({}));
    assert_eq!(shown["ok"], true);
    assert_eq!(shown["task"]["id"], json!(own));
    assert_eq!(shown["runs"][0]["id"], json!(run));
    let text = shown["worker_context"].as_str().unwrap();
    assert!(
        text.starts_with(&format!("# Kanban task {own}: count\n")),
        "{text}"
    );
    let shown = board.worker(&own, run, "kanban_show", json!({"task_id": other}));
    assert_eq!(shown["task"]["id"], json!(other));
    let missing = board.worker(&own, run, "kanban_show", json!({"task_id": "t_none"}));
    assert_eq!(refusal(&missing), "no such card: 't_none'");
}

#[test]
fn only_the_last_fifty_events_are_shown() {
    let board = BoardStage::new();
    let own = filed(&board);
    let run = board.claimed(&own);
    for number in 0..60 {
        let note = json!({"note": format!("step {number}")});
        assert_eq!(
            board.worker(&own, run, "kanban_heartbeat", note)["ok"],
            true
        );
    }
    let shown = board.worker(&own, run, "kanban_show", json!({}));
    let events = shown["events"].as_array().unwrap();
    assert_eq!(events.len(), 50);
    assert_eq!(events[49]["payload"]["note"], "step 59");
}

// check 34 of the chapter on the board
#[test]
fn a_worker_changes_no_card_but_its_own() {
    let board = BoardStage::new();
    let (own, other) = (filed(&board), filed(&board));
    let run = board.claimed(&own);
    board.claimed(&other);
    for (tool, args) in [
        ("kanban_complete", json!({"task_id": other, "summary": "x"})),
        ("kanban_block", json!({"task_id": other, "reason": "x"})),
        ("kanban_heartbeat", json!({"task_id": other})),
        (
            "kanban_attach",
            json!({"task_id": other, "filename": "a", "content_base64": "YQ=="}),
        ),
    ] {
        let refused = board.worker(&own, run, tool, args);
        let message = refusal(&refused);
        for part in [
            own.as_str(),
            other.as_str(),
            "kanban_comment",
            "kanban_create",
        ] {
            assert!(message.contains(part), "{tool}: {message}");
        }
    }
    assert_eq!(board.task(&other).status_word(), "running");
    assert_eq!(board.events(&other), ["created", "claimed"]);
    let comment = json!({"task_id": other, "body": "look at this"});
    assert_eq!(
        board.worker(&own, run, "kanban_comment", comment)["ok"],
        true
    );
}

// check 34
#[test]
fn a_worker_whose_card_was_taken_back_changes_nothing() {
    let board = BoardStage::new();
    let own = filed(&board);
    let stale = board.claimed(&own);
    board.take_back(&own);
    let current = board.claimed(&own);
    for (tool, args) in [
        ("kanban_complete", json!({"summary": "x"})),
        ("kanban_block", json!({"reason": "x"})),
        ("kanban_heartbeat", json!({})),
    ] {
        let refused = board.worker(&own, stale, tool, args);
        let message = refusal(&refused);
        let over = format!("attempt {stale} is over, attempt {current} is in progress");
        assert!(message.contains(&over), "{tool}: {message}");
        assert_eq!(refused["attempt_over"], true);
    }
    assert_eq!(board.task(&own).current_run_id, Some(current));
    let done = board.worker(&own, current, "kanban_complete", json!({"summary": "done"}));
    assert_eq!(done, json!({"ok": true, "task_id": own, "run_id": current}));
}

#[test]
fn a_completion_hands_over_words_and_facts_without_secrets() {
    let board = BoardStage::new();
    let own = filed(&board);
    let run = board.claimed(&own);
    let args = json!({
        "summary": format!("Used {SECRET}, with DB_PASSWORD=hunter2 at https://x/?token=abc."),
        "metadata": {"key": [SECRET], "files": 3},
    });
    assert_eq!(board.worker(&own, run, "kanban_complete", args)["ok"], true);
    let card = board.store().show(&own, None).unwrap();
    let stored = serde_json::to_string(&card).unwrap();
    assert!(
        !stored.contains(SECRET) && !stored.contains("hunter2"),
        "{stored}"
    );
    assert!(stored.contains("https://x/?token=abc"), "{stored}");
    let metadata = card.runs[0].metadata.clone().unwrap();
    assert_eq!(metadata["files"], json!(3));
    assert_eq!(board.task(&own).status_word(), "done");
}

#[test]
fn words_on_cards_carry_no_secrets() {
    let board = BoardStage::new();
    let own = filed(&board);
    let run = board.claimed(&own);
    let words = format!("with {SECRET} in it");
    board.worker(
        &own,
        run,
        "kanban_comment",
        json!({"task_id": own, "body": words}),
    );
    board.worker(&own, run, "kanban_heartbeat", json!({"note": words}));
    board.worker(
        &own,
        run,
        "kanban_create",
        json!({"title": words, "assignee": "a", "body": words}),
    );
    board.worker(&own, run, "kanban_block", json!({"reason": words}));
    for card in board
        .store()
        .list(&hermes_board::ListQuery::default())
        .unwrap()
    {
        let card = board.store().show(&card.id, None).unwrap();
        let stored = serde_json::to_string(&card).unwrap();
        assert!(
            stored.contains("in it") && !stored.contains(SECRET),
            "{stored}"
        );
    }
}

#[test]
fn the_conversation_is_named_in_the_facts() {
    let mut board = BoardStage::new();
    board.stage.context.conversation.session_id = Some("20261116_030000_abcdef".to_owned());
    let own = filed(&board);
    let run = board.claimed(&own);
    board.worker(&own, run, "kanban_complete", json!({"result": "4"}));
    let card = board.store().show(&own, None).unwrap();
    assert_eq!(
        Value::Object(card.runs[0].metadata.clone().unwrap()),
        json!({"worker_session_id": "20261116_030000_abcdef"})
    );
}

#[test]
fn a_completion_without_words_is_refused() {
    let board = BoardStage::new();
    let own = filed(&board);
    let run = board.claimed(&own);
    for args in [
        json!({}),
        json!({"summary": "  "}),
        json!({"result": "\n", "summary": null}),
    ] {
        let refused = board.worker(&own, run, "kanban_complete", args);
        assert!(refusal(&refused).starts_with("Give a summary"), "{refused}");
    }
    let refused = board.worker(
        &own,
        run,
        "kanban_complete",
        json!({"summary": "x", "metadata": [1]}),
    );
    assert_eq!(
        refusal(&refused),
        "Invalid argument 'metadata': expected an object, got a list."
    );
    assert_eq!(board.task(&own).status_word(), "running");
}

// check 35
#[test]
fn cards_that_were_not_created_hold_a_completion_up() {
    let board = BoardStage::new();
    let own = filed(&board);
    let run = board.claimed(&own);
    let made = board.worker(
        &own,
        run,
        "kanban_create",
        json!({"title": "next", "assignee": "coder"}),
    );
    let args = json!({"summary": "x", "created_cards": [made["task_id"], "t_deadbeef"]});
    let refused = board.worker(&own, run, "kanban_complete", args);
    assert!(refusal(&refused).contains("t_deadbeef"), "{refused}");
    assert_eq!(refused["phantom_cards"], json!(["t_deadbeef"]));
    assert_eq!(board.task(&own).status_word(), "running");
    let events = board.events(&own);
    assert_eq!(events.last().unwrap(), "completion_blocked_hallucination");
    let args = json!({"summary": "x", "created_cards": []});
    assert_eq!(board.worker(&own, run, "kanban_complete", args)["ok"], true);
}

/// Its process may live on behind a cut link, long after its card went to another host.
#[test]
fn a_worker_that_lost_its_card_can_write_with_no_tool() {
    let board = BoardStage::new();
    let (own, other) = (filed(&board), filed(&board));
    let run = board.claimed(&own);
    board.take_back(&own);
    let content = json!({"filename": "a.txt", "content_base64": "YQ=="});
    for (tool, args) in [
        ("kanban_comment", json!({"task_id": own, "body": "late"})),
        ("kanban_comment", json!({"task_id": other, "body": "late"})),
        (
            "kanban_create",
            json!({"title": "more", "assignee": "coder"}),
        ),
        ("kanban_attach", content),
        ("kanban_heartbeat", json!({})),
        ("kanban_complete", json!({"summary": "late"})),
        ("kanban_block", json!({"reason": "late"})),
        ("kanban_link", json!({"parent_id": other, "child_id": own})),
    ] {
        let refused = board.worker(&own, run, tool, args);
        assert!(
            refusal(&refused).contains(own.as_str()),
            "{tool}: {refused}"
        );
    }
    let store = board.store();
    assert!(store.comments(&own).unwrap().is_empty());
    assert!(store.comments(&other).unwrap().is_empty());
    assert!(store.attachments(&own).unwrap().is_empty());
}

// check 36
#[test]
fn deliverables_are_kept_before_the_workspace_goes() {
    let board = BoardStage::new();
    let own = filed(&board);
    let run = board.claimed(&own);
    let workspace = board
        .stage
        .root("hermes")
        .join(format!("kanban/workspaces/{own}"));
    std::fs::create_dir_all(&workspace).unwrap();
    std::fs::write(workspace.join("report.md"), "the report").unwrap();
    let resolved = ResolvedWorkspace {
        path: workspace.clone(),
        branch: None,
        base: None,
    };
    let claimant = Claimant {
        run,
        lock: CLAIM,
        host: None,
    };
    let recorded = board.store().record_workspace(&own, claimant, &resolved);
    assert_eq!(recorded.unwrap(), Applied::Yes);
    let missing = json!({"summary": "x", "artifacts": ["report.md", "nothing.md"]});
    let refused = board.worker(&own, run, "kanban_complete", missing);
    assert!(refusal(&refused).contains("nothing.md"), "{refused}");
    assert!(
        workspace.join("report.md").exists(),
        "the workspace is kept"
    );
    let args =
        json!({"summary": "x", "artifacts": "report.md", "metadata": {"artifacts": ["report.md"]}});
    assert_eq!(board.worker(&own, run, "kanban_complete", args)["ok"], true);
    assert!(!workspace.exists());
    let attachments = board.worker(&own, run, "kanban_attachments", json!({}));
    let stored = attachments["attachments"][0]["stored_path"]
        .as_str()
        .unwrap();
    assert_eq!(std::fs::read_to_string(stored).unwrap(), "the report");
    let card = board.store().show(&own, None).unwrap();
    assert_eq!(
        card.runs[0].metadata.clone().unwrap()["artifacts"],
        json!([stored])
    );
}

#[test]
fn checks_decide_whether_a_card_is_done() {
    let board = BoardStage::new();
    let with_check = |command: &str| {
        let id = board.card(NewTask {
            checks: vec!["true".into(), command.into()],
            ..NewTask::titled("checked")
        });
        let run = board.claimed(&id);
        (id, run)
    };
    let (id, run) = with_check("test -d .");
    let done = board.worker(&id, run, "kanban_complete", json!({"summary": "x"}));
    assert_eq!(
        done,
        json!({"ok": true, "task_id": id, "run_id": run, "checks_passed": 2})
    );
    let (id, run) = with_check(&format!("echo {SECRET} no such luck; exit 3"));
    let refused = board.worker(&id, run, "kanban_complete", json!({"summary": "x"}));
    assert!(
        refusal(&refused).contains("acceptance check 2"),
        "{refused}"
    );
    assert_eq!(refused["check"]["exit_code"], 3);
    assert_eq!(refused["attempt_over"], true);
    assert!(
        refused["check"]["output"]
            .as_str()
            .unwrap()
            .contains("no such luck")
    );
    assert_eq!(board.task(&id).status_word(), "ready");
    assert_eq!(board.task(&id).consecutive_failures, 1);
    let again = board.worker(&id, run, "kanban_complete", json!({"summary": "x"}));
    assert!(refusal(&again).contains("is over"), "{again}");
}

#[test]
fn a_block_says_where_the_card_went() {
    let board = BoardStage::new();
    let own = filed(&board);
    let run = board.claimed(&own);
    let refused = board.worker(&own, run, "kanban_block", json!({"reason": " "}));
    assert_eq!(refusal(&refused), "The reason is empty.");
    let blocked = board.worker(
        &own,
        run,
        "kanban_block",
        json!({"reason": "which files?", "kind": "dependency"}),
    );
    assert_eq!(blocked["status"], "blocked");
    assert_eq!(blocked["block_kind"], "needs_input");
    assert!(blocked["note"].as_str().unwrap().contains("no open parent"));
    assert_eq!(board.task(&own).status_word(), "blocked");
}

#[test]
fn a_goal_is_given_up_only_for_a_reason_others_can_mend() {
    let board = BoardStage::new();
    let own = board.card(NewTask {
        goal_mode: true,
        ..NewTask::titled("goal")
    });
    let run = board.claimed(&own);
    for args in [
        json!({"reason": "hard"}),
        json!({"reason": "hard", "kind": "transient"}),
    ] {
        let refused = board.worker(&own, run, "kanban_block", args);
        assert!(refusal(&refused).contains("needs_input"), "{refused}");
    }
    let args = json!({"reason": "which?", "kind": "needs_input"});
    assert_eq!(board.worker(&own, run, "kanban_block", args)["ok"], true);
}

#[test]
fn a_heartbeat_extends_the_claim() {
    let board = BoardStage::new();
    let own = filed(&board);
    let run = board.claimed(&own);
    let before = board.task(&own);
    let beat = board.worker(&own, run, "kanban_heartbeat", json!({"note": "half way"}));
    assert_eq!(beat, json!({"ok": true, "task_id": own}));
    let after = board.task(&own);
    assert!(after.last_heartbeat_at.is_some() && after.claim_expires >= before.claim_expires);
    assert_eq!(board.events(&own).last().unwrap(), "heartbeat");
}

#[test]
fn the_author_of_a_comment_is_no_argument() {
    let board = BoardStage::new();
    let own = filed(&board);
    let run = board.claimed(&own);
    let forged = json!({"task_id": own, "body": "x", "author": "boss"});
    board.worker(&own, run, "kanban_comment", forged);
    let said = board.worker(
        &own,
        run,
        "kanban_comment",
        json!({"task_id": own, "body": "x"}),
    );
    assert_eq!(said["task_id"], json!(own));
    assert!(said["comment_id"].is_i64());
    let comments = board.store().comments(&own).unwrap();
    assert_eq!(comments[0].author, "coder");
}

#[test]
fn what_workers_must_not_use_is_refused_and_not_offered() {
    let board = BoardStage::new();
    let own = filed(&board);
    let run = board.claimed(&own);
    for (tool, args) in [
        ("kanban_list", json!({})),
        ("kanban_unblock", json!({"task_id": own})),
    ] {
        let refused = board.worker(&own, run, tool, args);
        assert!(refusal(&refused).contains("own card only"), "{refused}");
    }
}

#[test]
fn attachments_are_bytes_with_a_harmless_name() {
    let board = BoardStage::new();
    let own = filed(&board);
    let run = board.claimed(&own);
    let args = json!({"filename": "../../x.txt", "content_base64": "aGVs\nbG8="});
    let attached = board.worker(&own, run, "kanban_attach", args);
    assert_eq!(
        (&attached["filename"], &attached["size"]),
        (&json!("x.txt"), &json!(5))
    );
    let path = attached["stored_path"].as_str().unwrap();
    assert_eq!(std::fs::read_to_string(path).unwrap(), "hello");
    for (args, part) in [
        (
            json!({"filename": "a", "content_base64": "***"}),
            "not base64",
        ),
        (
            json!({"filename": "..", "content_base64": "YQ=="}),
            "invalid attachment name",
        ),
        (
            json!({"filename": "a", "content_base64": "A".repeat(36 * 1024 * 1024)}),
            "more than 25 MiB",
        ),
    ] {
        let refused = board.worker(&own, run, "kanban_attach", args);
        assert!(refusal(&refused).contains(part), "{part}");
    }
    let listed = board.worker(&own, run, "kanban_attachments", json!({}));
    assert_eq!(listed["attachments"].as_array().unwrap().len(), 1);
}
