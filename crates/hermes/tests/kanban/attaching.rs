//! Files that belong to cards, and what workers printed.

use std::fs;

use pretty_assertions::assert_eq;
use serde_json::json;

use crate::{Desk, assert_refuses};

#[test]
fn files_are_attached_listed_and_removed() {
    let desk = Desk::new();
    let id = desk.create("x", &[]);
    let path = desk.home.put_outside("report.pdf", "four", 0o644);
    let path = path.to_str().unwrap();
    desk.kanban(&["attachments", &id])
        .succeeds()
        .prints(&format!("No attachments on {id}\n"));
    desk.kanban(&["attach", &id, path])
        .succeeds()
        .prints(&format!(
            "Attached report.pdf to {id} (attachment 1, 4 bytes)\n"
        ));
    desk.kanban(&[
        "attach",
        &id,
        path,
        "--name",
        "b.txt",
        "--author",
        "me",
        "--content-type",
        "x/y",
    ])
    .succeeds();
    let listed = desk.json(&["attachments", &id]);
    let stored = desk
        .home
        .path(&format!("kanban/attachments/{id}/report.pdf"));
    assert_eq!(fs::read(&stored).unwrap(), b"four");
    assert_eq!(
        desk.home
            .mode(&format!("kanban/attachments/{id}/report.pdf")),
        0o600
    );
    assert_eq!(listed[0]["filename"], "report.pdf");
    assert_eq!(listed[0]["content_type"], "application/pdf");
    assert_eq!(listed[0]["uploaded_by"], "default");
    assert_eq!(
        (
            &listed[1]["filename"],
            &listed[1]["content_type"],
            &listed[1]["uploaded_by"]
        ),
        (&json!("b.txt"), &json!("x/y"), &json!("me"))
    );
    desk.kanban(&["attachments", &id])
        .succeeds()
        .prints_part("  [1] report.pdf  (4 bytes, application/pdf, by default)\n");
    desk.kanban(&["attach-rm", "1"])
        .succeeds()
        .prints(&format!("Deleted attachment 1 (report.pdf) from {id}\n"));
    assert!(!stored.exists());
    assert_refuses(
        &desk.kanban(&["attach-rm", "1"]),
        1,
        "no such attachment: 1",
    );
}

#[test]
fn what_cannot_be_attached_is_refused() {
    let desk = Desk::new();
    let id = desk.create("x", &[]);
    let missing = desk.kanban(&["attach", &id, "/nowhere/at-all"]);
    assert_refuses(&missing, 1, "no such file: /nowhere/at-all");
    let large = desk.home.outside("large.bin");
    fs::File::create(&large)
        .unwrap()
        .set_len(25 * 1024 * 1024 + 1)
        .unwrap();
    let large = desk.kanban(&["attach", &id, large.to_str().unwrap()]);
    assert_refuses(
        &large,
        1,
        "large.bin has more than 25 MiB and cannot be attached",
    );
    let small = desk.home.put_outside("small", "s", 0o600);
    desk.kanban(&["attach", "t_none", small.to_str().unwrap()])
        .exits(1);
    assert!(!desk.home.has("kanban/attachments/t_none/small"));
    desk.kanban(&["attach", &id, small.to_str().unwrap(), "--name", "../../up"])
        .succeeds()
        .prints_part("Attached up to ");
    assert_eq!(
        desk.json(&["attachments", &id]).as_array().unwrap().len(),
        1
    );
}

#[test]
fn the_end_of_a_log_begins_with_a_whole_line() {
    let desk = Desk::new();
    let id = desk.create("x", &[]);
    let none = desk.kanban(&["log", &id]);
    assert_refuses(&none, 1, &format!("{id} has no log yet"));
    let name = format!("kanban/logs/{id}.log");
    desk.home.put(&name, "first line\nsecond line\nthird");
    desk.kanban(&["log", &id])
        .succeeds()
        .prints("first line\nsecond line\nthird\n");
    desk.kanban(&["log", &id, "--tail", "10"])
        .succeeds()
        .prints("third\n");
    desk.kanban(&["log", &id, "--tail", "5"])
        .succeeds()
        .prints("third\n");
    desk.kanban(&["log", &id, "--tail", "3"])
        .succeeds()
        .prints("ird\n");
    desk.kanban(&["log", &id, "--tail", "1000"])
        .succeeds()
        .prints("first line\nsecond line\nthird\n");
    desk.home.put(&name, "one single line\n");
    desk.kanban(&["log", &id, "--tail", "6"])
        .succeeds()
        .prints(" line\n");
    desk.kanban(&["log", "../../../etc/passwd"])
        .exits(1)
        .prints("");
}
