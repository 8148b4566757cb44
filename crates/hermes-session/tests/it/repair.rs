//! Files that are damaged, foreign, half made, of the past or of the future.

use std::io::{Seek, SeekFrom, Write};
use std::os::unix::fs::PermissionsExt;

use hermes_session::{
    Error, Health, ListRequest, RepairMethod, SearchRequest, SessionMessage, SessionStore, check,
    repair,
};
use hermes_store::rusqlite::Connection;
use pretty_assertions::assert_eq;

use crate::test_store::{TestStore, id, new_session, sql_in};

fn hits(store: &SessionStore, query: &str) -> usize {
    let query = query.to_owned();
    let request = SearchRequest {
        query,
        ..SearchRequest::default()
    };
    store.search(&request).unwrap().len()
}

#[test]
fn sound_file_is_not_changed() {
    let home = tempfile::tempdir().unwrap();
    assert_eq!(check(home.path()).unwrap(), Health::Missing);
    assert_eq!(repair(home.path(), true).unwrap().method, None);
    assert!(!home.path().join("state.db").exists());
    let mut test = TestStore::new();
    test.conversation(&["hello"]);
    assert_eq!(check(test.home.path()).unwrap(), Health::Sound);
    assert_eq!(repair(test.home.path(), true).unwrap().method, None);
}

#[test]
fn broken_search_index_is_rebuilt() {
    let mut test = TestStore::new();
    test.conversation(&["findable words"]);
    let home = test.home.path().to_owned();
    test.sql("DELETE FROM messages_fts_data");
    let TestStore { home: _kept, store } = test;
    drop(store);
    let Health::Damaged(findings) = check(&home).unwrap() else {
        panic!("the damage must be found");
    };
    assert!(!findings.is_empty());
    let repaired = repair(&home, true).unwrap();
    assert_eq!(repaired.method, Some(RepairMethod::InPlace));
    let copy = repaired.copy.unwrap();
    assert_eq!(
        std::fs::metadata(&copy).unwrap().permissions().mode() & 0o777,
        0o600
    );
    assert_eq!(check(&home).unwrap(), Health::Sound);
    let store = SessionStore::open(&home).unwrap();
    assert_eq!(hits(&store, "findable"), 2);
}

#[test]
fn unindexed_and_orphaned_messages_are_recovered() {
    let mut test = TestStore::new();
    test.conversation(&["hello"]);
    test.sql(
        "PRAGMA foreign_keys = OFF;
         DROP TRIGGER messages_fts_insert; DROP TRIGGER messages_fts_trigram_insert;
         INSERT INTO messages (session_id, role, content, timestamp)
         VALUES ('vanished', 'user', 'precious', 5);",
    );
    let Health::Damaged(findings) = check(test.home.path()).unwrap() else {
        panic!("the loss must be found");
    };
    assert_eq!(findings.len(), 2, "{findings:?}");
    let TestStore { home, store } = test;
    drop(store);
    assert_eq!(
        repair(home.path(), false).unwrap().method,
        Some(RepairMethod::InPlace)
    );
    let store = SessionStore::open(home.path()).unwrap();
    assert_eq!(hits(&store, "precious"), 1);
    assert_eq!(
        store.session(&id("vanished")).unwrap().unwrap().source,
        "recovered"
    );
}

#[test]
fn opening_adds_missing_triggers_and_fills_the_index() {
    // The reference drops its triggers when its SQLite has no FTS5.
    let mut test = TestStore::new();
    test.conversation(&["hello"]);
    test.sql(
        "DROP TRIGGER messages_fts_insert;
         INSERT INTO messages (session_id, role, content, timestamp)
         SELECT id, 'user', 'unheard', 1 FROM sessions;",
    );
    let store = SessionStore::open(test.home.path()).unwrap();
    assert_eq!(hits(&store, "unheard"), 1);
}

/// Overwrites a page in the middle of `messages`.
fn tear(home: &std::path::Path) {
    let path = home.join("state.db");
    let connection = Connection::open(&path).unwrap();
    let page: i64 = connection
        .query_row(
            "SELECT pageno FROM dbstat WHERE name = 'messages' AND pagetype = 'leaf'
             ORDER BY path LIMIT 1 OFFSET 3",
            [],
            |row| row.get(0),
        )
        .unwrap();
    connection
        .execute_batch("PRAGMA journal_mode = DELETE")
        .unwrap();
    drop(connection);
    let mut file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.seek(SeekFrom::Start(u64::try_from(page - 1).unwrap() * 4096))
        .unwrap();
    file.write_all(&[0xAB; 4096]).unwrap();
}

#[test]
fn readable_rows_of_a_torn_file_are_salvaged() {
    let mut test = TestStore::new();
    let filler = "x".repeat(900);
    for number in 0..30 {
        test.conversation(&[&format!("number{number} {filler}")]);
    }
    let TestStore { home, store } = test;
    drop(store);
    tear(home.path());
    assert!(matches!(check(home.path()).unwrap(), Health::Damaged(_)));
    let repaired = repair(home.path(), true).unwrap();
    let Some(RepairMethod::Salvaged(saved)) = repaired.method else {
        panic!("mending in place cannot help here: {repaired:?}");
    };
    assert_eq!(saved.sessions, 30);
    assert!((1..60).contains(&saved.messages), "{saved:?}");
    assert!(repaired.copy.unwrap().exists());
    assert_eq!(check(home.path()).unwrap(), Health::Sound);
    let mut store = SessionStore::open(home.path()).unwrap();
    assert_eq!(store.list(&ListRequest::default()).unwrap().len(), 30);
    let path = home.path().join("state.db");
    assert_eq!(
        std::fs::metadata(path).unwrap().permissions().mode() & 0o777,
        0o600
    );
    let new = store.create_session(&new_session("cli")).unwrap();
    store
        .append_user(&new, &SessionMessage::user("it goes on"))
        .unwrap();
}

#[test]
fn file_with_a_contradictory_schema_is_salvaged() {
    // hermes-agent: `table messages_fts already exists`
    let mut test = TestStore::new();
    let session = test.conversation(&["precious"]);
    test.sql(
        "PRAGMA writable_schema = ON;
         INSERT INTO sqlite_schema SELECT * FROM sqlite_schema WHERE name = 'messages_fts';
         PRAGMA writable_schema = OFF;",
    );
    let TestStore { home, store } = test;
    drop(store);
    let refused = SessionStore::open(home.path());
    assert!(refused.is_err_and(|error| error.is_damage()));
    repair(home.path(), true).unwrap();
    let store = SessionStore::open(home.path()).unwrap();
    assert_eq!(store.load_history(&session).unwrap().messages.len(), 2);
    assert_eq!(hits(&store, "precious"), 2);
}

#[test]
fn file_that_is_no_database_is_refused_and_kept() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("state.db");
    std::fs::write(
        &path,
        "these are notes, not a database, and they are long enough",
    )
    .unwrap();
    let refused = SessionStore::open(home.path()).unwrap_err();
    assert!(refused.is_damage(), "{refused}");
    assert!(refused.hint().is_some());
    assert!(repair(home.path(), true).is_err());
    assert!(
        std::fs::read_to_string(&path)
            .unwrap()
            .starts_with("these are notes")
    );
    std::fs::remove_file(&path).unwrap();
    std::fs::create_dir(&path).unwrap();
    assert!(SessionStore::open(home.path()).is_err());
    std::fs::remove_dir(&path).unwrap();
    std::os::unix::fs::symlink("/dev/null", &path).unwrap();
    assert!(matches!(
        SessionStore::open(home.path()),
        Err(Error::Store(_))
    ));
}

#[test]
fn empty_file_becomes_a_database() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("state.db"), "").unwrap();
    assert!(SessionStore::open_read_only(home.path()).unwrap().is_none());
    let mut store = SessionStore::open(home.path()).unwrap();
    store.create_session(&new_session("cli")).unwrap();
}

#[test]
fn newer_schema_version_is_used_unchanged() {
    let mut test = TestStore::new();
    let session = test.conversation(&["hello"]);
    test.sql(
        "UPDATE schema_version SET version = 99;
         ALTER TABLE messages ADD COLUMN mood TEXT NOT NULL DEFAULT 'fine';
         CREATE TABLE tomorrow (x); DROP INDEX idx_sessions_source_id;",
    );
    let schema = |home: &std::path::Path| -> Vec<Option<String>> {
        let connection = Connection::open(home.join("state.db")).unwrap();
        let mut statement = connection
            .prepare("SELECT sql FROM sqlite_schema ORDER BY name")
            .unwrap();
        let rows = statement.query_map([], |row| row.get(0)).unwrap();
        rows.collect::<Result<_, _>>().unwrap()
    };
    let before = schema(test.home.path());
    let mut store = SessionStore::open(test.home.path()).unwrap();
    store
        .append_user(&session, &SessionMessage::user("more"))
        .unwrap();
    assert_eq!(store.load_history(&session).unwrap().messages.len(), 3);
    assert_eq!(schema(test.home.path()), before);
    sql_in(test.home.path(), "SELECT * FROM tomorrow");
}

#[test]
fn very_old_file_is_migrated() {
    let home = tempfile::tempdir().unwrap();
    sql_in(
        home.path(),
        "CREATE TABLE schema_version (version INTEGER NOT NULL);
         INSERT INTO schema_version VALUES (6);
         CREATE TABLE sessions (id TEXT PRIMARY KEY, source TEXT NOT NULL, model TEXT, parent_session_id TEXT,
             started_at REAL NOT NULL, ended_at REAL, message_count INTEGER DEFAULT 0,
             input_tokens INTEGER DEFAULT 0, title TEXT);
         CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL REFERENCES sessions(id),
             role TEXT NOT NULL, content TEXT, tool_call_id TEXT, tool_calls TEXT, tool_name TEXT, timestamp REAL NOT NULL);
         CREATE VIRTUAL TABLE messages_fts USING fts5(content, content=messages, content_rowid=id);
         CREATE TRIGGER messages_fts_insert AFTER INSERT ON messages BEGIN
             INSERT INTO messages_fts(rowid, content) VALUES (new.id, new.content); END;
         INSERT INTO sessions (id, source, started_at, title, input_tokens) VALUES ('a', 'cli', 1, 'same', 7), ('b', 'cli', 2, 'same', 0);
         INSERT INTO messages (session_id, role, content, tool_name, timestamp) VALUES ('a', 'tool', 'output', 'frobber', 1);",
    );
    // Reading alone changes nothing and works.
    let reader = SessionStore::open_read_only(home.path()).unwrap().unwrap();
    assert_eq!(reader.list(&ListRequest::default()).unwrap().len(), 2);
    assert_eq!(hits(&reader, "output"), 1);
    assert_eq!(
        reader.load_history(&id("a")).unwrap().messages.len(),
        0,
        "a result without a call"
    );
    assert_eq!(reader.stats().unwrap().total_sessions, 2);
    drop(reader);
    let store = SessionStore::open(home.path()).unwrap();
    // The index knows names of tools now; of two sessions with one title the newer keeps it.
    assert_eq!(hits(&store, "frobber"), 1);
    assert_eq!(store.resolve("same").unwrap(), id("b"));
    assert_eq!(
        store
            .session(&id("a"))
            .unwrap()
            .unwrap()
            .counters
            .input_tokens,
        7
    );
    assert_eq!(check(home.path()).unwrap(), Health::Sound);
}

#[test]
fn values_of_the_wrong_type_do_not_fail_a_list() {
    let mut test = TestStore::new();
    let session = test.conversation(&["hello"]);
    test.sql(
        "UPDATE sessions SET model_config = 'not json', message_count = 'many', started_at = 'then', title = x'ff41';
         INSERT INTO messages (session_id, role, content, tool_calls, timestamp, reasoning_details, active)
         SELECT id, 'wizard', x'fffe', '{broken', 'never', '[', 1 FROM sessions;",
    );
    assert_eq!(test.store.list(&ListRequest::default()).unwrap().len(), 1);
    let history = test.store.load_history(&session).unwrap();
    assert_eq!(history.messages.len(), 3);
    assert_eq!(history.messages[2].message.role.as_str(), "wizard");
    test.store.export(&session).unwrap();
    test.store.stats().unwrap();
}

#[test]
fn read_only_home_can_be_read() {
    let mut test = TestStore::new();
    let session = test.conversation(&["hello"]);
    let TestStore { home, store } = test;
    drop(store);
    let set = |mode| {
        std::fs::set_permissions(home.path(), std::fs::Permissions::from_mode(mode)).unwrap();
    };
    set(0o500);
    std::fs::set_permissions(
        home.path().join("state.db"),
        std::fs::Permissions::from_mode(0o400),
    )
    .unwrap();
    let store = SessionStore::open_read_only(home.path()).unwrap().unwrap();
    assert_eq!(store.load_history(&session).unwrap().messages.len(), 2);
    assert_eq!(store.list(&ListRequest::default()).unwrap().len(), 1);
    drop(store);
    set(0o700);
}

#[test]
fn message_with_parts_is_not_reported_as_damage() {
    let mut test = TestStore::new();
    let session = test.conversation(&["hello"]);
    let parts = serde_json::json!([{"type": "text", "text": "a picture of zebras"}]);
    let message = SessionMessage::user(hermes_session::MessageContent::Parts(parts));
    test.store.append_user(&session, &message).unwrap();
    assert_eq!(check(test.home.path()).unwrap(), Health::Sound);
}
