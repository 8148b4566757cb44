//! Boards that move between a file and a server.

use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use hermes_testkit::{PgDatabase, Postgres, eventually};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::{COMMANDS, Machine};

/// A machine whose boards are in files.
fn machine_with_files(database: &PgDatabase) -> Machine {
    let machine = Machine::new(database);
    machine.home.put("config.yaml", "");
    machine
}

fn file_of(machine: &Machine) -> PathBuf {
    machine.home.path("kanban.db")
}

/// Runs statements on a file as another program would.
fn sqlite(path: &std::path::Path, sql: &str) -> Result<String, String> {
    let script = "import sqlite3, sys\n\
                  c = sqlite3.connect(sys.argv[1], isolation_level=None)\n\
                  for s in sys.argv[2].split(';;'):\n    r = c.execute(s).fetchall()\n\
                  print(r)";
    let output = Command::new("python3")
        .args(["-c", script])
        .arg(path)
        .arg(sql)
        .output()
        .unwrap();
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).trim().to_owned())
    }
}

/// Cards of all kinds: linked, swarmed, commented, attached to, worked on, reviewed, archived.
fn fill(machine: &Machine) {
    let mut cards: Vec<String> = Vec::new();
    for command in COMMANDS.iter().filter(|command| !command.starts_with("gc")) {
        machine.run_command(command, &mut cards);
    }
    let text = "quotes ' \" \\ and signs \u{1f980} \t\n of all kinds";
    machine.create("texts", &["--body", text, "--check", "true"]);
    let running: Vec<String> = machine
        .json(&["list"])
        .as_array()
        .unwrap()
        .iter()
        .filter(|card| card["status"] == "running")
        .map(|card| card["id"].as_str().unwrap().to_owned())
        .collect();
    for id in running {
        machine.kanban(&["reclaim", &id]).succeeds();
    }
}

/// Everything that a board shows of itself.
fn everything(machine: &Machine) -> Value {
    let list = machine.json(&["list", "--archived"]);
    let mut cards = Vec::new();
    for card in list.as_array().unwrap() {
        let id = card["id"].as_str().unwrap();
        cards.push(machine.json(&["show", id]));
        cards.push(machine.json(&["runs", id]));
        cards.push(machine.json(&["attachments", id]));
    }
    json!({
        "list": list,
        "cards": cards,
        "followers": machine.json(&["notify-list"]),
    })
}

fn move_to(machine: &Machine, to: &str) -> Value {
    machine.json(&["move-board", "--to", to])
}

#[test]
fn a_board_moves_to_a_server_and_back_with_all_its_history() {
    let database = Postgres::shared().database();
    let machine = machine_with_files(&database);
    fill(&machine);
    let before = everything(&machine);
    let last = sqlite(
        &file_of(&machine),
        "SELECT seq FROM sqlite_sequence ORDER BY name",
    )
    .unwrap();

    let dry = machine.json(&["move-board", "--to", &database.url(), "--dry-run"]);
    assert_eq!(dry["moved"], false, "{dry}");
    assert_eq!(
        database.sql("SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'hermes%'"),
        "0"
    );
    assert!(!machine.home.has("kanban/boards/default/board.json"));

    let moved = move_to(&machine, &database.url());
    assert_eq!(moved["moved"], true, "{moved}");
    assert_eq!(
        moved["left_out"],
        json!([]),
        "both stores have the same columns"
    );
    assert_eq!(moved["tables"], dry["tables"]);
    assert_eq!(everything(&machine), before);
    // The next event follows the last one.
    let newest = "SELECT max(id) FROM hermes_default.task_events";
    let newest_before: i64 = database.sql(newest).parse().unwrap();
    let id = machine.create("on the server", &[]);
    assert_eq!(
        database.sql(newest).parse::<i64>().unwrap(),
        newest_before + 1
    );
    machine.kanban(&["archive", &id]).succeeds();
    machine.kanban(&["archive", "--rm", &id]).succeeds();
    let on_server = everything(&machine);
    assert_eq!(on_server["list"], before["list"]);

    let back = move_to(&machine, "sqlite");
    assert_eq!(back["moved"], true, "{back}");
    let kept = PathBuf::from(back["set_aside"].as_str().unwrap());
    assert!(kept.exists(), "{back}");
    assert!(
        kept.file_name()
            .unwrap()
            .to_str()
            .unwrap()
            .starts_with("kanban.db.moved-2")
    );
    assert_eq!(everything(&machine), on_server);
    let sequences = "SELECT seq FROM sqlite_sequence ORDER BY name";
    assert_ne!(
        sqlite(&file_of(&machine), sequences).unwrap(),
        last,
        "events went on"
    );
    assert_eq!(sqlite(&kept, sequences).unwrap(), last);
    // And once more: what the first move left on the server makes room.
    let again = move_to(&machine, &database.url());
    let aside = again["set_aside"].as_str().unwrap();
    assert!(aside.starts_with("hermes_default_moved-2"), "{again}");
    assert_eq!(everything(&machine), on_server);
    let here = machine.json(&["move-board", "--to", &database.url()]);
    assert_eq!(here["moved"], false);
    machine
        .kanban(&["move-board", "--to", &database.url()])
        .succeeds()
        .prints_part("is already at");
}

#[test]
fn files_come_along_when_a_board_moves() {
    let database = Postgres::shared().database();
    let here = machine_with_files(&database);
    let id = here.create("files", &[]);
    let content = "kept\n".repeat(100_000);
    let file = here.home.put_outside("kept.txt", &content, 0o600);
    let attach = |machine: &Machine, path: &std::path::Path| {
        let path = path.display().to_string();
        machine.kanban(&["attach", &id, &path]).succeeds();
    };
    attach(&here, &file);
    let gone = here.home.put_outside("gone.txt", "gone", 0o600);
    attach(&here, &gone);
    let stored = |machine: &Machine, number: usize| {
        // One of them is gone, which the exit code says.
        let listed = machine.kanban(&["attachments", &id, "--json"]).json();
        let path = listed[number]["stored_path"].as_str().unwrap();
        PathBuf::from(path)
    };
    std::fs::remove_file(stored(&here, 1)).unwrap();
    let moved = move_to(&here, &database.url());
    let left = moved["left_out"].as_array().unwrap();
    assert_eq!(left.len(), 1, "{moved}");
    let left = left[0].as_str().unwrap();
    assert!(left.starts_with("the file of attachment 2 of t_"), "{left}");

    let there = Machine::new(&database);
    assert_eq!(std::fs::read_to_string(stored(&there, 0)).unwrap(), content);
    let late = there.home.put_outside("late.txt", "from afar", 0o600);
    attach(&there, &late);
    let back = move_to(&here, "sqlite");
    assert_eq!(back["moved"], true, "{back}");
    assert_eq!(back["left_out"].as_array().unwrap().len(), 1, "{back}");
    assert_eq!(
        std::fs::read_to_string(stored(&here, 2)).unwrap(),
        "from afar"
    );
    // As programs that know only files read it.
    let paths = sqlite(&file_of(&here), "SELECT stored_path FROM task_attachments").unwrap();
    let root = here.home.path("kanban");
    assert_eq!(paths.matches(root.to_str().unwrap()).count(), 3, "{paths}");
}

#[test]
fn what_is_left_behind_refuses_changes_and_names_the_new_place() {
    let database = Postgres::shared().database();
    let (machine, other) = (machine_with_files(&database), Machine::new(&database));
    let id = machine.create("card", &[]);
    let mut watching = machine
        .home
        .hermes(["kanban", "watch", "--interval", "0.1"])
        .start();
    watching.next_line();
    move_to(&machine, &database.url());
    // A program that has had the file open since before.
    assert_eq!(watching.wait().code(), Some(1));
    let said = watching.errors().join("\n");
    assert!(
        said.contains("this board has moved to postgres://"),
        "{said}"
    );
    let refused = sqlite(&file_of(&machine), "UPDATE tasks SET title = 'lost'").unwrap_err();
    assert!(
        refused.contains("this board has moved to postgres://"),
        "{refused}"
    );
    let pinned = machine.home.hermes(["kanban", "comment", &id, "x"]);
    let pinned = pinned.env("HERMES_KANBAN_DB", file_of(&machine)).run();
    pinned
        .exits(1)
        .says_part("this board has moved to postgres://");
    assert_eq!(other.status(&id), "ready");
    // The other machine has the server in its settings and is told where the board went.
    move_to(&machine, "sqlite");
    other
        .kanban(&["show", &id])
        .exits(1)
        .says_part("this board has moved to ")
        .says_part("kanban.db on ");
    other.kanban(&["create", "x"]).exits(1);
    machine.kanban(&["comment", &id, "back again"]).succeeds();
    assert_eq!(machine.status(&id), "ready");
}

#[test]
fn a_target_that_is_taken_and_an_address_that_is_wrong_change_nothing() {
    let database = Postgres::shared().database();
    let machine = machine_with_files(&database);
    let other = Machine::new(&database);
    other.create("theirs", &[]);
    let id = machine.create("ours", &[]);
    let url = database.url();
    let wrong_database = url.replace(&database.name, "no_such_database");
    let wrong_port = url.replace(&database.port().to_string(), "1");
    for (to, code, part) in [
        (url.as_str(), 1, "already a board with 1 card(s)"),
        (
            "mysql://x/y",
            2,
            "address of the board's database is invalid",
        ),
        ("postgres://a:secret-word@h/d", 2, "contains a password"),
        (&wrong_database, 3, "no database 'no_such_database'"),
        (&wrong_port, 3, "no connection to the board's database"),
    ] {
        let refused = machine.kanban(&["move-board", "--to", to]);
        refused.exits(code).says_part(part);
        assert!(!refused.stderr.contains("secret-word"), "{refused}");
        assert!(
            !machine.home.has("kanban/boards/default/board.json"),
            "{to}"
        );
        machine.kanban(&["comment", &id, "still here"]).succeeds();
    }
    let wrong = machine.home.hermes(["kanban", "move-board", "--to", &url]);
    wrong
        .env("PGPASSWORD", "wrong")
        .run()
        .exits(3)
        .says_part("does not accept the password");
    // A schema of another program.
    let foreign = Postgres::shared().database();
    foreign.sql("CREATE SCHEMA hermes_default; CREATE TABLE hermes_default.tasks (x int)");
    machine
        .kanban(&["move-board", "--to", &foreign.url()])
        .exits(3)
        .says_part("belongs to another program");
    assert_eq!(other.json(&["list"]).as_array().unwrap().len(), 1);
    // An unrelated board in the file that the other machine would move to.
    other
        .home
        .put("kanban.db", std::fs::read(file_of(&machine)).unwrap());
    other
        .kanban(&["move-board", "--to", "sqlite"])
        .exits(1)
        .says_part("already a board with 1 card(s)");
    let agent = machine.home.hermes(["kanban", "move-board", "--to", &url]);
    agent
        .env("HERMES_AGENT_SHELL", "1")
        .run()
        .exits(1)
        .says_part("an agent cannot move boards");
}

#[test]
fn a_board_does_not_move_while_somebody_works_on_it() {
    let database = Postgres::shared().database();
    let machine = machine_with_files(&database);
    let id = machine.create("work", &["--assignee", "coder"]);
    machine.kanban(&["claim", &id]).succeeds();
    machine
        .kanban(&["move-board", "--to", &database.url()])
        .exits(1)
        .says_part("the board is in use")
        .says_part(&id);
    let call = machine
        .home
        .hermes(["kanban", "move-board", "--wait", "--to"]);
    let mut waiting = call.arg(database.url()).start();
    machine.kanban(&["complete", &id]).succeeds();
    let line = waiting.next_line().unwrap_or_default();
    assert!(line.contains("moved to postgres://"), "{line}");
    assert!(waiting.wait().success());
    assert_eq!(machine.status(&id), "done");
}

#[test]
fn values_that_a_server_does_not_take_are_named_before_anything_changes() {
    let database = Postgres::shared().database();
    let machine = machine_with_files(&database);
    let id = machine.create("card", &[]);
    let sql = format!(
        "UPDATE tasks SET body = CAST(x'610062' AS TEXT), priority = 'high' WHERE id = '{id}';;\
         UPDATE task_events SET payload = CAST(x'ff' AS TEXT) WHERE id = 1"
    );
    sqlite(&file_of(&machine), &sql).unwrap();
    for flags in [["--dry-run"].as_slice(), &[]] {
        let url = database.url();
        let args = [&["move-board", "--to", &url], flags].concat();
        machine
            .kanban(&args)
            .exits(1)
            .says_part(&format!(
                "tasks.body of row {id} contains the character NUL"
            ))
            .says_part(&format!(
                "tasks.priority of row {id} is a text and not a number"
            ))
            .says_part("task_events.payload of row 1 is not UTF-8");
    }
    let schemas = "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'hermes%'";
    assert_eq!(database.sql(schemas), "0");
    machine.kanban(&["comment", &id, "still here"]).succeeds();
}

#[test]
fn a_board_of_the_reference_moves() {
    let database = Postgres::shared().database();
    let machine = machine_with_files(&database);
    let fixtures =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../hermes-board/tests/fixtures");
    let script = std::fs::read_to_string(fixtures.join("reference-0.15.sql")).unwrap();
    let made = Command::new("python3")
        .args([
            "-c",
            "import sqlite3, sys; sqlite3.connect(sys.argv[1]).executescript(sys.argv[2])",
        ])
        .arg(file_of(&machine))
        .arg(script)
        .status();
    assert!(made.unwrap().success());
    let running = machine.json(&["list", "--status", "running"]);
    for card in running.as_array().unwrap() {
        machine
            .kanban(&["reclaim", card["id"].as_str().unwrap()])
            .succeeds();
    }
    let before = everything(&machine);
    assert!(!before["list"].as_array().unwrap().is_empty());
    move_to(&machine, &database.url());
    assert_eq!(everything(&machine), before);
    move_to(&machine, "sqlite");
    assert_eq!(everything(&machine), before);
}

#[test]
fn a_gateway_follows_a_board_that_moves() {
    let database = Postgres::shared().database();
    let machine = machine_with_files(&database);
    machine.kanban(&["init"]).succeeds();
    let _gateway = machine.gateway();
    for to in [None, Some(database.url()), Some("sqlite".to_owned())] {
        if let Some(to) = &to {
            move_to(&machine, to);
        }
        let id = machine.create("work", &["--assignee", "coder"]);
        machine.wait_for(&id, "done");
        // The worker has ended as well, not only its card.
        eventually("the worker is gone", || {
            machine
                .kanban(&["move-board", "--dry-run", "--to", "sqlite"])
                .code
                == Some(0)
        });
    }
}

/// Ends the others also if a test fails.
struct RaiseAtEnd<'f>(&'f AtomicBool);

impl Drop for RaiseAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn whoever_writes_while_a_board_moves_loses_nothing() {
    let database = Postgres::shared().database();
    let machine = machine_with_files(&database);
    let id = machine.create("busy", &[]);
    let stop = AtomicBool::new(false);
    let kept = std::thread::scope(|scope| {
        let ending = RaiseAtEnd(&stop);
        let writer = |name: &'static str| {
            let (machine, id, stop) = (&machine, &id, &stop);
            move || {
                let mut kept = Vec::new();
                let mut number = 0;
                while !stop.load(Ordering::Relaxed) {
                    number += 1;
                    let text = format!("{name}-{number}");
                    let done = machine.kanban(&["comment", id, &text]);
                    match done.code {
                        Some(0) => kept.push(text),
                        _ => {
                            done.exits(1).says_part("has moved to");
                        }
                    }
                }
                kept
            }
        };
        let writers = [scope.spawn(writer("a")), scope.spawn(writer("b"))];
        for _ in 0..3 {
            move_to(&machine, &database.url());
            move_to(&machine, "sqlite");
        }
        drop(ending);
        let kept: Vec<String> = writers
            .into_iter()
            .flat_map(|one| one.join().unwrap())
            .collect();
        kept
    });
    let shown = machine.json(&["show", &id]);
    let bodies = shown["comments"].as_array().unwrap().iter();
    let mut bodies: Vec<&str> = bodies.map(|one| one["body"].as_str().unwrap()).collect();
    let mut kept: Vec<&str> = kept.iter().map(String::as_str).collect();
    bodies.sort_unstable();
    kept.sort_unstable();
    assert_eq!(bodies, kept);
    assert!(kept.len() > 5, "{kept:?}");
}

/// A move that is killed at each of its writes: the board is whole, in one place, and the next try
/// succeeds.
fn killed_at_every_write(database: &PgDatabase, prepare: impl Fn() -> Machine, to: &str) {
    for point in 1..100 {
        let machine = prepare();
        let before = everything(&machine);
        let call = machine.home.hermes(["kanban", "move-board", "--to", to]);
        let killed = call.kill_at_write(point).run();
        assert_eq!(everything(&machine), before, "{point}");
        let note = format!("after {point}");
        machine.create(&note, &[]);
        let grown = everything(&machine);
        if !killed.was_killed() {
            killed.succeeds();
            assert!(point > 4, "a move has hardly any writes");
            return;
        }
        machine.kanban(&["move-board", "--to", to]).succeeds();
        assert_eq!(everything(&machine), grown, "{point}");
        machine.create("and on", &[]);
        database.sql("DROP SCHEMA IF EXISTS hermes_default CASCADE");
    }
    panic!("it does not come to an end");
}

#[test]
fn a_move_to_a_server_that_is_killed_leaves_the_board_whole() {
    let database = Postgres::shared().database();
    let prepared = machine_with_files(&database);
    prepared.create("one", &[]);
    let prepare = || Machine {
        home: prepared.home.copied(),
    };
    killed_at_every_write(&database, prepare, &database.url());
}

#[test]
fn a_move_into_a_file_that_is_killed_leaves_the_board_whole() {
    let database = Postgres::shared().database();
    let prepare = || {
        let machine = machine_with_files(&database);
        machine.create("one", &[]);
        move_to(&machine, &database.url());
        machine.create("two", &[]);
        machine
    };
    killed_at_every_write(&database, prepare, "sqlite");
}
