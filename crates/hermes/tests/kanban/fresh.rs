//! A home where nobody has ever used the board.

use hermes_store::rusqlite::Connection;
use pretty_assertions::assert_eq;

use crate::Desk;

/// The indexes of the reference, which looks for them by name.
const INDEXES: [&str; 14] = [
    "idx_attachments_task",
    "idx_comments_task",
    "idx_events_run",
    "idx_events_task",
    "idx_links_child",
    "idx_links_parent",
    "idx_notify_task",
    "idx_runs_status",
    "idx_runs_task",
    "idx_tasks_assignee_status",
    "idx_tasks_idempotency",
    "idx_tasks_session_id",
    "idx_tasks_status",
    "idx_tasks_tenant",
];

const TABLES: [&str; 7] = [
    "kanban_notify_subs",
    "task_attachments",
    "task_comments",
    "task_events",
    "task_links",
    "task_runs",
    "tasks",
];

fn names(database: &Connection, kind: &str) -> Vec<String> {
    let mut query = database
        .prepare("SELECT name FROM sqlite_schema WHERE type = ?1 ORDER BY name")
        .unwrap();
    let names = query.query_map([kind], |row| row.get(0)).unwrap();
    names.map(Result::unwrap).collect()
}

// check 1
#[test]
fn the_first_command_creates_an_empty_board() {
    let desk = Desk::new();
    desk.kanban(&["list"])
        .succeeds()
        .prints("(no matching tasks)\n")
        .says("");
    let database = desk.database();
    let journal: String = database
        .query_row("PRAGMA journal_mode", [], |row| row.get(0))
        .unwrap();
    assert_eq!(journal, "wal");
    let tables = names(&database, "table");
    for table in TABLES {
        assert!(
            tables.iter().any(|name| name == table),
            "{table}: {tables:?}"
        );
    }
    let indexes = names(&database, "index");
    for index in INDEXES {
        assert!(
            indexes.iter().any(|name| name == index),
            "{index}: {indexes:?}"
        );
    }
    let numbers: (i64, i64, i64) = database
        .query_row(
            "SELECT (SELECT user_version FROM pragma_user_version),
                 (SELECT application_id FROM pragma_application_id),
                 (SELECT page_size FROM pragma_page_size)",
            [],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
        )
        .unwrap();
    assert_eq!(numbers, (0, 0, 4096));
    for file in ["kanban.db", "kanban.db.init.lock"] {
        assert_eq!(desk.home.mode(file), 0o600, "{file}");
    }
    desk.kanban(&["list", "--json"]).succeeds().prints("[]\n");
}

#[test]
fn kanban_without_a_subcommand_lists_them() {
    let desk = Desk::new();
    let outcome = desk.kanban(&[]);
    outcome
        .succeeds()
        .says("")
        .prints_part("Usage: hermes kanban");
    for verb in ["create", "list", "show", "complete", "boards"] {
        outcome.prints_part(&format!("\n  {verb} "));
    }
    assert!(!desk.home.has("kanban.db"), "help touches nothing");
}

#[test]
fn init_names_the_database_and_the_profiles() {
    let desk = Desk::new();
    desk.home.run(["profile", "create", "coder"]).succeeds();
    desk.kanban(&["init"])
        .succeeds()
        .prints_part("~/.hermes/kanban.db")
        .prints_part("  coder\n")
        .prints_part("hermes kanban daemon");
    assert!(desk.home.has("kanban.db"));
    desk.kanban(&["init"]).succeeds();
}

#[test]
fn all_profiles_share_one_board() {
    let desk = Desk::new();
    desk.home.run(["profile", "create", "coder"]).succeeds();
    let id = desk.create("shared", &[]);
    let listed = desk.home.run(["-p", "coder", "kanban", "list"]);
    listed.succeeds().prints_part(&id);
    assert!(!desk.home.has("profiles/coder/kanban.db"));
}
