//! Blocking, parking, and what frees a card.

use pretty_assertions::assert_eq;
use serde_json::json;

use crate::{Desk, assert_refuses, text};

// check 13
#[test]
fn a_card_that_starts_blocked_stays_so() {
    let desk = Desk::new();
    let id = desk.create("held", &["--initial-status", "blocked"]);
    desk.kanban(&["list"])
        .succeeds()
        .prints_part(&format!("⊘ {id}  blocked "));
    desk.kanban(&["list"]).succeeds();
    assert_eq!(desk.status(&id), "blocked");
    let event = desk.last_event(&id, "blocked");
    let expected =
        json!({"reason": null, "kind": null, "recurrences": 0, "source": "initial_status"});
    assert_eq!(event, expected);
}

// check 14
#[test]
fn a_card_blocked_twice_for_one_reason_goes_to_triage() {
    let desk = Desk::new();
    let id = desk.create("x", &[]);
    desk.kanban(&["block", &id, "which", "colour?", "--kind", "needs_input"])
        .succeeds()
        .prints(&format!("Blocked {id}: which colour?\n"));
    desk.kanban(&["unblock", &id, "--reason", "blue"])
        .succeeds()
        .prints(&format!("Unblocked {id}: blue\n"));
    let again = desk.kanban(&["block", &id, "which", "blue?", "--kind", "needs_input"]);
    again.succeeds().prints_part(&format!("{id} → triage"));
    assert_eq!(desk.status(&id), "triage");
    assert!(desk.events(&id).contains(&"block_loop_detected".to_owned()));
    let comments = desk.json(&["show", &id])["comments"].clone();
    let bodies: Vec<String> = comments
        .as_array()
        .unwrap()
        .iter()
        .map(|comment| text(&comment["body"]))
        .collect();
    assert_eq!(
        bodies,
        [
            "BLOCKED: which colour?",
            "UNBLOCK: blue",
            "BLOCKED: which blue?"
        ]
    );
}

// check 14
#[test]
fn a_dependency_waits_for_its_parent() {
    let desk = Desk::new();
    let id = desk.create("x", &[]);
    let parent = desk.create("parent", &[]);
    desk.kanban(&["link", &parent, &id]).succeeds();
    desk.kanban(&["promote", &id, "--force"]).succeeds();
    desk.kanban(&[
        "block",
        &id,
        "needs",
        "the",
        "other",
        "--kind",
        "dependency",
    ])
    .succeeds()
    .prints_part(&format!("{id} → todo"));
    assert_eq!(desk.status(&id), "todo");
    desk.kanban(&["complete", &parent]).succeeds();
    assert_eq!(desk.status(&id), "ready");
}

#[test]
fn a_dependency_block_without_open_parent_needs_input() {
    let desk = Desk::new();
    let id = desk.create("x", &[]);
    desk.kanban(&["block", &id, "--kind", "dependency"])
        .succeeds()
        .prints(&format!("Blocked {id}\n"))
        .says_part("has no open parent");
    assert_eq!(desk.status(&id), "blocked");
    desk.kanban(&["list"]).succeeds();
    assert_eq!(desk.status(&id), "blocked");
}

#[test]
fn blocking_several_cards_continues_after_a_failure() {
    let desk = Desk::new();
    let (a, b) = (desk.create("a", &[]), desk.create("b", &[]));
    let outcome = desk.kanban(&["block", &a, "wait", "--ids", "t_none", &b, &a]);
    outcome
        .exits(1)
        .prints(&format!("Blocked {a}: wait\nBlocked {b}: wait\n"))
        .says_part("kanban: no such card: 't_none'");
    assert_eq!(
        (desk.status(&a), desk.status(&b)),
        ("blocked".into(), "blocked".into())
    );
    desk.kanban(&["complete", &a]).succeeds();
    let refused = desk.kanban(&["block", &a, "too", "late"]);
    assert_refuses(&refused, 1, &format!("cannot block {a}: it is done"));
    let comments = desk.json(&["show", &a])["comments"].clone();
    assert_eq!(comments.as_array().unwrap().len(), 1, "{comments}");
    desk.kanban(&["block", &b, "--kind", "mood"])
        .exits(2)
        .prints("");
}

#[test]
fn scheduled_cards_record_their_time() {
    let desk = Desk::new();
    let id = desk.create("later", &["--scheduled-at", "2101-02-03T04:05:06Z"]);
    let card = desk.json(&["show", &id])["task"].clone();
    assert_eq!(card["status"], "scheduled");
    assert_eq!(card["scheduled_at"], 4_136_846_706_i64);
    desk.home
        .run(["config", "set", "timezone", "UTC"])
        .succeeds();
    desk.kanban(&["show", &id])
        .succeeds()
        .prints_part("  scheduled:   2101-02-03 04:05\n");
    let other = desk.create("other", &[]);
    desk.kanban(&["schedule", &other, "after", "lunch", "--at", "4136846706"])
        .succeeds()
        .prints(&format!(
            "Scheduled {other} until 2101-02-03 04:05: after lunch\n"
        ));
    assert_eq!(desk.status(&other), "scheduled");
    desk.kanban(&["schedule", &other, "--at", "never"]).exits(2);
    desk.kanban(&["unblock", &id, &other]).succeeds();
    assert_eq!(
        (desk.status(&id), desk.status(&other)),
        ("ready".into(), "ready".into())
    );
    let comments = desk.json(&["show", &other])["comments"].clone();
    assert_eq!(comments[0]["body"], "SCHEDULED: after lunch");
}
