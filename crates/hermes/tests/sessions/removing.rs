//! Deleting, pruning and putting away.

use pretty_assertions::assert_eq;
use serde_json::json;

use crate::{Desk, files};

/// Three conversations: one over for long, one since yesterday, one not over.
fn desk() -> Desk {
    let desk = Desk::new();
    desk.talk("old", "cli", &["long ago"]);
    desk.talk("recent", "telegram", &["yesterday"]);
    desk.talk("open", "cli", &["now"]);
    desk.end("old", 100);
    desk.end("recent", 1);
    desk
}

#[test]
fn deleting_wants_a_yes() {
    let desk = desk();
    let before = desk.listed(&[]);
    desk.sessions(&["delete", "old"])
        .exits(1)
        .prints("")
        .says_part("no terminal to ask on")
        .says_part("--yes");
    assert_eq!(desk.listed(&[]), before);
    desk.sessions(&["delete", "old", "-y"])
        .succeeds()
        .prints("Deleted session old\n");
    desk.sessions(&["delete", "old", "-y"])
        .exits(1)
        .says_part("there is no session 'old'");
    assert_eq!(desk.listed(&[]).len(), 2);
    desk.sessions(&["search", "long"])
        .succeeds()
        .prints("Nothing found.\n");
}

#[test]
fn pruning_takes_what_is_long_over() {
    let desk = desk();
    let before = files(&desk);
    let dry = desk.sessions(&["prune", "--dry-run"]);
    dry.succeeds()
        .prints_part("Would prune 1 session\n")
        .prints_part("old");
    let planned = desk.sessions(&["prune", "--dry-run", "--json"]).json();
    assert_eq!(
        planned,
        json!({"dry_run": true, "count": 1, "removed": ["old"]})
    );
    desk.sessions(&["prune"]).exits(1).says_part("--yes");
    assert_eq!(files(&desk), before, "a dry run changes no byte");
    desk.sessions(&["prune", "--yes"])
        .succeeds()
        .prints("Pruned 1 session\n");
    desk.sessions(&["prune", "--yes"])
        .succeeds()
        .prints("No sessions to prune\n");
    assert_eq!(desk.listed(&[]).len(), 2);
    // Any filter stands for itself; what is not over stays whatever it is.
    let removed = desk
        .sessions(&["prune", "--source", "telegram", "--yes", "--json"])
        .json();
    assert_eq!(
        removed,
        json!({"dry_run": false, "count": 1, "removed": ["recent"]})
    );
    desk.sessions(&["prune", "--max-messages", "1000", "--yes"])
        .succeeds();
    assert_eq!(desk.listed(&[]), ["open"]);
}

#[test]
fn what_is_put_away_is_kept() {
    let desk = desk();
    desk.sessions(&["archive"])
        .exits(2)
        .says_part("name sessions");
    desk.sessions(&["archive", "old", "--source", "cli"])
        .exits(2);
    desk.sessions(&["archive", "old", "nobody"]).exits(1);
    assert_eq!(desk.listed(&[]).len(), 3, "one wrong name stops all");
    desk.sessions(&["archive", "--older-than", "30", "--dry-run"])
        .succeeds()
        .prints_part("Would archive 1 session\n");
    desk.sessions(&["archive", "--older-than", "30d", "--yes"])
        .succeeds()
        .prints("Archived 1 session\n");
    assert_eq!(desk.listed(&[]).len(), 2);
    assert_eq!(desk.listed(&["--archived"]).len(), 3);
    desk.sessions(&["search", "long"])
        .succeeds()
        .prints_part(">>>long<<<");
    // What somebody put away is not pruned by the way.
    desk.sessions(&["prune", "--yes"])
        .succeeds()
        .prints("No sessions to prune\n");
    desk.sessions(&["archive", "old", "--restore"])
        .succeeds()
        .prints("Restored old\n");
    desk.sessions(&["archive", "open"])
        .succeeds()
        .prints("Archived open\n");
    let mut listed = desk.listed(&[]);
    listed.sort();
    assert_eq!(listed, ["old", "recent"]);
}
