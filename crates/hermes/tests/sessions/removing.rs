//! Deleting, pruning and archiving.

use pretty_assertions::assert_eq;
use serde_json::json;

use crate::{SessionHome, files};

/// Three conversations: one over for long, one since yesterday, one not over.
fn home() -> SessionHome {
    let home = SessionHome::new();
    home.talk("old", "cli", &["long ago"]);
    home.talk("recent", "telegram", &["yesterday"]);
    home.talk("open", "cli", &["now"]);
    home.end("old", 100);
    home.end("recent", 1);
    home
}

#[test]
fn deleting_asks_for_confirmation() {
    let home = home();
    let before = home.listed(&[]);
    home.sessions(&["delete", "old"])
        .exits(1)
        .prints("")
        .says_part("no terminal to ask for confirmation")
        .says_part("--yes");
    assert_eq!(home.listed(&[]), before);
    home.sessions(&["delete", "old", "-y"])
        .succeeds()
        .prints("Deleted session old\n");
    home.sessions(&["delete", "old", "-y"])
        .exits(1)
        .says_part("no such session: 'old'");
    assert_eq!(home.listed(&[]).len(), 2);
    home.sessions(&["search", "long"])
        .succeeds()
        .prints("Nothing found.\n");
}

#[test]
fn pruning_removes_sessions_that_ended_long_ago() {
    let home = home();
    let before = files(&home);
    let dry = home.sessions(&["prune", "--dry-run"]);
    dry.succeeds()
        .prints_part("Would prune 1 session\n")
        .prints_part("old");
    let planned = home.sessions(&["prune", "--dry-run", "--json"]).json();
    assert_eq!(
        planned,
        json!({"dry_run": true, "count": 1, "removed": ["old"]})
    );
    home.sessions(&["prune"]).exits(1).says_part("--yes");
    assert_eq!(files(&home), before, "a dry run changes no byte");
    home.sessions(&["prune", "--yes"])
        .succeeds()
        .prints("Pruned 1 session\n");
    home.sessions(&["prune", "--yes"])
        .succeeds()
        .prints("No sessions to prune\n");
    assert_eq!(home.listed(&[]).len(), 2);
    // Any filter stands for itself; what is not over stays whatever it is.
    let removed = home
        .sessions(&["prune", "--source", "telegram", "--yes", "--json"])
        .json();
    assert_eq!(
        removed,
        json!({"dry_run": false, "count": 1, "removed": ["recent"]})
    );
    home.sessions(&["prune", "--max-messages", "1000", "--yes"])
        .succeeds();
    assert_eq!(home.listed(&[]), ["open"]);
}

#[test]
fn archived_sessions_are_kept() {
    let home = home();
    home.sessions(&["archive"])
        .exits(2)
        .says_part("name sessions");
    home.sessions(&["archive", "old", "--source", "cli"])
        .exits(2);
    home.sessions(&["archive", "old", "nobody"]).exits(1);
    assert_eq!(home.listed(&[]).len(), 3, "one wrong name stops all");
    home.sessions(&["archive", "--older-than", "30", "--dry-run"])
        .succeeds()
        .prints_part("Would archive 1 session\n");
    home.sessions(&["archive", "--older-than", "30d", "--yes"])
        .succeeds()
        .prints("Archived 1 session\n");
    assert_eq!(home.listed(&[]).len(), 2);
    assert_eq!(home.listed(&["--archived"]).len(), 3);
    home.sessions(&["search", "long"])
        .succeeds()
        .prints_part(">>>long<<<");
    // What somebody put away is not pruned by the way.
    home.sessions(&["prune", "--yes"])
        .succeeds()
        .prints("No sessions to prune\n");
    home.sessions(&["archive", "old", "--restore"])
        .succeeds()
        .prints("Restored old\n");
    home.sessions(&["archive", "open"])
        .succeeds()
        .prints("Archived open\n");
    let mut listed = home.listed(&[]);
    listed.sort();
    assert_eq!(listed, ["old", "recent"]);
}
