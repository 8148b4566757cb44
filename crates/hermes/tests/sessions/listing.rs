//! Lists, searches and numbers.

use pretty_assertions::assert_eq;
use serde_json::json;

use crate::{Desk, fields};

#[test]
fn a_home_without_sessions_says_so_and_stays_as_it_is() {
    let desk = Desk::new();
    desk.sessions(&["list"])
        .succeeds()
        .prints("No sessions found.\n");
    desk.sessions(&["list", "--json"]).succeeds().prints("[]\n");
    desk.sessions(&["search", "x"])
        .succeeds()
        .prints("Nothing found.\n");
    assert_eq!(
        desk.sessions(&["stats", "--json"]).succeeds().json()["total_sessions"],
        0
    );
    desk.sessions(&["export", "-"]).succeeds().prints("");
    desk.sessions(&["prune", "--yes"])
        .succeeds()
        .prints("No sessions to prune\n");
    desk.sessions(&["optimize"]).succeeds();
    desk.sessions(&["repair"])
        .succeeds()
        .prints("There are no sessions yet\n");
    desk.sessions(&["delete", "x", "--yes"])
        .exits(1)
        .says_part("there is no session 'x'");
    desk.sessions(&["rename", "x", "y"])
        .exits(1)
        .says_part("there is no session 'x'");
    assert!(!desk.home.has("state.db"));
}

#[test]
fn a_list_is_a_table_that_has_titles_when_there_are_any() {
    let desk = Desk::new();
    desk.talk("20260101_000000_aaaaaa", "cli", &["first 日本語 question"]);
    desk.talk("20260101_000000_bbbbbb", "telegram", &["second"]);
    desk.talk("20260101_000000_cccccc", "tool", &["a program's"]);
    desk.sessions(&["list"]).succeeds().prints(
        "Preview                Last Active  Src       ID
second                 just now     telegram  20260101_000000_bbbbbb
first 日本語 question  just now     cli       20260101_000000_aaaaaa
",
    );
    desk.sessions(&["rename", "20260101_000000_b", "My", "phone  talk"])
        .succeeds()
        .prints("Session 20260101_000000_bbbbbb is called 'My phone talk' now\n");
    desk.sessions(&["list"]).succeeds().prints(
        "Title          Preview                Last Active  Src       ID
My phone talk  second                 just now     telegram  20260101_000000_bbbbbb
—              first 日本語 question  just now     cli       20260101_000000_aaaaaa
",
    );
    assert_eq!(
        desk.listed(&["--source", "tool"]),
        ["20260101_000000_cccccc"]
    );
    assert_eq!(desk.listed(&["--limit", "1"]), ["20260101_000000_bbbbbb"]);
    assert_eq!(
        desk.listed(&["--workspace", "nowhere"]),
        Vec::<String>::new()
    );
    desk.sessions(&["list", "--limit", "few"]).exits(2);
}

#[test]
fn the_shapes_of_json_are_kept() {
    let desk = Desk::new();
    desk.talk("a", "cli", &["hello"]);
    let listed = desk.sessions(&["list", "--json"]).json();
    assert_eq!(
        fields(&listed[0]),
        [
            "id",
            "root_id",
            "parent_session_id",
            "title",
            "preview",
            "source",
            "model",
            "started_at",
            "last_active",
            "ended_at",
            "end_reason",
            "message_count",
            "tool_call_count",
            "input_tokens",
            "output_tokens",
            "workspace",
            "archived"
        ]
    );
    assert_eq!(listed[0]["message_count"], 3);
    let stats = desk.sessions(&["stats", "--json"]).json();
    assert_eq!(
        fields(&stats),
        [
            "total_sessions",
            "total_messages",
            "open_sessions",
            "archived_sessions",
            "by_source",
            "database_bytes"
        ]
    );
    assert_eq!(stats["by_source"], json!({"cli": 1}));
    let found = desk.sessions(&["search", "hello", "--json"]).json();
    assert_eq!(
        fields(&found[0]),
        [
            "id",
            "session_id",
            "role",
            "snippet",
            "timestamp",
            "tool_name",
            "source",
            "model",
            "session_started",
            "compacted",
            "context"
        ]
    );
    desk.sessions(&["stats"]).succeeds().prints_part(
        "Total sessions: 1\nTotal messages: 3\n  Source  Sessions\n  cli     1\nNot ended: 1\n",
    );
}

#[test]
fn searches_cannot_fail_and_show_no_secrets() {
    let desk = Desk::new();
    let secret = format!("sk-{}", "q".repeat(40));
    desk.talk(
        "a",
        "cli",
        &[
            "the lighthouse",
            &format!("my key is {secret} for the lighthouse"),
        ],
    );
    let outcome = desk.sessions(&["search", "lighthouse", "--role", "user"]);
    outcome
        .succeeds()
        .prints_part("the >>>lighthouse<<<")
        .never_shows(&secret);
    desk.sessions(&["search", "lighthouse", "--json"])
        .succeeds()
        .never_shows(&secret);
    for odd in ["\"", "(", "a AND", "*", "'; DROP TABLE messages"] {
        desk.sessions(&["search", odd]).succeeds();
    }
    desk.sessions(&["search"]).exits(2);
    desk.sessions(&["search", "x", "--sort", "best"]).exits(2);
}

#[test]
fn texts_of_others_cannot_steer_the_terminal() {
    let desk = Desk::new();
    desk.talk("a", "cli", &["red \u{1b}[31m text \u{202e}backwards"]);
    desk.sql("UPDATE sessions SET title = 'evil' || char(27) || ']0;x' || char(7), source = 'c' || char(13)");
    let outcome = desk.sessions(&["list"]);
    outcome
        .succeeds()
        .never_shows("\u{1b}")
        .never_shows("\u{202e}")
        .never_shows("\r");
    desk.sessions(&["search", "red"])
        .succeeds()
        .never_shows("\u{1b}");
}

#[test]
fn sessions_of_the_future_are_listed() {
    let desk = Desk::new();
    desk.talk("a", "cli", &["hello"]);
    desk.sql(
        "UPDATE sessions SET started_at = 99999999999; UPDATE messages SET timestamp = 99999999999;
              INSERT INTO sessions (id, source, started_at) VALUES ('b', 'cli', 1e300);
              UPDATE schema_version SET version = 1000",
    );
    desk.sessions(&["list"])
        .succeeds()
        .prints_part("in the future");
    assert_eq!(desk.listed(&[]).len(), 2);
    desk.sessions(&["prune", "--older-than", "1", "--dry-run"])
        .succeeds();
    desk.sessions(&["search", "hello"]).succeeds();
}

#[test]
fn titles_are_refused_for_a_reason() {
    let desk = Desk::new();
    desk.talk("aaa1", "cli", &["hello"]);
    desk.talk("aaa2", "cli", &["hello"]);
    desk.sessions(&["rename", "aaa1", "taken"]).succeeds();
    desk.sessions(&["rename", "aaa2", "taken"])
        .exits(1)
        .says_part("the title 'taken' belongs to session aaa1");
    desk.sessions(&["rename", "aaa2", "\u{200b} "])
        .exits(1)
        .says_part("the title is empty");
    desk.sessions(&["rename", "aaa2", &"x".repeat(101)])
        .exits(1)
        .says_part("101 characters");
    desk.sessions(&["rename", "aaa", "x"])
        .exits(1)
        .says_part("'aaa' is the beginning of 2 session ids")
        .says_part("aaa1");
    desk.sessions(&["rename", "aaa2"]).exits(2);
}
