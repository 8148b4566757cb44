//! The tools of agents as the program offers them: the board in the hands of workers, toolsets,
//! and workers that do real work from filing a card to the next one.
//!
//! `// check N` names the acceptance check of the chapter on the board that a test shows.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "tests look at files and databases directly"
)]

mod board_tools;
mod docker_workers;
mod end_to_end;
mod ending;
mod killed_workers;
mod reviewed_workers;
mod sandboxed_workers;
mod swarm;
mod toolsets;
mod worker_setup;

use hermes_board::boards::{Board, BoardSlug};
use hermes_board::model::TaskId;
use hermes_board::store::{BoardStore, ClaimCaps, ClaimFrom, ClaimOutcome, ClaimRequest};
use hermes_board::{BoardOptions, StoredBoard};
use hermes_testkit::{ProgramCall, ProgramOutput, TestHome};
use serde_json::Value;

/// A user's home with a board.
struct Desk {
    home: TestHome,
}

impl Desk {
    fn new() -> Self {
        Self {
            home: TestHome::new(env!("CARGO_BIN_EXE_hermes")),
        }
    }

    /// What `hermes kanban … --json` prints.
    #[track_caller]
    fn kanban(&self, args: &[&str]) -> Value {
        let run = self.home.hermes(["kanban"]).args(args).arg("--json");
        run.run().succeeds().json()
    }

    /// Files a card and gives its name.
    #[track_caller]
    fn create(&self, title: &str, flags: &[&str]) -> String {
        let args: Vec<&str> = ["create", title].iter().chain(flags).copied().collect();
        self.kanban(&args)["id"].as_str().unwrap().to_owned()
    }

    #[track_caller]
    fn status(&self, id: &str) -> String {
        let card = self.kanban(&["show", id]);
        card["task"]["status"].as_str().unwrap().to_owned()
    }

    /// The default board, opened by this process.
    fn store(&self) -> StoredBoard {
        let board = Board::below(&self.home.root(), &BoardSlug::default_board());
        StoredBoard::open(&board, &BoardOptions::default()).unwrap()
    }

    /// Puts a card into the hands of a worker; gives the attempt.
    fn claimed(&self, id: &str) -> i64 {
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

    fn call(&self, tool: &str, args: &Value) -> ProgramCall {
        let args = args.to_string();
        self.home.hermes(["tools", "call", tool, &args])
    }

    /// A call of a tool by the worker of a card.
    fn worker(&self, id: &str, run: i64, tool: &str, args: Value) -> ProgramOutput {
        self.call(tool, &args)
            .env("HERMES_KANBAN_TASK", id)
            .env("HERMES_KANBAN_RUN_ID", run.to_string())
            .env("HERMES_KANBAN_CLAIM_LOCK", "elsewhere:1")
            .env("HERMES_PROFILE", "coder")
            .run()
    }
}
