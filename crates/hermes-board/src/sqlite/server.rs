//! Statements on a server.

use hermes_board_pg::{self as pg, Connection, ServerBoard};

use crate::boards::BoardServer;
use crate::sqlite::open::BoardOptions;
use crate::sqlite::statements::{Cell, More, Param, Row, Statements, TakeRow};
use crate::{Error, Result};

/// Opens the board, creating its schema if need be.
pub(super) fn open(server: &BoardServer, options: &BoardOptions) -> pg::Result<ServerBoard> {
    ServerBoard::open(server.place()?, options.busy_timeout, &options.retrying)
}

/// A connection inside a transaction.
pub(super) struct ServerStatements<'c>(pub(super) &'c Connection);

struct ServerRow<'r>(&'r pg::Row<'r>);

impl Row for ServerRow<'_> {
    fn cell(&self, column: usize) -> Result<Cell<'_>> {
        Ok(match self.0.cell(column) {
            pg::Cell::Null => Cell::Null,
            pg::Cell::Int(number) => Cell::Int(number),
            pg::Cell::Real(number) => Cell::Real(number),
            pg::Cell::Text(bytes) => Cell::Text(bytes),
            pg::Cell::Bytes(bytes) => Cell::Bytes(bytes),
        })
    }
}

fn bound<'p>(params: &[Param<'p>]) -> Vec<pg::Param<'p>> {
    let bound = params.iter().map(|param| match *param {
        Param::Null => pg::Param::Null,
        Param::Int(number) => pg::Param::Int(number),
        Param::Text(text) => pg::Param::Text(text),
        Param::Bytes(bytes) => pg::Param::Bytes(bytes),
    });
    bound.collect()
}

impl Statements for ServerStatements<'_> {
    fn execute(&self, sql: &str, params: &[Param<'_>]) -> Result<usize> {
        let changed = self.0.execute(sql, &bound(params))?;
        Ok(usize::try_from(changed).unwrap_or(usize::MAX))
    }

    fn insert(&self, sql: &str, params: &[Param<'_>]) -> Result<i64> {
        Ok(self.0.insert(sql, &bound(params))?)
    }

    fn query(&self, sql: &str, params: &[Param<'_>], take: &mut TakeRow<'_>) -> Result<()> {
        self.0.query(sql, &bound(params), |row| {
            Ok::<_, Error>(take(&ServerRow(row))? == More::Yes)
        })
    }
}
