//! What a dispatcher thinks of a card.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::crew::Crew;
use crate::{assert_refuses, text};

fn verdicts(crew: &Crew, id: &str) -> Vec<String> {
    let why = crew.kanban(&["why", id, "--json"]).succeeds().json();
    let rows = why["verdicts"].as_array().unwrap();
    rows.iter().map(|row| text(&row["verdict"])).collect()
}

#[test]
fn why_explains_every_status() {
    let crew = Crew::configured(&["max_in_progress_per_profile: 1", "max_in_progress: 2"]);
    let desk = &crew.desk;
    let running = desk.create("running", &["--assignee", "alpha"]);
    desk.claimed(&running);
    let busy = desk.create("busy", &["--assignee", "alpha"]);
    let starts = desk.create("starts", &["--assignee", "beta", "--priority", "5"]);
    let nobody = desk.create("nobody", &[]);
    let lane = desk.create("lane", &["--assignee", "orion-cc"]);
    let child = desk.create("child", &["--parent", &nobody]);
    let blocked = desk.create("blocked", &["--initial-status", "blocked"]);
    let parked = desk.create("parked", &["--scheduled-at", "4000000000"]);
    let triage = desk.create("triage", &["--triage"]);
    let done = desk.create("done", &[]);
    desk.kanban(&["complete", &done]).succeeds();
    for (id, verdict) in [
        (&running, "in_progress"),
        (&busy, "profile_busy"),
        (&starts, "starts"),
        (&nobody, "unassigned"),
        (&lane, "not_spawnable"),
        (&child, "waits_for"),
        (&blocked, "blocked"),
        (&parked, "parked"),
        (&triage, "triage"),
        (&done, "finished"),
    ] {
        assert_eq!(verdicts(&crew, id), [verdict]);
        let said = crew.kanban(&["why", id]);
        let lines: Vec<&str> = said.succeeds().says("").stdout.lines().collect();
        assert_eq!(lines.len(), 3, "{said}");
        assert!(lines[2].ends_with("is up to terminal.sandbox."), "{said}");
        assert!(lines[0].contains(id.as_str()), "{said}");
        assert!(
            lines[1].starts_with("  ") && lines[1].ends_with('.'),
            "{said}"
        );
    }
    let why = crew.kanban(&["why", &starts, "--json"]).succeeds().json();
    assert_eq!(
        why,
        json!({
            "task_id": starts,
            "status": "ready",
            "assignee": "beta",
            "starts": true,
            "sandbox": null,
            "verdicts": [{
                "verdict": "starts",
                "assignee": "beta",
                "review": false,
                "ends_leftovers": false,
                "sentence": "A worker starts for beta.",
            }],
        })
    );
    // Asking changes nothing, and what it said happens.
    assert_eq!(
        desk.json(&["show", &nobody])["task"]["assignee"],
        Value::Null
    );
    let report = crew.dispatch(&[]);
    assert_eq!(report["spawned"][0]["task_id"], json!(starts));
    assert_eq!(report["spawned"].as_array().unwrap().len(), 1);
    assert_eq!(verdicts(&crew, &busy), ["profile_busy"]);
    assert_refuses(
        &crew.kanban(&["why", "t_none"]),
        1,
        "no such card: 't_none'",
    );
}

#[test]
fn diagnostics_agree_with_why() {
    let crew = Crew::configured(&["max_in_progress_per_profile: 1"]);
    let cards = crew.ready(3, "alpha");
    crew.dispatch(&[]);
    // All at one moment: those that wait longer come later, and filing them may take seconds.
    let database = crew.desk.database();
    let long_ago = "SELECT min(created_at) - 7200 FROM task_events";
    let moment: i64 = database.query_row(long_ago, [], |row| row.get(0)).unwrap();
    for table in ["tasks", "task_events"] {
        let age = format!("UPDATE {table} SET created_at = ?1");
        database.execute(&age, [moment]).unwrap();
    }
    drop(database);
    // Cards that wait for a limit are busy, not stranded.
    crew.kanban(&["why", &cards[1]])
        .succeeds()
        .prints_part("alpha is at its limit: 1 in progress");
    crew.kanban(&["diagnostics"])
        .succeeds()
        .prints("No active diagnostics on this board.\n")
        .says(
            "2 ready card(s) wait for a limit on cards in progress; `hermes kanban why ID` says \
             which.\n",
        );
    // A card without assignee is named at once, and a ready one that nobody starts as well.
    let nobody = crew.desk.create("nobody's", &[]);
    crew.kanban(&["diagnostics"])
        .succeeds()
        .prints_part(&nobody)
        .prints_part("unassigned_in_ready: Without assignee");
    crew.configure(&["default_assignee: beta"]);
    let shown = crew.kanban(&["diagnostics", "--json"]).succeeds().json();
    let kinds: Vec<_> = shown
        .as_array()
        .unwrap()
        .iter()
        .map(|card| {
            (
                card["task_id"].clone(),
                card["diagnostics"][0]["kind"].clone(),
            )
        })
        .collect();
    let mut expected: Vec<_> = cards[1..]
        .iter()
        .map(|id| {
            (
                serde_json::json!(id),
                serde_json::json!("stranded_in_ready"),
            )
        })
        .collect();
    expected.sort_by_key(|(id, _)| id.to_string());
    assert_eq!(kinds, expected);
}
