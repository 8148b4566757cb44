//! The tools of the board in the hands of somebody who looks after many cards.

use hermes_board::model::{Assignee, WorkspaceKind};
use hermes_board::store::NewTask;
use hermes_board::{ChatAddress, NewSubscription};
use hermes_tools::BoardAccess;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::board_stage::{BoardStage, refusal, worker_facts};

fn card(title: &str, assignee: &str) -> NewTask {
    NewTask {
        assignee: Some(Assignee::parse(assignee).unwrap()),
        ..NewTask::titled(title)
    }
}

#[test]
fn cards_are_filed_with_all_that_belongs_to_them() {
    let board = BoardStage::new();
    let parent = board.card(NewTask::titled("first"));
    let made = board.orchestrator(
        "kanban_create",
        json!({
            "title": "second", "assignee": " Coder ", "body": "do it", "parents": parent,
            "tenant": "acme", "priority": "3", "max_runtime_seconds": 60, "skills": "review",
            "goal_mode": "yes", "goal_max_turns": 5, "idempotency_key": "k",
            "workspace_kind": "dir", "workspace_path": "/srv/site",
        }),
    );
    assert_eq!(
        (&made["status"], &made["subscribed"]),
        (&json!("todo"), &json!(false))
    );
    let id = hermes_board::model::TaskId::from(made["task_id"].as_str().unwrap());
    let task = board.task(&id);
    assert_eq!(task.assignee.as_deref(), Some("coder"));
    assert_eq!(task.created_by.as_deref(), Some("coder"));
    assert_eq!((task.priority, task.max_runtime_seconds), (3, Some(60)));
    assert_eq!(task.skills, Some(vec!["review".to_owned()]));
    assert_eq!((task.goal_mode, task.goal_max_turns), (true, Some(5)));
    assert_eq!(task.workspace(), Some(WorkspaceKind::Dir));
    assert_eq!(task.workspace_path.as_deref(), Some("/srv/site"));
    assert_eq!(task.filed_within.as_deref(), Some("/srv"));
    assert_eq!(board.store().parents(&id).unwrap(), [parent]);
    let again = board.orchestrator(
        "kanban_create",
        json!({"title": "other", "assignee": "x", "idempotency_key": "k"}),
    );
    assert_eq!(again["task_id"], made["task_id"]);
}

#[test]
fn cards_that_make_no_sense_are_refused_and_nothing_is_filed() {
    let board = BoardStage::new();
    for (args, part) in [
        (json!({"assignee": "a"}), "Missing argument 'title'"),
        (json!({"title": " ", "assignee": "a"}), "title is empty"),
        (
            json!({"title": "x", "assignee": "../a"}),
            "invalid assignee",
        ),
        (
            json!({"title": "x", "assignee": "a", "parents": ["t_none"]}),
            "no such card: t_none",
        ),
        (
            json!({"title": "x", "assignee": "a", "workspace_path": "/x"}),
            "workspace_kind",
        ),
        (
            json!({"title": "x", "assignee": "a", "workspace_kind": "dir", "workspace_path": "x"}),
            "must be absolute",
        ),
        (
            json!({"title": "x", "assignee": "a", "workspace_kind": "cloud"}),
            "one of scratch",
        ),
        (
            json!({"title": "x", "assignee": "a", "skills": ["terminal"]}),
            "toolsets, not skills",
        ),
        (
            json!({"title": "x", "assignee": "a", "max_runtime_seconds": 0}),
            "at least 1",
        ),
        (
            json!({"title": "x", "assignee": "a", "triage": true, "initial_status": "blocked"}),
            "one initial status",
        ),
        (
            json!({"title": "x", "assignee": "a", "board": "Bad Slug!"}),
            "board slug",
        ),
        (
            json!({"title": "x", "assignee": "a", "board": "nope"}),
            "no such board: 'nope'",
        ),
    ] {
        let refused = board.orchestrator("kanban_create", args);
        assert!(refusal(&refused).contains(part), "{part}: {refused}");
    }
    let list = board.orchestrator("kanban_list", json!({}));
    assert_eq!(list["count"], 0);
}

#[test]
fn a_worker_files_in_its_own_name_tenant_and_workspace() {
    let board = BoardStage::new();
    let own = board.card(NewTask {
        workspace: WorkspaceKind::Dir,
        workspace_path: Some("/srv/site".to_owned()),
        ..card("own", "coder")
    });
    let run = board.claimed(&own);
    let access = BoardAccess {
        caller: worker_facts(&own, Some(run), None),
        tenant: Some("acme".to_owned()),
        ..board.access()
    };
    let task_of = |made: &Value| {
        let id = hermes_board::model::TaskId::from(made["task_id"].as_str().unwrap());
        board.task(&id)
    };
    let made = board.with(
        access.clone(),
        "kanban_create",
        json!({"title": "next", "assignee": "x"}),
    );
    let task = task_of(&made);
    assert_eq!(task.tenant.as_deref(), Some("acme"));
    assert_eq!(task.workspace_path.as_deref(), Some("/srv/site"));
    let named =
        json!({"title": "own", "assignee": "x", "workspace_kind": "scratch", "tenant": "b"});
    let task = task_of(&board.with(access, "kanban_create", named));
    assert_eq!(task.workspace(), Some(WorkspaceKind::Scratch));
    assert_eq!(
        (task.workspace_path, task.tenant.as_deref()),
        (None, Some("b"))
    );
}

#[test]
fn the_chat_that_files_a_card_follows_it() {
    let board = BoardStage::new();
    let follower = |platform: &str| {
        Some(NewSubscription {
            chat: ChatAddress {
                platform: platform.to_owned(),
                chat_id: "42".to_owned(),
                thread_id: String::new(),
            },
            user_id: None,
            notifier_profile: Some("coder".to_owned()),
        })
    };
    let access = BoardAccess {
        follower: follower("telegram"),
        ..board.access()
    };
    let made = board.with(
        access,
        "kanban_create",
        json!({"title": "x", "assignee": "a"}),
    );
    assert_eq!(made["subscribed"], true);
    let subscriptions = board.store().subscriptions(None).unwrap();
    assert_eq!(subscriptions[0].chat_id, "42");
    // What cannot be followed is filed all the same.
    let access = BoardAccess {
        follower: follower(" "),
        ..board.access()
    };
    let made = board.with(
        access,
        "kanban_create",
        json!({"title": "x", "assignee": "a"}),
    );
    assert_eq!(
        (&made["ok"], &made["subscribed"]),
        (&json!(true), &json!(false))
    );
}

#[test]
fn lists_are_short_filtered_and_say_whether_there_is_more() {
    let board = BoardStage::new();
    for number in 0..7 {
        board.card(card(
            &format!("card {number}"),
            if number < 5 { "a" } else { "b" },
        ));
    }
    let list = board.orchestrator("kanban_list", json!({"assignee": "a", "limit": 3}));
    assert_eq!(list["tasks"].as_array().unwrap().len(), 3);
    assert_eq!(
        (
            &list["count"],
            &list["truncated"],
            &list["limit"],
            &list["next_limit"]
        ),
        (&json!(3), &json!(true), &json!(3), &json!(6))
    );
    let list = board.orchestrator("kanban_list", json!({"status": "ready", "limit": 900}));
    assert_eq!(
        (
            &list["count"],
            &list["truncated"],
            &list["limit"],
            &list["next_limit"]
        ),
        (&json!(7), &json!(false), &json!(200), &json!(null))
    );
    assert_eq!(list["tasks"][0]["parent_count"], 0);
    assert!(list["tasks"][0].get("body").is_none());
    for status in [
        "triage",
        "todo",
        "scheduled",
        "running",
        "blocked",
        "review",
        "done",
        "archived",
    ] {
        let list = board.orchestrator("kanban_list", json!({"status": status}));
        assert_eq!(list["count"], 0, "{status}");
    }
    let refused = board.orchestrator("kanban_list", json!({"status": "lost"}));
    assert!(refusal(&refused).contains("one of triage"), "{refused}");
}

#[test]
fn links_and_blocks_are_made_and_undone() {
    let board = BoardStage::new();
    let (first, second) = (board.card(card("1", "a")), board.card(card("2", "a")));
    let link = |parent: &str, child: &str| {
        board.orchestrator(
            "kanban_link",
            json!({"parent_id": parent, "child_id": child}),
        )
    };
    let linked = link(first.as_str(), second.as_str());
    assert_eq!(
        linked,
        json!({"ok": true, "parent_id": first, "child_id": second})
    );
    assert_eq!(board.task(&second).status_word(), "todo");
    assert!(refusal(&link(second.as_str(), first.as_str())).contains("cycle"));
    assert!(refusal(&link(first.as_str(), first.as_str())).contains("itself"));
    let blocked = board.orchestrator("kanban_block", json!({"task_id": first, "reason": "wait"}));
    assert_eq!(blocked["status"], "blocked");
    let freed = board.orchestrator("kanban_unblock", json!({"task_id": first}));
    assert_eq!(
        freed,
        json!({"ok": true, "task_id": first, "status": "ready"})
    );
    let refused = board.orchestrator("kanban_unblock", json!({"task_id": first}));
    assert!(refusal(&refused).contains("cannot unblock"), "{refused}");
    let refused = board.orchestrator("kanban_complete", json!({"summary": "x"}));
    assert!(
        refusal(&refused).contains("task_id is required"),
        "{refused}"
    );
}

#[test]
fn a_list_makes_ready_what_waits_for_nothing() {
    let board = BoardStage::new();
    let parent = board.card(card("1", "a"));
    let child = board.card(NewTask {
        parents: vec![parent.clone()],
        ..card("2", "a")
    });
    board.orchestrator("kanban_complete", json!({"task_id": parent, "result": "x"}));
    let list = board.orchestrator("kanban_list", json!({"status": "ready"}));
    assert_eq!(list["tasks"][0]["id"], json!(child));
    assert_eq!(list["tasks"][0]["parents"], json!([parent]));
    assert_eq!(list["promoted"], 0, "completing had promoted it already");
}
