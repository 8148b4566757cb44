//! A connection that is inside a transaction, or about to be.

use std::cell::{Cell as Flag, RefCell};
use std::collections::HashMap;
use std::time::{Duration, Instant};

use tokio_postgres::Statement;
use tokio_postgres::types::ToSql;

use crate::board_address::{BoardAddress, Durability};
use crate::dialect::translate;
use crate::error::{Error, Result};
use crate::raw::Raw;
use crate::schema;
use crate::values::{Param, Row};

/// How long a statement may take beyond the wait for other writers.
const STATEMENT: Duration = Duration::from_mins(1);
/// After this long without a statement the server ends a transaction: it holds the lock of the board.
const IDLE: Duration = Duration::from_secs(30);
/// Time for the answers about the state of a transaction.
const ANSWER: Duration = Duration::from_secs(30);

/// A connection to one board.
#[derive(Debug)]
pub struct Connection {
    pub(crate) raw: Raw,
    /// Statements that the server knows, by what they were written as.
    statements: RefCell<HashMap<String, Statement>>,
    is_inside: Flag<bool>,
    limit: Duration,
    /// The clock of the server, in milliseconds since 1970, and when it was read here.
    clock: Flag<(i64, Instant)>,
    schema: String,
}

impl Connection {
    /// Connects to a board, whose schema is made if need be.
    pub(crate) fn open(place: &BoardAddress, busy_timeout: Duration) -> Result<Self> {
        let (raw, _) = Raw::connect(&place.address, &place.passwords)?;
        schema::prepare(&raw, &place.address, &place.schema)?;
        let connection = Self {
            raw,
            statements: RefCell::default(),
            is_inside: Flag::new(false),
            limit: busy_timeout + STATEMENT,
            clock: Flag::new((0, Instant::now())),
            schema: place.schema.clone(),
        };
        connection.set_up(busy_timeout)?;
        Ok(connection)
    }

    /// Tells the server how long things may take, and reads its clock.
    pub(crate) fn set_up(&self, busy_timeout: Duration) -> Result<()> {
        let row = self.raw.simple(
            &format!(
                "SET lock_timeout = {}; SET statement_timeout = {};
                 SET idle_in_transaction_session_timeout = {};
                 SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 3;
                 SET tcp_keepalives_count = 3; SET tcp_user_timeout = 15000;
                 SELECT GREATEST(clock, (extract(epoch FROM clock_timestamp()) * 1000)::bigint)
                 FROM hermes_board",
                busy_timeout.as_millis().max(1),
                (busy_timeout + STATEMENT).as_millis(),
                IDLE.as_millis(),
            ),
            ANSWER,
        )?;
        self.note_clock(&row);
        Ok(())
    }

    fn note_clock(&self, row: &[Option<String>]) {
        let number = |column: usize| row.get(column)?.as_deref()?.parse().ok();
        if let Some(clock) = number(0) {
            self.clock.set((clock, Instant::now()));
        }
    }

    /// The time of the server, in seconds since 1970.
    pub(crate) fn now(&self) -> i64 {
        let (clock, at) = self.clock.get();
        let since = i64::try_from(at.elapsed().as_millis()).unwrap_or(0);
        clock.saturating_add(since) / 1000
    }

    /// Whether it can serve somebody else.
    pub(crate) fn is_reusable(&self) -> bool {
        !self.is_inside.get() && !self.raw.is_closed()
    }

    /// Begins a change: waits for those before it, and tells the time.
    pub(crate) fn begin_write(&self, durability: Durability) -> Result<()> {
        let relaxed = relaxed(durability);
        self.is_inside.set(true);
        let row = self.raw.simple(
            &format!(
                "BEGIN; {relaxed} UPDATE hermes_board SET version = version + 1, clock = \
                 GREATEST(clock, (extract(epoch FROM clock_timestamp()) * 1000)::bigint) \
                 WHERE format = {} RETURNING clock; NOTIFY \"{}\"",
                schema::known(),
                self.schema
            ),
            self.limit,
        );
        self.begun(row)
    }

    /// Begins a change of what is beside the cards; see [`ServerBoard::write_aside`](crate::ServerBoard).
    pub(crate) fn begin_aside(&self, durability: Durability) -> Result<()> {
        self.is_inside.set(true);
        let row = self.raw.simple(
            &format!(
                "BEGIN; {} SELECT GREATEST(clock, \
                 (extract(epoch FROM clock_timestamp()) * 1000)::bigint) \
                 FROM hermes_board WHERE format = {}",
                relaxed(durability),
                schema::known(),
            ),
            self.limit,
        );
        self.begun(row)
    }

    /// Notes the time that the beginning of a change answered with.
    fn begun(&self, row: Result<Vec<Option<String>>>) -> Result<()> {
        match row {
            // A newer program has changed the schema since this connection was made.
            Ok(row) if row.is_empty() => {
                self.rollback();
                Err(self.refuse_format())
            }
            Ok(row) => {
                self.note_clock(&row);
                Ok(())
            }
            Err(error) => {
                self.rollback();
                Err(error)
            }
        }
    }

    /// Begins a look at one state of the board.
    pub(crate) fn begin_read(&self) -> Result<()> {
        self.is_inside.set(true);
        let begun = self.raw.simple(
            "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SELECT format FROM hermes_board",
            self.limit,
        );
        let format = begun.map(|row| row.first().and_then(|text| text.as_deref()?.parse().ok()));
        match format {
            Ok(format) if format == Some(schema::known()) => Ok(()),
            // It has moved away, or a newer program has changed it, since this connection was made.
            Ok(_) => {
                self.rollback();
                Err(self.refuse_format())
            }
            Err(error) => {
                self.rollback();
                Err(error)
            }
        }
    }

    /// Ends a transaction, keeping its changes.
    pub(crate) fn commit(&self) -> Result<()> {
        self.raw.simple("COMMIT", self.limit)?;
        self.is_inside.set(false);
        Ok(())
    }

    /// Ends a transaction, undoing its changes. If that fails, the connection is not used again, and its
    /// end has the same effect.
    pub(crate) fn rollback(&self) {
        if !self.raw.is_closed() && self.raw.simple("ROLLBACK", ANSWER).is_ok() {
            self.is_inside.set(false);
        }
    }

    fn refuse_format(&self) -> Error {
        let looked = schema::format_of(&self.raw, &self.raw.address, &self.schema);
        looked.err().unwrap_or_else(|| Error::ForeignSchema {
            schema: self.schema.clone(),
            database: self.raw.address.database.clone(),
        })
    }

    pub(crate) fn begin_turn(&self) -> Result<()> {
        let waiting = format!("SELECT pg_advisory_lock({})", self.turn());
        self.raw.simple(&waiting, self.limit).map(drop)
    }

    /// Gives the turn to the next one. A connection that cannot do that is not used again, and its end
    /// has the same effect.
    pub(crate) fn end_turn(&self) {
        let giving = format!("SELECT pg_advisory_unlock({})", self.turn());
        if let Err(error) = self.raw.simple(&giving, ANSWER) {
            tracing::debug!(%error, "a dispatcher's turn ends with its connection");
            self.is_inside.set(true);
        }
    }

    /// What the lock of dispatchers is called.
    fn turn(&self) -> String {
        format!("hashtext('hermes-dispatcher'), hashtext('{}')", self.schema)
    }

    /// The number of the last change.
    pub(crate) fn version(&self) -> Result<i64> {
        let row = self.raw.simple(
            "SELECT version, GREATEST(clock, (extract(epoch FROM clock_timestamp()) * 1000)::bigint),
                 format FROM hermes_board",
            self.limit,
        )?;
        self.note_clock(row.get(1..).unwrap_or_default());
        let format = row.get(2).and_then(|text| text.as_deref()?.parse().ok());
        if format != Some(schema::known()) {
            return Err(self.refuse_format());
        }
        let version = row.first().and_then(|text| text.as_deref()?.parse().ok());
        Ok(version.unwrap_or(0))
    }

    /// Runs a statement; returns how many rows it changed.
    pub fn execute(&self, sql: &str, params: &[Param<'_>]) -> Result<u64> {
        let statement = self.statement(sql)?;
        let params: Vec<&(dyn ToSql + Sync)> = params.iter().map(|one| one as _).collect();
        let changing = self.raw.client.execute(&statement, &params);
        self.raw.wait(changing, self.limit)
    }

    /// Inserts one row and returns its `id`.
    pub fn insert(&self, sql: &str, params: &[Param<'_>]) -> Result<i64> {
        let mut id = 0;
        self.query(&format!("{sql} RETURNING id"), params, |row| {
            if let crate::Cell::Int(number) = row.cell(0) {
                id = number;
            }
            Ok::<_, crate::Error>(false)
        })?;
        Ok(id)
    }

    /// Passes on the rows of a result until `take` says that it wants no more.
    pub fn query<E: From<crate::Error>>(
        &self,
        sql: &str,
        params: &[Param<'_>],
        mut take: impl FnMut(&Row<'_>) -> std::result::Result<bool, E>,
    ) -> std::result::Result<(), E> {
        let statement = self.statement(sql)?;
        let params: Vec<&(dyn ToSql + Sync)> = params.iter().map(|one| one as _).collect();
        let asking = self.raw.client.query(&statement, &params);
        for row in &self.raw.wait(asking, self.limit)? {
            if !take(&Row(row))? {
                break;
            }
        }
        Ok(())
    }

    fn statement(&self, sql: &str) -> Result<Statement> {
        if let Some(known) = self.statements.borrow().get(sql) {
            return Ok(known.clone());
        }
        let translated = translate(sql);
        let prepared = self.raw.client.prepare(&translated);
        let statement = self.raw.wait(prepared, self.limit)?;
        let mut statements = self.statements.borrow_mut();
        statements.insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }
}

/// What makes a transaction wait for the disk of the server, or not.
fn relaxed(durability: Durability) -> &'static str {
    match durability {
        Durability::Forced => "",
        Durability::Logged => "SET LOCAL synchronous_commit TO off;",
    }
}
