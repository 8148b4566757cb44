//! Boards in SQL: in a file of SQLite, on the reference's own schema, or on a server of PostgreSQL.
//!
//! The operations and their statements are the same; [`statements::Statements`] is what they run on.
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
mod content_files;
mod contents;
mod context;
mod create;
mod denials;
mod events;
mod failure;
mod fence;
mod fragments;
mod garbage;
mod hosts;
mod links;
mod lists;
mod logs;
mod moves;
mod moving;
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
mod server;
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
mod works;

pub use archive::ResultEdit;
pub(crate) use content_files::{fetch, read_pieces, send, shared_root, transfer_settings};
pub(crate) use contents::{Content, ContentKind};
pub(crate) use context::{ContextFacts, ParentResult};
pub use events::{BoardEvent, EventQuery};
pub use hosts::{HostEntry, HostUse};
pub use lists::{CardDetail, ListQuery, RunFilter, SortOrder};
pub use logs::{LogPart, LogState};
pub use moving::{MoveFiles, MoveReport, MoveRequest, MoveStep, Progress, TableReport};
pub use notify::{ChatAddress, NewSubscription};
pub use open::{BoardOptions, CheckDepth};
pub use overview::BoardOverview;
pub use review::NewReviewComment;
pub use stats::{BoardStats, Counts};
pub(crate) use suspects::{History, PastEvent, Suspicion};
pub use swarm::{NewSwarm, Swarm, SwarmRole, SwarmWorker};
pub use triage::{Decomposition, PlannedChild, Specification};
pub use undecided::Undecided;
pub use unseen::Unseen;
pub(crate) use workers::RecordedWorker;
pub(crate) use works::{HandedOver, Unhanded};

use hermes_board_pg::{Durability, ServerBoard};
use hermes_store::{Commit, Database};

use crate::boards::Board;
use crate::{Result, WorkerVariables};

use connection::SqliteStatements;
use fence::Fence;
use open::{DamageWatch, failed_on};
use server::ServerStatements;
use statements::Statements;
use transaction::Transaction;

/// A connection to one board, in a file or on a server.
#[derive(Debug)]
pub struct StoredBoard {
    engine: Engine,
    board: Board,
    options: BoardOptions,
    fence: Option<Fence>,
}

/// What the statements of a board run on.
#[derive(Debug)]
enum Engine {
    File(File),
    Server(Box<ServerBoard>),
}

/// A database in a file.
#[derive(Debug)]
struct File {
    database: Database,
    /// Below the connection: acts after it is closed.
    damage: DamageWatch,
}

impl StoredBoard {
    /// Opens a board, creating or migrating its database if need be.
    pub fn open(board: &Board, options: &BoardOptions) -> Result<Self> {
        let engine = match &board.server {
            Some(server) => Engine::Server(Box::new(match server::open(server, options) {
                Err(hermes_board_pg::Error::MovedAway { note, .. }) => {
                    moving::settle_server(&note, board, server)?;
                    server::open(server, options)?
                }
                opened => opened?,
            })),
            None => {
                let mut file = open::open(board, options)?;
                moving::settle_file(&mut file, board)?;
                Engine::File(file)
            }
        };
        Ok(Self::with_engine(engine, board, options))
    }

    /// As [`Self::open`], whatever is noted about a move.
    fn open_as_is(board: &Board, options: &BoardOptions) -> Result<Self> {
        let engine = match &board.server {
            Some(server) => Engine::Server(Box::new(server::open(server, options)?)),
            None => Engine::File(open::open(board, options)?),
        };
        Ok(Self::with_engine(engine, board, options))
    }

    fn with_engine(engine: Engine, board: &Board, options: &BoardOptions) -> Self {
        Self {
            engine,
            board: board.clone(),
            options: options.clone(),
            fence: None,
        }
    }

    /// Lets this connection write only as long as an attempt is not over: it belongs to its worker. A
    /// worker that has finished its card itself may still comment on what it did.
    pub fn fence(&mut self, worker: Option<&WorkerVariables>) {
        let attempt = worker.and_then(|worker| Some((worker.task.clone(), worker.run?)));
        self.fence = attempt.map(|(task, run)| Fence { task, run });
    }

    /// The files of this board.
    pub fn board(&self) -> &Board {
        &self.board
    }

    /// A number that changes when another connection has written.
    pub fn data_version(&self) -> Result<i64> {
        match &self.engine {
            Engine::File(file) => file
                .database
                .connection()
                .pragma_query_value(None, "data_version", |row| row.get(0))
                .map_err(failed_on(&self.board.database, "read")),
            Engine::Server(server) => Ok(server.version()?),
        }
    }

    /// Waits for the dispatchers of other machines: who counts what is in progress must be alone from the
    /// count to the claim. On a file the lock of a tick does that.
    pub(crate) fn begin_turn(&self) -> Result<()> {
        match &self.engine {
            Engine::File(_) => Ok(()),
            Engine::Server(server) => Ok(server.begin_turn()?),
        }
    }

    /// Lets the dispatchers of other machines look.
    pub(crate) fn end_turn(&self) {
        if let Engine::Server(server) = &self.engine {
            server.end_turn();
        }
    }

    /// The time of this board: that of the server, where there is one.
    fn clock(&self) -> i64 {
        match &self.engine {
            Engine::File(_) => self.options.clock.now(),
            Engine::Server(server) => server_time(server, &self.options),
        }
    }

    /// Runs `work` in one write transaction, unless the worker that this connection belongs to has lost
    /// its card.
    fn write<T>(&mut self, work: impl FnOnce(&Transaction<'_>) -> Result<T>) -> Result<T> {
        let fence = self.fence.clone();
        self.write_as(Commit::Forced, |tx| {
            if let Some(fence) = &fence {
                tx.must_stand(fence)?;
            }
            work(tx)
        })
    }

    /// Runs `work`, which makes sure itself that the attempt is the current one.
    fn write_own<T>(&mut self, work: impl FnOnce(&Transaction<'_>) -> Result<T>) -> Result<T> {
        self.write_as(Commit::Forced, work)
    }

    fn write_as<T>(
        &mut self,
        commit: Commit,
        work: impl FnOnce(&Transaction<'_>) -> Result<T>,
    ) -> Result<T> {
        let (path, options) = (&self.board.database, &self.options);
        match &mut self.engine {
            Engine::File(file) => {
                let result = file.database.write_as(commit, |connection| {
                    moving::refuse_moved(connection, path)?;
                    let statements = SqliteStatements { connection, path };
                    work(&Transaction::new(&statements, options.clock.now(), options))
                });
                file.damage.watch(result)
            }
            Engine::Server(server) => {
                let durability = match commit {
                    Commit::Forced => Durability::Forced,
                    Commit::Logged => Durability::Logged,
                };
                server.write(durability, |connection| {
                    let now = server_time(server, options);
                    work(&Transaction::new(
                        &ServerStatements(connection),
                        now,
                        options,
                    ))
                })
            }
        }
    }

    /// Runs a query of one statement, which needs no transaction to see one state of the board.
    fn look<T>(&self, query: impl FnOnce(&Transaction<'_>) -> Result<T>) -> Result<T> {
        match &self.engine {
            Engine::File(file) => {
                let statements = SqliteStatements {
                    connection: file.database.connection(),
                    path: &self.board.database,
                };
                moving::refuse_moved(statements.connection, statements.path)?;
                file.damage.watch(self.within(&statements, query))
            }
            Engine::Server(server) => {
                server.look(|connection| self.within(&ServerStatements(connection), query))
            }
        }
    }

    /// Runs `query` on one state of the board.
    fn read<T>(&self, query: impl FnOnce(&Transaction<'_>) -> Result<T>) -> Result<T> {
        match &self.engine {
            Engine::File(file) => {
                let path = &self.board.database;
                let result = file.database.read(|connection| {
                    moving::refuse_moved(connection, path)?;
                    self.within(&SqliteStatements { connection, path }, query)
                });
                file.damage.watch(result)
            }
            Engine::Server(server) => {
                server.read(|connection| self.within(&ServerStatements(connection), query))
            }
        }
    }

    fn within<T>(
        &self,
        statements: &dyn Statements,
        work: impl FnOnce(&Transaction<'_>) -> Result<T>,
    ) -> Result<T> {
        work(&Transaction::new(statements, self.clock(), &self.options))
    }
}

/// The time of a board on a server, unless the clock is one for tests.
fn server_time(server: &ServerBoard, options: &BoardOptions) -> i64 {
    if options.clock.is_of_machine() {
        server.now()
    } else {
        options.clock.now()
    }
}
