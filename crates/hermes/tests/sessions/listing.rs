//! Lists, searches and numbers.

use pretty_assertions::assert_eq;
use serde_json::json;

use crate::{SessionHome, fields};

#[test]
fn a_home_without_sessions_says_so_and_stays_as_it_is() {
    let home = SessionHome::new();
    home.sessions(&["list"])
        .succeeds()
        .prints("No sessions found.\n");
    home.sessions(&["list", "--json"]).succeeds().prints("[]\n");
    home.sessions(&["search", "x"])
        .succeeds()
        .prints("Nothing found.\n");
    assert_eq!(
        home.sessions(&["stats", "--json"]).succeeds().json()["total_sessions"],
        0
    );
    home.sessions(&["export", "-"]).succeeds().prints("");
    home.sessions(&["prune", "--yes"])
        .succeeds()
        .prints("No sessions to prune\n");
    home.sessions(&["optimize"]).succeeds();
    home.sessions(&["repair"])
        .succeeds()
        .prints("There are no sessions yet\n");
    home.sessions(&["delete", "x", "--yes"])
        .exits(1)
        .says_part("no such session: 'x'");
    home.sessions(&["rename", "x", "y"])
        .exits(1)
        .says_part("no such session: 'x'");
    assert!(!home.home.has("state.db"));
}

#[test]
fn a_list_is_a_table_that_has_titles_when_there_are_any() {
    let home = SessionHome::new();
    home.talk("20260101_000000_aaaaaa", "cli", &["first 日本語 question"]);
    home.talk("20260101_000000_bbbbbb", "telegram", &["second"]);
    home.talk("20260101_000000_cccccc", "tool", &["a program's"]);
    home.sessions(&["list"]).succeeds().prints(
        "Preview                Last Active  Src       ID
second                 just now     telegram  20260101_000000_bbbbbb
first 日本語 question  just now     cli       20260101_000000_aaaaaa
",
    );
    home.sessions(&["rename", "20260101_000000_b", "My", "phone  talk"])
        .succeeds()
        .prints("Renamed session 20260101_000000_bbbbbb to 'My phone talk'\n");
    home.sessions(&["list"]).succeeds().prints(
        "Title          Preview                Last Active  Src       ID
My phone talk  second                 just now     telegram  20260101_000000_bbbbbb
—              first 日本語 question  just now     cli       20260101_000000_aaaaaa
",
    );
    assert_eq!(
        home.listed(&["--source", "tool"]),
        ["20260101_000000_cccccc"]
    );
    assert_eq!(home.listed(&["--limit", "1"]), ["20260101_000000_bbbbbb"]);
    assert_eq!(
        home.listed(&["--workspace", "nowhere"]),
        Vec::<String>::new()
    );
    home.sessions(&["list", "--limit", "few"]).exits(2);
}

#[test]
fn the_json_output_keeps_its_shape() {
    let home = SessionHome::new();
    home.talk("a", "cli", &["hello"]);
    let listed = home.sessions(&["list", "--json"]).json();
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
    let stats = home.sessions(&["stats", "--json"]).json();
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
    let found = home.sessions(&["search", "hello", "--json"]).json();
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
    home.sessions(&["stats"]).succeeds().prints_part(
        "Total sessions: 1\nTotal messages: 3\n  Source  Sessions\n  cli     1\nNot ended: 1\n",
    );
}

#[test]
fn searches_cannot_fail_and_show_no_secrets() {
    let home = SessionHome::new();
    let secret = format!("sk-{}", "q".repeat(40));
    home.talk(
        "a",
        "cli",
        &[
            "the lighthouse",
            &format!("my key is {secret} for the lighthouse"),
        ],
    );
    let outcome = home.sessions(&["search", "lighthouse", "--role", "user"]);
    outcome
        .succeeds()
        .prints_part("the >>>lighthouse<<<")
        .never_shows(&secret);
    home.sessions(&["search", "lighthouse", "--json"])
        .succeeds()
        .never_shows(&secret);
    for odd in ["\"", "(", "a AND", "*", "'; DROP TABLE messages"] {
        home.sessions(&["search", odd]).succeeds();
    }
    home.sessions(&["search"]).exits(2);
    home.sessions(&["search", "x", "--sort", "best"]).exits(2);
}

#[test]
fn stored_text_cannot_send_terminal_codes() {
    let home = SessionHome::new();
    home.talk("a", "cli", &["red \u{1b}[31m text \u{202e}backwards"]);
    home.sql(
        "UPDATE sessions SET title = 'evil' || char(27) || ']0;x' || char(7), source = 'c' || \
        char(13)",
    );
    let outcome = home.sessions(&["list"]);
    outcome
        .succeeds()
        .never_shows("\u{1b}")
        .never_shows("\u{202e}")
        .never_shows("\r");
    home.sessions(&["search", "red"])
        .succeeds()
        .never_shows("\u{1b}");
}

#[test]
fn sessions_dated_in_the_future_are_listed() {
    let home = SessionHome::new();
    home.talk("a", "cli", &["hello"]);
    home.sql(
        "UPDATE sessions SET started_at = 99999999999; UPDATE messages SET timestamp = 99999999999;
              INSERT INTO sessions (id, source, started_at) VALUES ('b', 'cli', 1e300);
              UPDATE schema_version SET version = 1000",
    );
    home.sessions(&["list"])
        .succeeds()
        .prints_part("in the future");
    assert_eq!(home.listed(&[]).len(), 2);
    home.sessions(&["prune", "--older-than", "1", "--dry-run"])
        .succeeds();
    home.sessions(&["search", "hello"]).succeeds();
}

#[test]
fn a_refused_title_gets_a_reason() {
    let home = SessionHome::new();
    home.talk("aaa1", "cli", &["hello"]);
    home.talk("aaa2", "cli", &["hello"]);
    home.sessions(&["rename", "aaa1", "taken"]).succeeds();
    home.sessions(&["rename", "aaa2", "taken"])
        .exits(1)
        .says_part("the title 'taken' is already used by session aaa1");
    home.sessions(&["rename", "aaa2", "\u{200b} "])
        .exits(1)
        .says_part("the title is empty");
    home.sessions(&["rename", "aaa2", &"x".repeat(101)])
        .exits(1)
        .says_part("101 characters");
    home.sessions(&["rename", "aaa", "x"])
        .exits(1)
        .says_part("'aaa' matches 2 session ids")
        .says_part("aaa1");
    home.sessions(&["rename", "aaa2"]).exits(2);
}
