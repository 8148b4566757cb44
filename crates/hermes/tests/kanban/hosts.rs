//! The host of a board in a file: one machine, and cards that ask for another.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::crew::Crew;
use crate::worker::as_worker;
use crate::{Desk, text};

#[test]
fn a_board_in_a_file_knows_the_host_that_dispatches_on_it() {
    let crew = Crew::configured(&[
        "host_name: desk",
        "host_labels: 'ssd, zone:eu'",
        "max_in_progress_per_host: 1",
    ]);
    let none = crew.kanban(&["hosts"]);
    none.succeeds()
        .prints_part("No dispatcher has used this board yet");
    assert_eq!(crew.desk.json(&["hosts"]), json!([]));
    let flags = ["--on", "desk", "--priority", "9"];
    let here = crew.file("exec sleep 300", &flags);
    let waits = crew.file("exec sleep 300", &["--host", "ssd"]);
    crew.kanban(&["dispatch"])
        .succeeds()
        .prints_part("Deferred (kanban.max_in_progress_per_host is 1, 1 in progress)");
    let hosts = crew.desk.json(&["hosts"]);
    let host = &hosts[0];
    assert_eq!(host["labels"], json!(["ssd", "zone:eu"]));
    assert_eq!(
        (&host["name"], &host["slots"], &host["here"], &host["used"]),
        (&json!("desk"), &json!(1), &json!(true), &json!(1))
    );
    assert_eq!(host["running"], json!([here]));
    let table = crew.kanban(&["hosts"]);
    let table = &table.succeeds().stdout;
    assert!(table.contains("desk  ssd, zone:eu  1/1"), "{table}");
    crew.kanban(&["why", &waits]).succeeds().prints_part(
        "Host desk has no free slot: 1 in progress, kanban.max_in_progress_per_host is 1.",
    );
    crew.kanban(&["why", &here])
        .succeeds()
        .prints_part("on host desk");
    crew.kanban(&["show", &waits])
        .succeeds()
        .prints_part("host:        any with ssd");
    let shown = crew.desk.json(&["show", &here]);
    assert_eq!(shown["task"]["host_name"], "desk");
    assert_eq!(shown["runs"][0]["host"], "desk");
}

#[test]
fn a_card_asks_for_hosts_until_it_is_edited() {
    let crew = Crew::configured(&["host_name: desk"]);
    let created = crew.kanban(&[
        "create",
        "train",
        "--assignee",
        "alpha",
        "--host",
        "gpu",
        "--on",
        "moon",
    ]);
    created
        .succeeds()
        .says_part("no host called moon is known yet")
        .says_part("no host is known yet that has the label gpu");
    let id = text(&crew.desk.json(&["list"])[0]["id"]);
    let dispatched: Value = crew.kanban(&["dispatch", "--json"]).succeeds().json();
    assert_eq!(
        dispatched["skipped_placement"],
        json!([{"task_id": id, "reason": "no_such_host", "host": "moon", "known": ["desk"]}])
    );
    crew.kanban(&["edit", &id, "--anywhere"]).succeeds();
    let card = crew.desk.json(&["show", &id]);
    assert_eq!(
        (&card["task"]["host_name"], &card["task"]["host_labels"]),
        (&Value::Null, &Value::Null)
    );
    let dispatched: Value = crew.kanban(&["dispatch", "--json"]).succeeds().json();
    assert_eq!(dispatched["spawned"][0]["task_id"], id.as_str());
    crew.kanban(&["edit", &id, "--on", "a b"])
        .exits(2)
        .says_part("invalid host name: 'a b'");
}

#[test]
fn the_shell_of_a_worker_that_lost_its_card_can_write_nothing() {
    let desk = Desk::new();
    let own = desk.create("own", &["--assignee", "coder"]);
    let other = desk.create("other", &[]);
    let run = desk.claimed(&own);
    desk.kanban(&["reclaim", &own]).succeeds();
    let before = (desk.json(&["show", &own]), desk.json(&["show", &other]));
    for words in [
        &["comment", &own, "late"][..],
        &["comment", &other, "late"],
        &["create", "more"],
        &["attach", &own, "/etc/hostname"],
        &["link", &other, &own],
        &["heartbeat", &own],
        &["complete", &own],
        &["block", &own, "late"],
        &["schedule", &own],
    ] {
        as_worker(&desk, &own, run, words)
            .exits(1)
            .says_part("kanban: cannot ");
    }
    let after = (desk.json(&["show", &own]), desk.json(&["show", &other]));
    assert_eq!(after, before);
    assert_eq!(desk.json(&["list"]).as_array().unwrap().len(), 2);
}
