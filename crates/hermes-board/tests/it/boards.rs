//! Boards: where they are, which one is meant, what becomes of them.

use std::path::PathBuf;

use hermes_board::boards::{
    BoardHome, BoardSlug, Listed, MetadataChange, TickLock, lock_dispatcher,
};
use hermes_board::{Error, StoredBoard};
use hermes_config::Environment;
use hermes_home::{HomeKind, Location};
use pretty_assertions::assert_eq;

use crate::{Fixture, mode};

fn slug(text: &str) -> BoardSlug {
    BoardSlug::parse(text).unwrap()
}

fn resolve(root: &str, variables: &[(&str, &str)]) -> BoardHome {
    let env = Environment::from_pairs(variables.iter().copied());
    let location = Location {
        root: PathBuf::from(root),
        home: PathBuf::from(root),
        kind: HomeKind::Default,
        user_home: PathBuf::from("/home/u"),
    };
    BoardHome::resolve(&env, &location)
}

fn made(fixture: &Fixture, name: &str) {
    fixture
        .home
        .create(&slug(name), &MetadataChange::default(), 5)
        .unwrap();
}

#[test]
fn files_lie_where_the_reference_has_them() {
    let home = resolve("/r", &[]);
    let default = home.board(&BoardSlug::default_board());
    let named = home.board(&slug("site"));
    let shown = |path: PathBuf| path.display().to_string();
    assert_eq!(shown(default.database.clone()), "/r/kanban.db");
    assert_eq!(
        shown(default.metadata_file()),
        "/r/kanban/boards/default/board.json"
    );
    assert_eq!(shown(default.logs.clone()), "/r/kanban/logs");
    assert_eq!(shown(default.init_lock()), "/r/kanban.db.init.lock");
    assert_eq!(shown(default.dispatch_lock()), "/r/kanban.db.dispatch.lock");
    assert_eq!(
        shown(default.workspace_of(&"t_1".into()).unwrap()),
        "/r/kanban/workspaces/t_1"
    );
    assert_eq!(
        shown(named.database.clone()),
        "/r/kanban/boards/site/kanban.db"
    );
    assert_eq!(
        shown(named.attachments_of(&"t_1".into()).unwrap()),
        "/r/kanban/boards/site/attachments/t_1"
    );
    assert_eq!(
        shown(named.log_of(&"t_1".into()).unwrap()),
        "/r/kanban/boards/site/logs/t_1.log"
    );
    assert_eq!(shown(home.dispatcher_lock()), "/r/kanban/.dispatcher.lock");
    assert!(named.log_of(&"../x".into()).is_err());
    assert_eq!(
        resolve("/r", &[("HERMES_KANBAN_HOME", " ~/boards ")]).root(),
        "/home/u/boards"
    );
    assert_eq!(resolve("/r", &[("HERMES_KANBAN_HOME", "  ")]).root(), "/r");
}

#[test]
fn a_named_board_outranks_the_pinned_database_except_in_a_worker() {
    let fixture = Fixture::new();
    made(&fixture, "b");
    made(&fixture, "own");
    let root = fixture.dir.path().to_str().unwrap();
    let pins = [
        ("HERMES_KANBAN_DB", "/elsewhere/a.db"),
        ("HERMES_KANBAN_BOARD", "own"),
        ("HERMES_KANBAN_WORKSPACES_ROOT", "/elsewhere/ws"),
    ];
    let outside = resolve(root, &pins);
    let pinned = outside.select(None).unwrap();
    assert_eq!(pinned.slug, slug("own"));
    assert_eq!(pinned.database, PathBuf::from("/elsewhere/a.db"));
    assert_eq!(pinned.workspaces, PathBuf::from("/elsewhere/ws"));
    let named = outside.select(Some("B")).unwrap();
    assert_eq!(named, fixture.home.board(&slug("b")));

    let worker = resolve(
        root,
        &[&pins[..], &[("HERMES_KANBAN_TASK", "t_1")]].concat(),
    );
    let error = worker.select(Some("b")).unwrap_err();
    assert!(matches!(error, Error::ForeignBoard { .. }) && error.is_usage());
    assert_eq!(
        worker.select(Some("own")).unwrap().database,
        PathBuf::from("/elsewhere/a.db")
    );

    let unknown = outside.select(Some("nope")).unwrap_err();
    assert!(unknown.hint().unwrap().contains("boards create nope"));
    assert!(outside.select(Some("Bad Slug!")).unwrap_err().is_usage());
}

#[test]
fn the_active_board_falls_through_to_the_next_that_exists() {
    let fixture = Fixture::new();
    made(&fixture, "one");
    made(&fixture, "two");
    let root = fixture.dir.path().to_str().unwrap();
    fixture.home.switch(&slug("one")).unwrap();
    assert_eq!(
        std::fs::read_to_string(fixture.path("kanban/current")).unwrap(),
        "one\n"
    );
    let active = |value: &str| resolve(root, &[("HERMES_KANBAN_BOARD", value)]).active();
    assert_eq!(active("two"), slug("two"));
    assert_eq!(active("gone"), slug("one"));
    assert_eq!(active("Not a slug"), slug("one"));
    std::fs::write(fixture.path("kanban/current"), "gone\n").unwrap();
    assert_eq!(active("gone"), BoardSlug::default_board());
    assert!(matches!(
        fixture.home.switch(&slug("gone")),
        Err(Error::UnknownBoard { .. })
    ));
}

#[test]
fn metadata_keeps_what_it_does_not_know_and_the_directory_wins() {
    let fixture = Fixture::new();
    let board = slug("my-board");
    made(&fixture, "my-board");
    let path = fixture.path("kanban/boards/my-board/board.json");
    assert_eq!(mode(&path), 0o600);
    assert_eq!(mode(path.parent().unwrap()), 0o700);
    assert_eq!(
        std::fs::read_to_string(&path).unwrap(),
        r#"{
  "slug": "my-board",
  "name": "My Board",
  "description": "",
  "icon": "",
  "color": "",
  "default_workdir": null,
  "created_at": 5,
  "archived": false
}
"#
    );
    std::fs::write(
        &path,
        r#"{"slug":"other","lanes":[1],"name":"X","db_path":"/x"}"#,
    )
    .unwrap();
    let change = MetadataChange {
        name: Some("  ".to_owned()),
        icon: Some("★".to_owned()),
        default_workdir: Some(Some("/srv/site".to_owned())),
        ..MetadataChange::default()
    };
    let info = fixture.home.change(&board, &change, 9).unwrap();
    assert_eq!(info.slug, board);
    assert_eq!(info.name, "My Board");
    assert_eq!(info.default_workdir.as_deref(), Some("/srv/site"));
    assert_eq!(info.created_at, Some(9));
    assert_eq!(info.db_path, fixture.home.board(&board).database);
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(
        text.contains(r#""lanes""#) && !text.contains("db_path"),
        "{text}"
    );
    let json = serde_json::to_value(&info).unwrap();
    assert_eq!(json["lanes"][0], 1);

    let clear = MetadataChange {
        default_workdir: Some(None),
        ..MetadataChange::default()
    };
    let info = fixture.home.change(&board, &clear, 9).unwrap();
    assert_eq!(info.default_workdir, None);
    let relative = MetadataChange {
        default_workdir: Some(Some("site".to_owned())),
        ..MetadataChange::default()
    };
    assert!(fixture.home.change(&board, &relative, 9).is_err());
}

#[test]
fn a_malformed_file_is_shown_as_defaults_and_never_replaced() {
    let fixture = Fixture::new();
    made(&fixture, "b");
    let path = fixture.path("kanban/boards/b/board.json");
    for bad in ["{", "[1]", "", "\u{0}"] {
        std::fs::write(&path, bad).unwrap();
        assert_eq!(fixture.home.info(&slug("b")).name, "B");
        let change = MetadataChange::default();
        assert!(fixture.home.change(&slug("b"), &change, 1).is_err());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), bad);
    }
}

#[test]
fn lists_begin_with_the_default_board_and_skip_other_directories() {
    let fixture = Fixture::new();
    made(&fixture, "zeta");
    made(&fixture, "alpha");
    std::fs::create_dir_all(fixture.path("kanban/boards/_archived/old-1")).unwrap();
    std::fs::create_dir_all(fixture.path("kanban/boards/empty")).unwrap();
    std::fs::create_dir_all(fixture.path("kanban/boards/Not Valid")).unwrap();
    std::fs::create_dir_all(fixture.path("kanban/boards/by-db")).unwrap();
    std::fs::write(fixture.path("kanban/boards/by-db/kanban.db"), "").unwrap();
    let hide = MetadataChange {
        archived: Some(true),
        ..MetadataChange::default()
    };
    fixture.home.change(&slug("zeta"), &hide, 1).unwrap();
    let names = |listed| -> Vec<String> {
        let boards = fixture.home.list(listed).unwrap();
        boards.iter().map(|info| info.slug.to_string()).collect()
    };
    assert_eq!(names(Listed::Active), ["default", "alpha", "by-db"]);
    assert_eq!(names(Listed::All), ["default", "alpha", "by-db", "zeta"]);
}

#[test]
fn archiving_moves_a_board_and_resets_the_choice() {
    let fixture = Fixture::new();
    made(&fixture, "p");
    drop(StoredBoard::open(&fixture.home.board(&slug("p")), &fixture.options()).unwrap());
    fixture.home.switch(&slug("p")).unwrap();
    let target = fixture.home.archive(&slug("p"), 77).unwrap();
    assert_eq!(target, fixture.path("kanban/boards/_archived/p-77"));
    assert!(target.join("kanban.db").is_file());
    assert!(!fixture.path("kanban/current").exists());
    made(&fixture, "p");
    let second = fixture.home.archive(&slug("p"), 77).unwrap();
    assert_eq!(second, fixture.path("kanban/boards/_archived/p-77-1"));
    assert!(matches!(
        fixture.home.archive(&slug("p"), 78),
        Err(Error::UnknownBoard { .. })
    ));
    for refused in [
        fixture
            .home
            .archive(&BoardSlug::default_board(), 1)
            .map(drop),
        fixture.home.delete(&BoardSlug::default_board(), 1),
    ] {
        assert!(matches!(refused, Err(Error::DefaultBoard)));
    }
    made(&fixture, "q");
    fixture.home.delete(&slug("q"), 1).unwrap();
    assert!(!fixture.path("kanban/boards/q").exists());
    let left: Vec<_> = std::fs::read_dir(fixture.path("kanban/boards/_archived"))
        .unwrap()
        .collect();
    assert_eq!(left.len(), 2);
}

#[test]
fn one_dispatcher_at_a_time() {
    let fixture = Fixture::new();
    let board = fixture.board();
    let held = TickLock::take(&board);
    assert!(matches!(held, TickLock::Held(_)), "{held:?}");
    assert!(matches!(TickLock::take(&board), TickLock::HeldByOther));
    drop(held);
    assert!(matches!(TickLock::take(&board), TickLock::Held(_)));
    assert_eq!(mode(&board.dispatch_lock()), 0o600);
    let gateway = lock_dispatcher(&fixture.home).unwrap().unwrap();
    assert!(lock_dispatcher(&fixture.home).unwrap().is_none());
    assert_eq!(gateway.path(), fixture.home.dispatcher_lock());
    std::fs::create_dir(fixture.path("kanban.db.dispatch.lock2")).unwrap();
    let mut odd = board;
    odd.database = fixture.path("no/such/dir/kanban.db");
    assert!(matches!(TickLock::take(&odd), TickLock::Unavailable(_)));
}
