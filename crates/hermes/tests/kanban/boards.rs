//! Several boards.

use std::fs;

use pretty_assertions::assert_eq;
use serde_json::json;

use crate::{Desk, assert_refuses};

// check 38
#[test]
fn a_named_board_beats_the_variable() {
    let desk = Desk::new();
    desk.kanban(&["boards", "create", "b"]).succeeds();
    let pinned = desk.home.outside("pinned.db");
    let create = |args: &[&str]| desk.call(args).env("HERMES_KANBAN_DB", &pinned).run();
    create(&["--board", "b", "create", "x"]).succeeds();
    assert_eq!(
        desk.json(&["--board", "b", "list"])
            .as_array()
            .unwrap()
            .len(),
        1
    );
    assert!(!pinned.exists(), "the pinned database is another one");
    create(&["create", "y"]).succeeds();
    assert!(pinned.exists());
    desk.kanban(&["list"])
        .succeeds()
        .prints_part("(no matching tasks)");
}

// check 38
#[test]
fn a_worker_stays_on_its_board() {
    let desk = Desk::new();
    desk.kanban(&["boards", "create", "b"]).succeeds();
    let refused = desk
        .call(&["--board", "b", "create", "x"])
        .env("HERMES_KANBAN_TASK", "t_own")
        .env("HERMES_KANBAN_BOARD", "default")
        .run();
    assert_refuses(
        &refused,
        2,
        "this worker belongs to board 'default' and cannot use board 'b'",
    );
    for board in ["default", "b"] {
        let cards = desk.json(&["--board", board, "list"]);
        assert_eq!(cards, json!([]), "{board}");
    }
    desk.call(&["--board", "default", "create", "own"])
        .env("HERMES_KANBAN_TASK", "t_own")
        .env("HERMES_KANBAN_BOARD", "default")
        .run()
        .succeeds();
}

// check 39
#[test]
fn boards_are_archived_or_deleted() {
    let desk = Desk::new();
    for slug in ["p", "q"] {
        desk.kanban(&["boards", "create", slug, "--switch"])
            .succeeds()
            .prints_part(&format!("Switched to '{slug}'."));
        desk.create("x", &[]);
    }
    desk.kanban(&["boards", "switch", "p"])
        .succeeds()
        .prints("Active board is now 'p'.\n");
    assert_eq!(desk.home.read("kanban/current"), "p\n");
    let removed = desk.kanban(&["boards", "rm", "p"]);
    removed.succeeds().prints_part("Board 'p' archived → ");
    assert!(!desk.home.has("kanban/boards/p"));
    assert!(
        !desk.home.has("kanban/current"),
        "the default board is in use again"
    );
    let archived: Vec<_> = fs::read_dir(desk.home.path("kanban/boards/_archived"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert_eq!(archived.len(), 1);
    assert!(archived[0].join("kanban.db").exists());
    let default = desk.kanban(&["boards", "rm", "default"]);
    assert_refuses(&default, 1, "the default board cannot be removed");
    desk.kanban(&["boards", "delete", "q"])
        .succeeds()
        .prints("Board 'q' deleted.\n");
    assert!(!desk.home.has("kanban/boards/q"));
    let gone = desk.kanban(&["boards", "delete", "q"]);
    assert_refuses(&gone, 1, "no such board: 'q'");
    desk.kanban(&["boards", "switch", "q"]).exits(1);
    desk.kanban(&["boards", "switch", "Q!"]).exits(2);
}

#[test]
fn boards_are_described() {
    let desk = Desk::new();
    desk.kanban(&[
        "boards",
        "create",
        "Web-Site",
        "--description",
        "all pages",
        "--icon",
        "W",
        "--color",
        "#fff",
    ])
    .succeeds()
    .prints_part("Board 'web-site' created.\n  Display name: Web Site\n");
    desk.kanban(&["boards", "new", "web-site"])
        .succeeds()
        .prints_part("Board 'web-site' already exists.");
    desk.kanban(&["boards", "rename", "web-site", "Pages"])
        .succeeds()
        .prints("Board 'web-site' renamed to 'Pages'.\n");
    desk.kanban(&["boards", "set-default-workdir", "web-site", "pages"])
        .exits(2)
        .says_part("must be an absolute path");
    desk.kanban(&["boards", "set-default-workdir", "web-site", "~/pages"])
        .succeeds();
    let workdir = desk.home.user_home().join("pages");
    desk.create("on the default board", &[]);
    desk.kanban(&["--board", "web-site", "create", "x"])
        .succeeds();
    let boards = desk.json(&["boards", "list"]);
    let mut site = boards[1].clone();
    assert!(site["created_at"].is_i64());
    site["created_at"] = json!(1);
    assert_eq!(
        site,
        json!({
            "slug": "web-site", "name": "Pages", "description": "all pages", "icon": "W",
            "color": "#fff", "default_workdir": workdir, "created_at": 1, "archived": false,
            "db_path": desk.home.path("kanban/boards/web-site/kanban.db"),
            "is_current": false, "counts": {"ready": 1}, "total": 1,
        })
    );
    assert_eq!(boards[0]["slug"], "default");
    assert_eq!(boards[0]["is_current"], true);
    desk.kanban(&["boards"]).succeeds().prints(
        "    SLUG                      NAME                          COUNTS\n\
         ●   default                   Default                       ready=1\n    \
             web-site                  Pages                         ready=1\n\n\
         Current board: default\n`hermes kanban boards switch SLUG` switches to another one.\n",
    );
    desk.kanban(&["boards", "set-default-workdir", "web-site"])
        .succeeds()
        .prints("Board 'web-site' default workdir cleared.\n");
    assert_eq!(
        desk.json(&["boards", "list"])[1]["default_workdir"],
        json!(null)
    );
}

#[test]
fn the_board_flag_does_not_affect_boards_commands() {
    let desk = Desk::new();
    desk.kanban(&["boards", "create", "a"]).succeeds();
    desk.kanban(&["--board", "a", "boards", "show"])
        .succeeds()
        .prints_part("Current board: default\n");
    desk.kanban(&["--board", "Bad!", "boards", "current"])
        .succeeds();
}

#[test]
fn the_variable_names_a_board_that_exists() {
    let desk = Desk::new();
    desk.kanban(&["boards", "create", "a"]).succeeds();
    let show = |board: &str| {
        let run = desk
            .call(&["boards", "show"])
            .env("HERMES_KANBAN_BOARD", board);
        run.run()
            .succeeds()
            .stdout
            .lines()
            .next()
            .unwrap()
            .to_owned()
    };
    assert_eq!(show("a"), "Current board: a");
    assert_eq!(show("gone"), "Current board: default");
    assert_eq!(show("../x"), "Current board: default");
    desk.call(&["boards", "switch", "default"])
        .env("HERMES_KANBAN_BOARD", "a")
        .run()
        .succeeds()
        .says_part("HERMES_KANBAN_BOARD");
}

#[test]
fn cards_take_the_directory_of_their_board() {
    let desk = Desk::new();
    desk.kanban(&["boards", "create", "a", "--default-workdir", "/srv/a"])
        .succeeds();
    let file = |flags: &[&str]| {
        let args: Vec<&str> = ["--board", "a", "create", "x"]
            .iter()
            .chain(flags)
            .copied()
            .collect();
        desk.json(&args)["workspace_path"].clone()
    };
    assert_eq!(file(&["--workspace", "worktree"]), "/srv/a");
    assert_eq!(file(&["--workspace", "dir:/srv/b"]), "/srv/b");
    assert_eq!(
        file(&[]),
        json!(null),
        "scratch never starts in a directory of somebody's"
    );
}
