//! A file of a board on a disk that is full.

use std::process::Command;

use hermes_board::ListQuery;
use pretty_assertions::assert_eq;

use crate::concurrency::{assert_sound, consistent};
use crate::{Fixture, process};

#[test]
fn a_full_disk_refuses_a_card_and_loses_none() {
    let fixture = Fixture::new();
    drop(fixture.open());
    let fill = process("fill", fixture.dir.path());
    // No file may grow beyond this, as on a full disk; the signal for it is ignored.
    let output = Command::new("sh")
        .args(["-c", "trap '' XFSZ; ulimit -f 2000; exec \"$0\" \"$@\""])
        .arg(fill.get_program())
        .args(fill.get_args())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("refused: could not"), "{text}");
    let filed = text.lines().filter(|line| *line == "filed").count();
    assert!(filed > 10, "{filed}");
    let board = fixture.open();
    assert_eq!(board.list(&ListQuery::default()).unwrap().len(), filed);
    consistent(&board);
    drop(board);
    assert_sound(&fixture);
}
