//! Finding cards.

use hermes_board::store::{BoardStore, NewTask};
use pretty_assertions::assert_eq;
use serde_json::Value;

use crate::{Desk, text};

fn titles(cards: &Value) -> Vec<String> {
    let cards = cards.as_array().unwrap();
    cards.iter().map(|card| text(&card["title"])).collect()
}

#[test]
fn a_line_has_its_columns() {
    let desk = Desk::new();
    let flags = ["--assignee", "coder", "--tenant", "acme", "--priority", "5"];
    let a = desk.create("first", &flags);
    let b = desk.create("second 日本", &["--triage"]);
    let c = desk.create("third", &["--priority", "9"]);
    desk.kanban(&["complete", &c]).succeeds();
    desk.kanban(&["list"]).succeeds().prints(&format!(
        "✓ {c}  done      (unassigned)          third\n\
         ▶ {a}  ready     coder                [acme]  first\n\
         ? {b}  triage    (unassigned)          second 日本\n"
    ));
    desk.kanban(&["boards", "create", "other"]).succeeds();
    desk.kanban(&["ls", "--status", "done"])
        .succeeds()
        .prints(&format!(
            "Board: default (1 other board: `hermes kanban boards list`)\n\n\
         ✓ {c}  done      (unassigned)          third\n"
        ));
}

#[test]
fn filters_and_orders() {
    let desk = Desk::new();
    desk.create("b", &["--assignee", "coder", "--priority", "1"]);
    desk.create("a", &["--assignee", "writer", "--tenant", "acme"]);
    desk.create("c", &["--priority", "5", "--triage"]);
    let list = |flags: &[&str]| {
        let args: Vec<&str> = ["list"].iter().chain(flags).copied().collect();
        titles(&desk.json(&args)).concat()
    };
    assert_eq!(list(&[]), "cba");
    assert_eq!(list(&["--sort", "title"]), "abc");
    assert_eq!(list(&["--sort", "priority-desc"]), "abc");
    assert_eq!(list(&["--assignee", "Coder"]), "b");
    assert_eq!(list(&["--tenant", "acme"]), "a");
    assert_eq!(list(&["--status", "triage"]), "c");
    assert_eq!(list(&["--session", "none"]), "");
    assert_eq!(
        list(&["--workflow-template-id", "w", "--step-key", "s"]),
        ""
    );
    assert_eq!(list(&["--limit", "1"]), "c");
    assert_eq!(list(&["--limit", "1", "--offset", "1"]), "b");
    assert_eq!(list(&["--offset", "2"]), "a");
    assert_eq!(list(&["--limit", "0"]), "");
    let mine = desk.call(&["list", "--mine", "--json"]);
    let mine = mine.env("HERMES_PROFILE", "writer").run();
    assert_eq!(titles(&mine.json()), ["a"]);
    for bad in [["--status", "odd"], ["--sort", "mood"], ["--limit", "-1"]] {
        desk.kanban(&["list", bad[0], bad[1]]).exits(2);
    }
}

#[test]
fn memory_does_not_grow_with_the_list() {
    let desk = Desk::new();
    let mut store = desk.store();
    let body = "b".repeat(200_000);
    for number in 0..800 {
        store
            .create(&NewTask {
                body: Some(body.clone()),
                ..NewTask::titled(format!("card {number}"))
            })
            .unwrap();
    }
    drop(store);
    // 160 MB of cards within less than that; the program itself needs half of it.
    let list = desk.call(&["list", "--json"]).within_megabytes(120);
    assert!(list.run().succeeds().stdout.len() > 160_000_000);
}
