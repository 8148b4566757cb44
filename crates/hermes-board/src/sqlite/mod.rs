//! Boards in SQLite, on the reference's own schema.
//!
//! Each operation has a file of its name. Queries are over sets: how many of them run does not depend
//! on how many cards there are.

mod archive;
mod assign;
mod block;
mod cells;
mod checks;
mod claim;
mod comments;
mod complete;
mod connection;
mod context;
mod create;
mod denials;
mod events;
mod failure;
mod fragments;
mod garbage;
mod links;
mod lists;
mod moves;
mod notify;
mod open;
mod overview;
mod prioritize;
mod promote;
#[cfg(test)]
mod query_plans_tests;
mod reclaim;
mod review;
mod rows;
mod runs;
mod snapshot;
mod statements;
mod stats;
mod store;
mod suspects;
mod swarm;
mod transaction;
mod triage;
mod undecided;
mod unseen;
mod workers;

pub use archive::ResultEdit;
pub(crate) use context::{ContextFacts, ParentResult};
pub use events::{BoardEvent, EventQuery};
pub use lists::{CardDetail, ListQuery, RunFilter, SortOrder};
pub use notify::{ChatAddress, NewSubscription};
pub use open::{BoardOptions, CheckDepth};
pub use overview::BoardOverview;
pub use review::NewReviewComment;
pub use stats::{BoardStats, Counts};
pub use swarm::{NewSwarm, Swarm, SwarmRole, SwarmWorker};
pub use triage::{Decomposition, PlannedChild, Specification};
pub use undecided::Undecided;
pub use unseen::Unseen;
pub(crate) use workers::RecordedWorker;

use hermes_store::rusqlite::Connection;
use hermes_store::{Commit, Database};

use crate::Result;
use crate::boards::Board;

use connection::SqliteStatements;
use open::{DamageWatch, failed_on};
use transaction::Transaction;

/// A connection to one board.
#[derive(Debug)]
pub struct SqliteBoard {
    database: Database,
    /// Below the connection: acts after it is closed.
    damage: DamageWatch,
    board: Board,
    options: BoardOptions,
}

impl SqliteBoard {
    /// Opens a board, creating or migrating its database if need be.
    pub fn open(board: &Board, options: &BoardOptions) -> Result<Self> {
        open::open(board, options)
    }

    /// The files of this board.
    pub fn board(&self) -> &Board {
        &self.board
    }

    /// A number that changes when another connection has written.
    pub fn data_version(&self) -> Result<i64> {
        self.connection()
            .pragma_query_value(None, "data_version", |row| row.get(0))
            .map_err(failed_on(&self.board.database, "read"))
    }

    fn connection(&self) -> &Connection {
        self.database.connection()
    }

    /// Runs `work` in one write transaction.
    fn write<T>(&mut self, work: impl FnOnce(&Transaction<'_>) -> Result<T>) -> Result<T> {
        self.write_as(Commit::Forced, work)
    }

    fn write_as<T>(
        &mut self,
        commit: Commit,
        work: impl FnOnce(&Transaction<'_>) -> Result<T>,
    ) -> Result<T> {
        let (path, options) = (&self.board.database, &self.options);
        let result = self.database.write_as(commit, |connection| {
            let statements = SqliteStatements { connection, path };
            work(&Transaction::new(&statements, options.clock.now(), options))
        });
        self.damage.watch(result)
    }

    /// Runs a query of one statement, which needs no transaction to see one state of the board.
    fn look<T>(&self, query: impl FnOnce(&Transaction<'_>) -> Result<T>) -> Result<T> {
        self.damage.watch(self.within(self.connection(), query))
    }

    /// Runs `query` on one state of the board.
    fn read<T>(&self, query: impl FnOnce(&Transaction<'_>) -> Result<T>) -> Result<T> {
        let result = self
            .database
            .read(|connection| self.within(connection, query));
        self.damage.watch(result)
    }

    fn within<T>(
        &self,
        connection: &Connection,
        query: impl FnOnce(&Transaction<'_>) -> Result<T>,
    ) -> Result<T> {
        let statements = SqliteStatements {
            connection,
            path: &self.board.database,
        };
        let now = self.options.clock.now();
        query(&Transaction::new(&statements, now, &self.options))
    }
}
