//! Statements on SQLite.

use std::path::Path;

use hermes_store::rusqlite;
use hermes_store::rusqlite::types::{ToSqlOutput, Value, ValueRef};
use hermes_store::rusqlite::{Connection, ToSql, params_from_iter};

use crate::Result;
use crate::sqlite::open::failed_on;
use crate::sqlite::statements::{Cell, More, Param, Row, Statements, TakeRow};

/// A connection inside a transaction.
pub(super) struct SqliteStatements<'c> {
    pub(super) connection: &'c Connection,
    pub(super) path: &'c Path,
}

/// A row of SQLite, with the file it is from.
struct SqliteRow<'r> {
    row: &'r rusqlite::Row<'r>,
    path: &'r Path,
}

impl Row for SqliteRow<'_> {
    fn cell(&self, column: usize) -> Result<Cell<'_>> {
        let value = self
            .row
            .get_ref(column)
            .map_err(failed_on(self.path, "read"))?;
        Ok(match value {
            ValueRef::Null => Cell::Null,
            ValueRef::Integer(number) => Cell::Int(number),
            ValueRef::Real(number) => Cell::Real(number),
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Cell::Text(bytes),
        })
    }
}

impl ToSql for Param<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self {
            Self::Null => ToSqlOutput::Owned(Value::Null),
            Self::Int(number) => ToSqlOutput::Owned(Value::Integer(*number)),
            Self::Text(text) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
            Self::Bytes(bytes) => ToSqlOutput::Borrowed(ValueRef::Blob(bytes)),
        })
    }
}

impl Statements for SqliteStatements<'_> {
    fn execute(&self, sql: &str, params: &[Param<'_>]) -> Result<usize> {
        #[cfg(test)]
        super::query_plans_tests::note(sql);
        self.connection
            .prepare_cached(sql)
            .and_then(|mut statement| statement.execute(params_from_iter(params)))
            .map_err(failed_on(self.path, "write to"))
    }

    fn insert(&self, sql: &str, params: &[Param<'_>]) -> Result<i64> {
        self.execute(sql, params)?;
        Ok(self.connection.last_insert_rowid())
    }

    fn query(&self, sql: &str, params: &[Param<'_>], take: &mut TakeRow<'_>) -> Result<()> {
        #[cfg(test)]
        super::query_plans_tests::note(sql);
        let failed = || failed_on(self.path, "read");
        let mut statement = self.connection.prepare_cached(sql).map_err(failed())?;
        let mut rows = statement
            .query(params_from_iter(params))
            .map_err(failed())?;
        while let Some(row) = rows.next().map_err(failed())? {
            let row = SqliteRow {
                row,
                path: self.path,
            };
            if take(&row)? == More::No {
                break;
            }
        }
        Ok(())
    }
}
