//! `api_turns.db`: the turns on their way, the runs with their events, and the answers to requests that
//! may be sent again. What is here survives the end of the process, however sudden: the next start
//! knows what was cut off.

mod answers;
mod live;
mod runs;
mod turns;

pub(crate) use answers::{KeptAnswer, Recalled};
pub(crate) use live::LiveTurn;
pub(crate) use runs::{MOST_EVENTS, StoredRun};
pub(crate) use turns::{Interrupted, RUNS, TurnEntry, TurnMessages};

use std::path::Path;

use crate::database::HomeDatabase;
use crate::http::ApiError;

const TABLES: &str = "CREATE TABLE IF NOT EXISTS turns (
         id TEXT PRIMARY KEY,
         endpoint TEXT NOT NULL,
         state TEXT NOT NULL CHECK (state IN ('accepted', 'running', 'interrupted', 'over')),
         session_id TEXT NOT NULL,
         after_message INTEGER,
         until_message INTEGER,
         request TEXT NOT NULL,
         calls TEXT NOT NULL DEFAULT '[]',
         restarts INTEGER NOT NULL DEFAULT 0,
         status TEXT,
         created_at REAL NOT NULL,
         updated_at REAL NOT NULL
     ) STRICT;
     CREATE INDEX IF NOT EXISTS unfinished_turns ON turns (state) WHERE state <> 'over';
     CREATE TABLE IF NOT EXISTS run_events (
         run_id TEXT NOT NULL,
         number INTEGER NOT NULL,
         event TEXT NOT NULL,
         PRIMARY KEY (run_id, number)
     ) STRICT, WITHOUT ROWID;
     CREATE TABLE IF NOT EXISTS answers (
         key TEXT PRIMARY KEY,
         fingerprint BLOB NOT NULL,
         turn_id TEXT NOT NULL,
         status INTEGER,
         headers TEXT,
         body BLOB,
         created_at REAL NOT NULL
     ) STRICT;";

/// The turns of a profile's server, on disk.
#[derive(Debug)]
pub(crate) struct TurnLedger {
    database: HomeDatabase,
}

impl TurnLedger {
    /// Touches nothing.
    pub(crate) fn new() -> Self {
        Self::in_file("api_turns.db")
    }

    /// The record of another surface. Touches nothing.
    pub(crate) fn in_file(file: &'static str) -> Self {
        Self {
            database: HomeDatabase::new(file, TABLES),
        }
    }

    /// Whether there may be anything from before.
    pub(crate) fn exists(&self, home: &Path) -> bool {
        self.database.exists(home)
    }

    /// Whether the file is in use.
    pub(crate) fn is_open(&self) -> bool {
        self.database.is_open()
    }

    /// Frees what an open file takes. For a start after which nothing is left to do.
    pub(crate) fn close(&self) {
        self.database.close();
    }

    /// Forgets finished runs and answers that are too old, if the file is in use.
    pub(crate) fn sweep(&self, home: &Path) {
        let swept = self
            .forget_runs(home)
            .and_then(|()| self.forget_answers(home))
            .and_then(|()| self.forget_excess(home, runs::MOST_BYTES));
        if let Err(error) = swept {
            tracing::warn!(reason = error.message(), "old turns were not forgotten");
        }
    }
}

fn unavailable(error: hermes_store::Error) -> ApiError {
    tracing::warn!(%error, "the record of turns cannot be used");
    ApiError::unavailable(error.to_string()).code("turn_store_unavailable")
}

#[cfg(test)]
#[path = "ledger_tests.rs"]
mod tests;
