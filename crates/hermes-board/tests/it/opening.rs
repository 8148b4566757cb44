//! Opening: fresh files, files of every age, files that are damaged or something else.

use std::path::Path;

use hermes_board::model::{Outcome, Status};
use hermes_board::store::BoardStore;
use hermes_board::{BoardOptions, CheckDepth, Error, EventQuery, ListQuery, StoredBoard};
use hermes_store::{Database, Integrity, OpenOptions, integrity_check};
use pretty_assertions::assert_eq;

use crate::{Fixture, START, card, claim, complete, file, kinds, mode, status, task};

const REFERENCE_015: &str = include_str!("../fixtures/reference-0.15.sql");
const REFERENCE_019: &str = include_str!("../fixtures/reference-0.19.sql");
const FIRST_RELEASE: &str = include_str!("../fixtures/first-release.sql");
const NUMBERS_AS_TEXTS: &str = include_str!("../fixtures/numbers-as-texts.sql");

/// A database made of a dump, as another program left it.
fn restore(path: &Path, dump: &str) {
    let database = Database::open(path, &OpenOptions::default()).unwrap();
    database.connection().execute_batch(dump).unwrap();
}

fn raw(fixture: &Fixture) -> Database {
    Database::open(&fixture.board().database, &OpenOptions::default()).unwrap()
}

fn names(database: &Database, sql: &str) -> Vec<String> {
    let mut statement = database.connection().prepare(sql).unwrap();
    let rows = statement.query_map([], |row| row.get(0)).unwrap();
    rows.map(Result::unwrap).collect()
}

fn columns(database: &Database, table: &str) -> Vec<String> {
    names(
        database,
        &format!(
            "SELECT name || ' ' || type || ' ' || \"notnull\" || ' ' || COALESCE(dflt_value, '-') || ' ' || pk FROM pragma_table_info('{table}')"
        ),
    )
}

const TABLES: [&str; 7] = [
    "tasks",
    "task_links",
    "task_comments",
    "task_events",
    "task_runs",
    "task_attachments",
    "kanban_notify_subs",
];

#[test]
fn a_fresh_file_has_the_shape_of_the_reference() {
    let fixture = Fixture::new();
    drop(fixture.open());
    let theirs = Fixture::new();
    restore(&theirs.board().database, REFERENCE_019);
    let (ours, theirs) = (raw(&fixture), raw(&theirs));
    for table in TABLES {
        let mut expected = columns(&theirs, table);
        if table == "tasks" {
            expected.push("scheduled_at INTEGER 0 - 0".to_owned());
            expected.push("sandbox TEXT 0 - 0".to_owned());
            expected.push("filed_within TEXT 0 - 0".to_owned());
            expected.push("host_labels TEXT 0 - 0".to_owned());
            expected.push("host_name TEXT 0 - 0".to_owned());
            expected.push("repository TEXT 0 - 0".to_owned());
        }
        if table == "task_runs" {
            expected.push("host_id TEXT 0 - 0".to_owned());
            expected.push("host_name TEXT 0 - 0".to_owned());
        }
        assert_eq!(columns(&ours, table), expected, "{table}");
    }
    let indexes =
        "SELECT name FROM sqlite_schema WHERE type = 'index' AND name LIKE 'idx_%' ORDER BY name";
    assert_eq!(names(&ours, indexes), names(&theirs, indexes));
    assert_eq!(names(&ours, indexes).len(), 14);
    let pragma = |name: &str| -> String {
        ours.connection()
            .pragma_query_value(None, name, |row| {
                row.get::<_, hermes_store::rusqlite::types::Value>(0)
            })
            .map(|value| format!("{value:?}"))
            .unwrap()
    };
    assert_eq!(pragma("journal_mode"), "Text(\"wal\")");
    assert_eq!(pragma("page_size"), "Integer(4096)");
    assert_eq!(pragma("user_version"), "Integer(0)");
    assert_eq!(pragma("application_id"), "Integer(0)");
    // An SQLite before 3.37 could not open a file with such a table.
    let strict = "SELECT name FROM sqlite_schema WHERE sql LIKE '%STRICT%'";
    assert_eq!(names(&ours, strict), [""; 0]);
    let path = fixture.board().database;
    assert_eq!(mode(&path), 0o600);
    assert_eq!(mode(&fixture.board().init_lock()), 0o600);
    assert_eq!(
        std::fs::metadata(fixture.board().init_lock())
            .unwrap()
            .len(),
        0
    );
}

#[test]
fn an_empty_file_is_a_fresh_board_and_missing_directories_are_made() {
    let fixture = Fixture::new();
    std::fs::write(fixture.board().database, "").unwrap();
    assert!(
        fixture
            .open()
            .list(&ListQuery::default())
            .unwrap()
            .is_empty()
    );
    let mut deep = fixture.board();
    deep.database = fixture.path("a/b/kanban.db");
    drop(StoredBoard::open(&deep, &fixture.options()).unwrap());
    assert_eq!(mode(&fixture.path("a/b")), 0o700);
}

#[test]
fn boards_of_the_reference_are_read_and_worked_on() {
    for (dump, goal_mode_known) in [(REFERENCE_015, false), (REFERENCE_019, true)] {
        let fixture = Fixture::new();
        restore(&fixture.board().database, dump);
        assert_eq!(
            columns(&raw(&fixture), "tasks")
                .iter()
                .any(|column| column.starts_with("goal_mode")),
            goal_mode_known
        );
        let mut board = fixture.open();
        let titles: Vec<(String, Status)> = board
            .list(&ListQuery {
                include_archived: true,
                ..ListQuery::default()
            })
            .unwrap()
            .into_iter()
            .map(|task| (task.title.clone(), task.status()))
            .collect();
        let expected = [
            ("First card", Status::Ready),
            ("Waits for the first", Status::Todo),
            ("Running card", Status::Running),
            ("Finished card", Status::Done),
            ("Blocked card", Status::Blocked),
            ("Archived card", Status::Archived),
        ];
        assert_eq!(
            titles,
            expected.map(|(title, status)| (title.to_owned(), status))
        );
        let finished = board.show(&"t_0000000d".into(), None).unwrap();
        assert_eq!(
            finished.task.task.skills,
            Some(vec!["translation".to_owned()])
        );
        assert_eq!(finished.latest_summary.as_deref(), Some("Done well\nmore"));
        let run = finished.runs.first().unwrap();
        assert_eq!(run.ended_how(), Some(Outcome::Completed));
        assert_eq!(run.metadata.as_ref().unwrap()["files"][1], "ü");
        assert_eq!(board.comments(&"t_0000000a".into()).unwrap().len(), 1);
        assert_eq!(board.subscriptions(None).unwrap().len(), 1);
        // The block of the reference holds.
        assert_eq!(board.promote_satisfied(2).unwrap(), []);
        assert_eq!(
            complete(&mut board, &"t_0000000a".into()).promoted,
            ["t_0000000b".into()]
        );
        complete(&mut board, &"t_0000000c".into());
        let id = file(&mut board, &card("ours"));
        claim(&mut board, &id);
        drop(board);
        assert_eq!(
            integrity_check(&fixture.board().database).unwrap(),
            Integrity::Sound
        );
    }
}

#[test]
fn a_board_of_the_first_release_gets_later_columns() {
    let fixture = Fixture::new();
    restore(&fixture.board().database, FIRST_RELEASE);
    let mut board = fixture.open();
    assert_eq!(task(&board, &"t_0002".into()).consecutive_failures, 3);
    assert_eq!(
        task(&board, &"t_0002".into()).last_failure_error.as_deref(),
        Some("no such profile")
    );
    let runs = board.runs(&"t_0001".into(), None).unwrap();
    assert_eq!(runs.len(), 1);
    let run = runs.first().unwrap();
    assert_eq!(run.status, "running");
    assert_eq!(run.started_at, 1_600_000_100);
    assert_eq!(run.claim_lock.as_deref(), Some("old-host:77"));
    assert_eq!(task(&board, &"t_0001".into()).current_run_id, Some(run.id));
    assert_eq!(
        kinds(&board, &"t_0003".into()),
        ["created", "promoted", "reprioritized"]
    );
    assert_eq!(kinds(&board, &"t_0002".into()), ["gave_up"]);
    // Three failures are too many for the limit of two, and too few for one of four.
    assert_eq!(board.promote_satisfied(2).unwrap(), []);
    assert_eq!(board.promote_satisfied(4).unwrap(), ["t_0002".into()]);
    drop(board);
    // Once more changes nothing.
    let board = fixture.open();
    assert_eq!(board.runs(&"t_0001".into(), None).unwrap().len(), 1);
    assert_eq!(status(&board, &"t_0003".into()), Status::Ready);
}

#[test]
fn numbers_that_were_texts_become_numbers_and_nothing_else_is_lost() {
    let fixture = Fixture::new();
    restore(&fixture.board().database, NUMBERS_AS_TEXTS);
    let mut board = fixture.open();
    let id = "t_0001".into();
    let bodies: Vec<String> = board
        .comments(&id)
        .unwrap()
        .into_iter()
        .map(|comment| format!("{} {}", comment.id, comment.body))
        .collect();
    assert_eq!(bodies, ["1 first", "2 second"]);
    let all = board.events(&EventQuery::default()).unwrap();
    let ids: Vec<i64> = all.iter().map(|event| event.id).collect();
    assert_eq!(ids, [1, 2]);
    assert_eq!(all.last().unwrap().payload, None);
    let cursors: Vec<i64> = board
        .subscriptions(None)
        .unwrap()
        .iter()
        .map(|subscription| subscription.last_event_id)
        .collect();
    assert_eq!(cursors, [17, 0, 0]);
    // The attempt in progress is still the one in progress.
    let open = board.runs(&id, None).unwrap().pop().unwrap();
    assert_eq!(open.ended_at, None);
    assert_eq!(task(&board, &id).current_run_id, Some(open.id));
    complete(&mut board, &id);
    // Words of another program are shown, and otherwise left alone.
    let future = task(&board, &"t_0002".into());
    assert_eq!(future.status(), Status::Unknown);
    assert_eq!(future.status_word(), "postponed");
    assert_eq!(future.workspace(), None);
    assert_eq!(future.created_at, 1_600_000_000);
    assert_eq!(future.priority, 0);
    assert_eq!(
        serde_json::to_value(&future).unwrap()["status"],
        "postponed"
    );
    let error = board
        .complete(
            &"t_0002".into(),
            &hermes_board::store::Completion::default(),
        )
        .unwrap_err();
    assert_eq!(error.to_string(), "cannot complete t_0002: it is postponed");
    drop(board);
    let kept = names(
        &raw(&fixture),
        "SELECT future_column FROM tasks WHERE id = 't_0001'",
    );
    assert_eq!(kept, ["kept"]);
}

fn refused(fixture: &Fixture, check: CheckDepth) -> Error {
    let options = BoardOptions {
        check,
        ..fixture.options()
    };
    StoredBoard::open(&fixture.board(), &options).unwrap_err()
}

fn copies(fixture: &Fixture) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(fixture.dir.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.contains(".corrupt.") && !name.contains("bak-"))
        .collect();
    names.sort();
    names
}

#[test]
fn a_file_that_is_no_database_is_refused_and_copied() {
    let fixture = Fixture::new();
    let path = fixture.board().database;
    std::fs::write(&path, b"\x17\x03\x03\x00\x20 not a database at all").unwrap();
    let before = std::fs::read(&path).unwrap();
    for _ in 0..10 {
        let error = refused(&fixture, CheckDepth::WhenDue);
        assert!(error.is_damage());
        let text = error.to_string();
        assert!(text.contains("17 03 03 00 20"), "{text}");
        assert!(text.contains("encrypted network traffic"), "{text}");
        assert!(error.hint().unwrap().contains(".corrupt."));
    }
    assert_eq!(std::fs::read(&path).unwrap(), before);
    assert_eq!(copies(&fixture).len(), 1);
}

/// A board of a few hundred cards in one file without a log.
fn filled(fixture: &Fixture) -> Vec<u8> {
    let mut board = fixture.open();
    for number in 0..300 {
        let mut new = card(&format!("card {number}"));
        new.body = Some("x".repeat(400));
        file(&mut board, &new);
    }
    drop(board);
    std::fs::read(fixture.board().database).unwrap()
}

#[test]
fn a_damaged_page_or_a_truncated_file_is_refused_and_left_alone() {
    let fixture = Fixture::new();
    let sound = filled(&fixture);
    let path = fixture.board().database;
    let mut scratched = sound.clone();
    for page in 3..20 {
        for byte in scratched.iter_mut().skip(page * 4096).take(300) {
            *byte = 0xA5;
        }
    }
    let truncated = sound.iter().copied().take(5 * 4096).collect::<Vec<_>>();
    for (number, damaged) in [scratched, truncated].into_iter().enumerate() {
        std::fs::write(&path, &damaged).unwrap();
        for _ in 0..10 {
            let error = refused(&fixture, CheckDepth::Quick);
            assert!(
                matches!(error, Error::Damaged { copy: Some(_), .. }),
                "{error}"
            );
        }
        assert!(
            std::fs::read(&path).unwrap() == damaged,
            "the original was changed"
        );
        assert_eq!(copies(&fixture).len(), number + 1);
    }
}

#[test]
fn damage_found_while_working_is_refused_and_copied() {
    let fixture = Fixture::new();
    let sound = filled(&fixture);
    let path = fixture.board().database;
    assert!(
        sound.len() > 256 * 1024,
        "larger than what is checked every time"
    );
    let mut damaged = sound;
    for page in 3..60 {
        for byte in damaged.iter_mut().skip(page * 4096).take(300) {
            *byte = 0xA5;
        }
    }
    std::fs::write(&path, &damaged).unwrap();
    for _ in 0..3 {
        let result = StoredBoard::open(&fixture.board(), &fixture.options())
            .and_then(|board| board.list(&ListQuery::default()));
        let error = result.unwrap_err();
        assert!(matches!(error, Error::Damaged { .. }), "{error}");
    }
    assert!(
        std::fs::read(&path).unwrap() == damaged,
        "the original was changed"
    );
    assert_eq!(copies(&fixture).len(), 1);
}

#[test]
fn a_sound_file_is_checked_once_a_day() {
    let fixture = Fixture::new();
    filled(&fixture);
    let lock = fixture.board().init_lock();
    let stamp = |seconds: u64| {
        let at = std::time::SystemTime::now() - std::time::Duration::from_secs(seconds);
        let file = std::fs::File::options().write(true).open(&lock).unwrap();
        file.set_modified(at).unwrap();
        at
    };
    let modified = || std::fs::metadata(&lock).unwrap().modified().unwrap();
    let yesterday = stamp(90_000);
    drop(fixture.open());
    assert!(modified() > yesterday);
    stamp(3600);
    let recent = modified();
    drop(fixture.open());
    assert_eq!(modified(), recent);
}

#[test]
fn an_ordinary_user_is_told_about_a_directory_that_cannot_be_written() {
    use std::os::unix::fs::PermissionsExt;
    if hermes_testkit::ran_as_nobody(
        "opening::an_ordinary_user_is_told_about_a_directory_that_cannot_be_written",
    ) {
        return;
    }
    let fixture = Fixture::new();
    let closed = fixture.path("closed");
    std::fs::create_dir(&closed).unwrap();
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o500)).unwrap();
    let mut board = fixture.board();
    board.database = closed.join("kanban.db");
    let error = StoredBoard::open(&board, &fixture.options()).unwrap_err();
    assert!(error.to_string().contains("permission denied"), "{error}");
    assert!(error.hint().is_some());
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn a_held_lock_does_not_stop_an_ordinary_opening() {
    let fixture = Fixture::new();
    drop(fixture.open());
    let _held = hermes_fs::FileLock::acquire(
        &fixture.board().init_lock(),
        &hermes_fs::LockOptions::new("test"),
    )
    .unwrap();
    let mut board = fixture.open();
    let id = file(&mut board, &card("x"));
    assert_eq!(task(&board, &id).created_at, START);
}
