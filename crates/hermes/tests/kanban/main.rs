//! `hermes kanban` as people and workers meet it: the real binary, in a home of its own, several
//! processes where that matters.
//!
//! `// check N` names the acceptance check of the chapter on the board that a test shows.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests look at files and databases directly"
)]

mod acceptance_checks;
mod attaching;
mod blocking;
mod boards;
mod bulk;
mod claiming;
mod concurrency;
mod context;
mod creating;
mod crew;
mod daemon;
mod damage;
mod dependencies;
mod diffing;
mod dispatching;
mod editing;
mod failing;
mod following;
mod fresh;
mod gateway;
mod hostile_text;
mod hosts;
mod json_shapes;
mod landing;
mod lists;
mod live;
mod notify;
mod ownership;
mod preflight;
mod refusals;
mod reviewing;
mod storage;
mod triage;
mod why;
mod worker;
mod workspaces;

use hermes_board::StoredBoard;
use hermes_board::boards::{Board, BoardSlug};
use hermes_board::model::TaskId;
use hermes_board::store::BoardStore;
use hermes_store::rusqlite::Connection;
use hermes_testkit::{ProgramCall, ProgramOutput, TestHome};
use serde_json::Value;

/// A user's home, seen through the board.
struct Desk {
    home: TestHome,
}

impl Desk {
    /// A user who has never started the program.
    fn new() -> Self {
        Self {
            home: TestHome::new(env!("CARGO_BIN_EXE_hermes")),
        }
    }

    /// A call of `hermes kanban …` that has not started yet.
    fn call(&self, args: &[&str]) -> ProgramCall {
        self.home.hermes(["kanban"]).args(args)
    }

    /// Runs `hermes kanban …` to its end.
    fn kanban(&self, args: &[&str]) -> ProgramOutput {
        self.call(args).run()
    }

    /// What `hermes kanban … --json` prints.
    #[track_caller]
    fn json(&self, args: &[&str]) -> Value {
        self.call(args).arg("--json").run().succeeds().json()
    }

    /// Files a card and gives its name.
    #[track_caller]
    fn create(&self, title: &str, flags: &[&str]) -> String {
        let args: Vec<&str> = ["create", title].iter().chain(flags).copied().collect();
        text(&self.json(&args)["id"])
    }

    /// Where a card stands.
    #[track_caller]
    fn status(&self, id: &str) -> String {
        text(&self.json(&["show", id])["task"]["status"])
    }

    /// Kinds of the events of a card, in order.
    #[track_caller]
    fn events(&self, id: &str) -> Vec<String> {
        let events = &self.json(&["show", id])["events"];
        let events = events.as_array().unwrap();
        events.iter().map(|event| text(&event["kind"])).collect()
    }

    /// The particulars of the last event of a kind.
    #[track_caller]
    fn last_event(&self, id: &str, kind: &str) -> Value {
        let card = self.json(&["show", id]);
        let mut events = card["events"].as_array().unwrap().iter().rev();
        let found = events.find(|event| event["kind"] == kind);
        found.unwrap_or_else(|| panic!("no {kind} on {id}"))["payload"].clone()
    }

    /// The database of the default board, behind the back of the program.
    fn database(&self) -> Connection {
        Connection::open(self.home.path("kanban.db")).unwrap()
    }

    /// How many rows a query counts.
    fn count(&self, sql: &str) -> i64 {
        let database = self.database();
        database.query_row(sql, [], |row| row.get(0)).unwrap()
    }

    /// The default board, opened by this process.
    fn store(&self) -> StoredBoard {
        let board = Board::below(&self.home.root(), &BoardSlug::default_board());
        StoredBoard::open(&board, &hermes_board::BoardOptions::default()).unwrap()
    }

    /// Puts a card into the hands of a worker that does not exist; gives the attempt.
    fn claimed(&self, id: &str) -> i64 {
        use hermes_board::store::{ClaimCaps, ClaimFrom, ClaimOutcome, ClaimRequest};
        let outcome = self.store().claim(&ClaimRequest {
            task: TaskId::new(id),
            lock: "elsewhere:1".to_owned(),
            ttl_seconds: 900,
            from: ClaimFrom::Ready,
            dispatcher: None,
            host: None,
            caps: ClaimCaps::default(),
        });
        match outcome.unwrap() {
            ClaimOutcome::Claimed(claimed) => claimed.run.0,
            other => panic!("{id} could not be claimed: {other:?}"),
        }
    }
}

/// Checks that SQLite finds nothing wrong with a database.
#[track_caller]
fn assert_sound(database: &Connection) {
    let verdict: String = database
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .unwrap();
    assert_eq!(verdict, "ok");
}

#[track_caller]
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => panic!("no text: {other}"),
    }
}

/// Refused in one sentence of the board's: `code`, nothing on standard output, `kanban: MESSAGE` as
/// the first line of standard error, and at most hints behind it.
#[track_caller]
fn assert_refuses(outcome: &ProgramOutput, code: i32, message: &str) {
    outcome.exits(code).prints("");
    let mut lines = outcome.stderr.lines();
    let first = lines.next().unwrap_or_default();
    assert_eq!(first, format!("kanban: {message}"), "{outcome}");
    let rest: Vec<&str> = lines.filter(|line| !line.starts_with("hint: ")).collect();
    assert!(rest.is_empty(), "more than hints, {rest:?}: {outcome}");
}
