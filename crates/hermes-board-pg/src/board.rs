//! A board on a server, open. Its connection is made anew when the server went away in between.

use std::cell::RefCell;
use std::time::Duration;

use crate::board_address::{BoardAddress, Durability};
use crate::connection::Connection;
use crate::error::{Error, Result};
use crate::pool;
use crate::retrying::Retrying;

/// An open board.
#[derive(Debug)]
pub struct ServerBoard {
    place: BoardAddress,
    busy_timeout: Duration,
    retrying: Retrying,
    connection: RefCell<Option<Connection>>,
}

impl Drop for ServerBoard {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            pool::give_back(&self.place, connection, self.busy_timeout);
        }
    }
}

impl ServerBoard {
    /// Opens a board, creating its schema if need be. Waits no longer than `busy_timeout` for others
    /// that write, and no longer than `retrying` says for a server that cannot be reached.
    pub fn open(place: &BoardAddress, busy_timeout: Duration, retrying: &Retrying) -> Result<Self> {
        let (connection, has_waited) = retrying.retry(|| pool::take(place, busy_timeout))?;
        let board = Self {
            place: place.clone(),
            busy_timeout,
            retrying: retrying.clone(),
            connection: RefCell::new(Some(connection)),
        };
        if has_waited {
            board.version()?;
        }
        Ok(board)
    }

    /// The time of the server, in seconds since 1970.
    pub fn now(&self) -> i64 {
        let connection = self.connection.borrow();
        connection.as_ref().map_or(0, Connection::now)
    }

    /// A number that changes with every change of the board.
    pub fn version(&self) -> Result<i64> {
        self.begun(Connection::version).map(|(_, version)| version)
    }

    /// Waits until no other dispatcher of any machine looks at the board, and keeps the others waiting
    /// until [`Self::end_turn`] or the end of the connection.
    pub fn begin_turn(&self) -> Result<()> {
        self.begun(Connection::begin_turn).map(drop)
    }

    /// Lets the next dispatcher look.
    pub fn end_turn(&self) {
        let connection = self.connection.borrow();
        if let Some(connection) = connection.as_ref() {
            connection.end_turn();
        }
    }

    /// Runs `work` in a transaction of its own that others wait for.
    pub fn write<T, E: From<Error>>(
        &self,
        durability: Durability,
        work: impl FnOnce(&Connection) -> std::result::Result<T, E>,
    ) -> std::result::Result<T, E> {
        self.inside(
            |one| one.begin_write(durability),
            |one| work(one).inspect(|_| hermes_fs::fault::point()),
        )
        .inspect(|_| hermes_fs::fault::point())
    }

    /// Runs `work` in a transaction that waits for nobody and that nobody waits for. For what is no part
    /// of the cards: contents of files, ends of logs, heartbeats of hosts. It does not change the number of the last change.
    pub fn write_aside<T, E: From<Error>>(
        &self,
        durability: Durability,
        work: impl FnOnce(&Connection) -> std::result::Result<T, E>,
    ) -> std::result::Result<T, E> {
        self.inside(|one| one.begin_aside(durability), work)
    }

    /// Runs `work` on one state of the board.
    pub fn read<T, E: From<Error>>(
        &self,
        work: impl FnOnce(&Connection) -> std::result::Result<T, E>,
    ) -> std::result::Result<T, E> {
        self.inside(Connection::begin_read, work)
    }

    /// Runs `work`, a query of one statement.
    pub fn look<T, E: From<Error>>(
        &self,
        work: impl FnOnce(&Connection) -> std::result::Result<T, E>,
    ) -> std::result::Result<T, E> {
        let (connection, ()) = self.begun(|_| Ok(()))?;
        work(&connection)
    }

    fn inside<T, E: From<Error>>(
        &self,
        begin: impl Fn(&Connection) -> Result<()>,
        work: impl FnOnce(&Connection) -> std::result::Result<T, E>,
    ) -> std::result::Result<T, E> {
        let (connection, ()) = self.begun(begin)?;
        let done = work(&connection);
        match done {
            Ok(value) => {
                connection.commit()?;
                Ok(value)
            }
            Err(error) => {
                connection.rollback();
                Err(error)
            }
        }
    }

    /// The connection, on which `first` has been done: once more on a new one if the server went away
    /// since the last time.
    fn begun<T>(
        &self,
        first: impl Fn(&Connection) -> Result<T>,
    ) -> Result<(std::cell::Ref<'_, Connection>, T)> {
        self.retrying.retry(|| self.begun_now(&first))
    }

    fn begun_now<T>(
        &self,
        first: &impl Fn(&Connection) -> Result<T>,
    ) -> Result<(std::cell::Ref<'_, Connection>, T)> {
        let mut is_fresh = false;
        loop {
            if self
                .connection
                .borrow()
                .as_ref()
                .is_none_or(|one| !one.is_reusable())
            {
                is_fresh = true;
                *self.connection.borrow_mut() = None;
                let made = Connection::open(&self.place, self.busy_timeout)?;
                *self.connection.borrow_mut() = Some(made);
            }
            let Ok(connection) =
                std::cell::Ref::filter_map(self.connection.borrow(), Option::as_ref)
            else {
                continue;
            };
            match first(&connection) {
                Ok(value) => return Ok((connection, value)),
                Err(error) if error.is_lost() && !is_fresh => {
                    drop(connection);
                    *self.connection.borrow_mut() = None;
                }
                Err(error) => return Err(error),
            }
        }
    }
}
