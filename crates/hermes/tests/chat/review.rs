//! The review of a conversation in the background.

use hermes_store::rusqlite::Connection;
use hermes_testkit::{TestHome, eventually};
use pretty_assertions::assert_eq;

/// A home whose conversations play this script; `settings` say when they are reviewed.
fn home(settings: &str, review: &str) -> TestHome {
    let home = TestHome::new(env!("CARGO_BIN_EXE_hermes"));
    home.put(
        "config.yaml",
        format!(
            "model: {{provider: replay, script: script.yaml}}\n\
             auxiliary: {{title_generation: {{enabled: false}}}}\n{settings}\n"
        ),
    );
    home.put(
        "script.yaml",
        format!("turns:\n{review}  - match: {{user: \"\"}}\n    text: an answer\n"),
    );
    home
}

const REMEMBERS: &str = "  - match: {task: background_review, last: Look back}\n    \
     calls:\n      - {tool: memory, arguments: {action: add, target: user, content: Likes short answers}}\n      \
     - {tool: terminal, arguments: {command: touch pwned}}\n  \
     - match: {task: background_review, tool: terminal, last: Only the tools for memory}\n    text: Nothing more.\n";

#[test]
fn what_a_review_remembers_is_listed_and_nothing_else_of_it_is_kept() {
    let home = home("memory: {nudge_interval: 2}", REMEMBERS);
    let mut running = home.hermes(["chat", "-Q"]).start();
    running.write_line("one");
    assert_eq!(running.next_line().as_deref(), Some("an answer"));
    assert!(!home.has("memories/USER.md"));
    running.write_line("two");
    assert_eq!(running.next_line().as_deref(), Some("an answer"));
    eventually("the review has kept something", || {
        home.has("memories/USER.md")
            && home
                .read("memories/USER.md")
                .contains("Likes short answers")
    });
    let mut said = Vec::new();
    eventually("the person is told", || {
        said.extend(running.errors());
        said.iter()
            .any(|line| line.contains("memory: Likes short answers"))
    });
    running.close_stdin();
    assert_eq!(running.wait().code(), Some(0));
    assert!(!home.has("pwned"));
    let store = Connection::open(home.path("state.db")).unwrap();
    let count = |sql: &str| -> i64 { store.query_row(sql, [], |row| row.get(0)).unwrap() };
    assert_eq!(count("SELECT count(*) FROM messages"), 4);
    let cost =
        "SELECT sum(api_call_count) FROM session_model_usage WHERE task = 'background_review'";
    assert_eq!(count(cost), 2);
}

#[test]
fn a_change_that_needs_approval_waits() {
    let home = home(
        "memory: {nudge_interval: 1, write_approval: true}",
        REMEMBERS,
    );
    let mut running = home.hermes(["chat", "-Q"]).start();
    running.write_line("one");
    assert_eq!(running.next_line().as_deref(), Some("an answer"));
    eventually("the change waits", || {
        let pending = home.run(["memory", "pending"]);
        pending.stdout.contains("Likes short answers")
    });
    assert!(!home.has("memories/USER.md"));
    running.close_stdin();
    assert_eq!(running.wait().code(), Some(0));
}

#[test]
fn bundled_skills_are_not_changed_by_a_review() {
    let review = "  - match: {task: background_review, last: Look back}\n    \
         calls: [{tool: skill_manage, arguments: {action: patch, name: board-worker, old_string: the, new_string: x}}]\n  \
         - match: {task: background_review, last: came with Hermes}\n    \
         calls: [{tool: memory, arguments: {action: add, content: refused}}]\n  \
         - match: {task: background_review}\n    text: done\n";
    let home = home("skills: {creation_nudge_interval: 1}", review);
    let mut running = home.hermes(["chat", "-Q"]).start();
    running.write_line("one");
    assert_eq!(running.next_line().as_deref(), Some("an answer"));
    eventually("the review has gone on", || {
        home.has("memories/MEMORY.md") && home.read("memories/MEMORY.md").contains("refused")
    });
    running.close_stdin();
    assert_eq!(running.wait().code(), Some(0));
}

#[test]
fn a_single_query_is_never_reviewed() {
    let home = home(
        "memory: {nudge_interval: 1}\nskills: {creation_nudge_interval: 1}",
        REMEMBERS,
    );
    home.run(["chat", "-Q", "-q", "one"]).succeeds();
    let store = Connection::open(home.path("state.db")).unwrap();
    let count: i64 = store
        .query_row(
            "SELECT count(*) FROM session_model_usage WHERE task = 'background_review'",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(count, 0);
    assert!(!home.has("memories/USER.md"));
}

#[test]
fn zero_switches_reviews_off() {
    let off = "memory: {nudge_interval: 0}\nskills: {creation_nudge_interval: 0}";
    let home = home(off, REMEMBERS);
    let mut running = home.hermes(["chat", "-Q"]).start();
    for _ in 0..12 {
        running.write_line("again");
        assert_eq!(running.next_line().as_deref(), Some("an answer"));
    }
    running.close_stdin();
    assert_eq!(running.wait().code(), Some(0));
    assert!(!home.has("memories/USER.md"));
}
