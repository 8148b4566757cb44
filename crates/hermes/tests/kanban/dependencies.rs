//! Cards that wait for cards.

use pretty_assertions::assert_eq;

use crate::{Desk, assert_refuses};

// check 10
#[test]
fn a_child_is_ready_when_its_parent_is_done() {
    let desk = Desk::new();
    let parent = desk.create("parent", &[]);
    let child = desk.create("child", &["--parent", &parent]);
    assert_eq!(desk.status(&child), "todo");
    desk.kanban(&["complete", &parent]).succeeds();
    assert_eq!(desk.status(&child), "ready");
    assert_eq!(desk.events(&child), ["created", "promoted"]);
    let cycle = desk.kanban(&["link", &child, &parent]);
    let message = format!("{parent} already leads to {child}: linking them would close a cycle");
    assert_refuses(&cycle, 1, &message);
    let itself = desk.kanban(&["link", &child, &child]);
    assert_refuses(
        &itself,
        1,
        &format!("a card cannot depend on itself ({child})"),
    );
}

// check 11
#[test]
fn an_archived_parent_does_not_block_children() {
    let desk = Desk::new();
    let parent = desk.create("parent", &[]);
    let child = desk.create("child", &["--parent", &parent]);
    let blocked = desk.create(
        "blocked",
        &["--parent", &parent, "--initial-status", "blocked"],
    );
    desk.kanban(&["archive", &parent])
        .succeeds()
        .prints(&format!("Archived {parent}\n"));
    assert_eq!(desk.status(&child), "ready");
    let late = desk.create("late", &["--parent", &parent]);
    assert_eq!(desk.status(&late), "ready");
    desk.kanban(&["unblock", &blocked])
        .succeeds()
        .prints(&format!("Unblocked {blocked}\n"));
    assert_eq!(desk.status(&blocked), "ready");
}

#[test]
fn links_are_added_and_removed() {
    let desk = Desk::new();
    let (a, b) = (desk.create("a", &[]), desk.create("b", &[]));
    desk.kanban(&["link", &a, &b])
        .succeeds()
        .prints(&format!("Linked {a} -> {b}\n"));
    assert_eq!(desk.status(&b), "todo");
    let card = desk.json(&["show", &b]);
    assert_eq!(card["parents"], serde_json::json!([a]));
    assert_eq!(card["task"]["parents"], serde_json::json!([a]));
    desk.kanban(&["unlink", &a, &b])
        .succeeds()
        .prints(&format!("Unlinked {a} -> {b}\n"));
    assert_eq!(desk.status(&b), "ready");
    let gone = desk.kanban(&["unlink", &a, &b]);
    assert_refuses(&gone, 1, &format!("no such link: {a} -> {b}"));
    desk.kanban(&["link", &a, "t_none"]).exits(1).prints("");
}

#[test]
fn a_list_promotes_cards_with_finished_parents() {
    let desk = Desk::new();
    let parent = desk.create("parent", &[]);
    let child = desk.create("child", &["--parent", &parent]);
    // As if another program had completed it without looking at its children.
    desk.database()
        .execute("UPDATE tasks SET status = 'done' WHERE id = ?1", [&parent])
        .unwrap();
    let listed = desk.kanban(&["list", "--status", "ready"]);
    listed
        .succeeds()
        .prints_part(&format!("▶ {child}  ready   "));
    assert_eq!(desk.events(&child), ["created", "promoted"]);
    let newest = desk.count("SELECT max(id) FROM task_events");
    desk.kanban(&["list"]).succeeds();
    assert_eq!(desk.count("SELECT max(id) FROM task_events"), newest);
}

#[test]
fn promoting_by_hand_needs_force_where_parents_are_open() {
    let desk = Desk::new();
    let parent = desk.create("parent", &[]);
    let child = desk.create("child", &["--parent", &parent]);
    let refused = desk.kanban(&["promote", &child]);
    let reason = format!("cannot promote {child}: it waits for {parent}");
    assert_refuses(&refused, 1, &reason);
    let outcome = desk.call(&["promote", &child, "--json"]).run();
    assert_eq!(
        outcome.exits(1).json(),
        serde_json::json!({
            "task_id": child, "promoted": false, "dry_run": false, "forced": false,
            "reason": null, "error": reason,
        })
    );
    desk.kanban(&["promote", &child, "--force", "--dry-run"])
        .succeeds()
        .prints(&format!("Would promote {child} -> ready (dry)\n"));
    assert_eq!(desk.status(&child), "todo");
    let other = desk.create("other", &["--parent", &parent]);
    let both = desk.json(&[
        "promote", &child, "it", "is", "urgent", "--force", "--ids", &other,
    ]);
    let both = both.as_array().unwrap();
    assert_eq!(both.len(), 2);
    assert!(
        both.iter()
            .all(|one| one["promoted"] == true && one["reason"] == "it is urgent")
    );
    assert_eq!(desk.status(&child), "ready");
    let event = desk.last_event(&child, "promoted_manual");
    assert_eq!(event["actor"], "default");
}
