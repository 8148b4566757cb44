//! One side of a move, inside a transaction: what is asked differently of a file and of a server.

use hermes_store::rusqlite::Connection;

use crate::Result;
use crate::schema::TABLES;
use crate::sqlite::connection::SqliteStatements;
use crate::sqlite::server::ServerStatements;
use crate::sqlite::statements::{More, Param, Row, Statements};

use super::notes::{self, Note};

/// Tables of a server that are not copied: what is about the place and not about the board, and the
/// contents of files, which are brought to this machine as files.
const OF_PLACE: [&str; 6] = [
    "hermes_board",
    "hermes_files",
    "hermes_file_chunks",
    "hermes_logs",
    "hermes_log_parts",
    "hermes_work",
];

pub(super) enum Side<'c> {
    File(SqliteStatements<'c>),
    Server(ServerStatements<'c>),
}

/// A column as one side has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SideColumn {
    pub(super) name: String,
    pub(super) is_integer: bool,
    pub(super) is_required: bool,
}

impl Side<'_> {
    pub(super) fn statements(&self) -> &dyn Statements {
        match self {
            Self::File(statements) => statements,
            Self::Server(statements) => statements,
        }
    }

    fn file(&self) -> Option<(&Connection, &std::path::Path)> {
        match self {
            Self::File(statements) => Some((statements.connection, statements.path)),
            Self::Server(_) => None,
        }
    }

    pub(super) fn each(
        &self,
        sql: &str,
        params: &[Param<'_>],
        mut take: impl FnMut(&dyn Row) -> Result<()>,
    ) -> Result<()> {
        self.statements().query(sql, params, &mut |row| {
            take(row)?;
            Ok(More::Yes)
        })
    }

    fn number(&self, sql: &str, params: &[Param<'_>]) -> Result<Option<i64>> {
        let mut found = None;
        self.each(sql, params, |row| {
            found = row.get(0)?;
            Ok(())
        })?;
        Ok(found)
    }

    /// The columns of a table that a row is made of; none if there is no such table.
    pub(super) fn columns(&self, table: &str) -> Result<Vec<SideColumn>> {
        let sql = match self {
            Self::File(_) => "SELECT name, type, \"notnull\" OR pk > 0 FROM pragma_table_info(?1)",
            // What the server counts up by itself is about the order, which is kept.
            Self::Server(_) => {
                "SELECT CAST(a.attname AS text), format_type(a.atttypid, NULL),
                     CASE WHEN a.attnotnull THEN 1 ELSE 0 END
                 FROM pg_attribute a
                 WHERE a.attrelid = to_regclass(?1) AND a.attnum > 0 AND NOT a.attisdropped
                     AND a.attidentity <> 'a'
                 ORDER BY a.attnum"
            }
        };
        let mut columns = Vec::new();
        self.each(sql, &[Param::Text(table)], |row| {
            let declared: String = row.get(1)?;
            columns.push(SideColumn {
                name: row.get(0)?,
                is_integer: declared.to_ascii_lowercase().contains("int"),
                is_required: row.get(2)?,
            });
            Ok(())
        })?;
        Ok(columns)
    }

    /// The columns that put the rows of a table into their order.
    pub(super) fn key(&self, table: &str) -> Result<Vec<String>> {
        if let Self::File(_) = self {
            return Ok(vec!["rowid".to_owned()]);
        }
        let mut key = Vec::new();
        let counted = "SELECT CAST(attname AS text) FROM pg_attribute
                       WHERE attrelid = to_regclass(?1) AND attidentity = 'a' AND NOT attisdropped";
        let primary = "SELECT CAST(a.attname AS text) FROM pg_index i
                       JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
                       WHERE i.indrelid = to_regclass(?1) AND i.indisprimary
                       ORDER BY array_position(CAST(i.indkey AS int2[]), a.attnum)";
        for sql in [counted, primary] {
            if key.is_empty() {
                self.each(sql, &[Param::Text(table)], |row| {
                    key.push(row.get(0)?);
                    Ok(())
                })?;
            }
        }
        Ok(key)
    }

    pub(super) fn cards(&self) -> Result<i64> {
        let counted = self.number("SELECT count(*) FROM tasks", &[])?;
        Ok(counted.unwrap_or(0))
    }

    /// The number of the last change of a server.
    pub(super) fn version(&self) -> Result<Option<i64>> {
        match self {
            Self::File(_) => Ok(None),
            Self::Server(statements) => Ok(Some(statements.0.own_version()?)),
        }
    }

    /// Whether what is here can be replaced: nothing, what a board left behind, or what an earlier try
    /// of the same move has copied.
    pub(super) fn is_replaceable(&self, own: &Note) -> Result<bool> {
        match self {
            Self::File(statements) => Ok(notes::read(statements.connection, statements.path)?
                .is_some()
                || self.cards()? == 0),
            Self::Server(statements) => {
                // The change in progress has been counted.
                let version = statements.0.own_version()? - 1;
                let sql = "SELECT obj_description(to_regclass('hermes_board'), 'pg_class')";
                let mut note: Option<String> = None;
                self.each(sql, &[], |row| {
                    note = row.get(0)?;
                    Ok(())
                })?;
                let own = own.at_version(version);
                Ok(self.cards()? == 0 || note.is_some_and(|note| own.is_same_copy(&note)))
            }
        }
    }

    /// Removes all rows that will be copied.
    pub(super) fn clear(&self, tables: &[&str]) -> Result<()> {
        if let Some((connection, path)) = self.file() {
            notes::unmark(connection, path)?;
        }
        for name in tables {
            let sql = match self {
                Self::File(_) => format!("DELETE FROM {name}"),
                Self::Server(_) => format!("TRUNCATE {name} RESTART IDENTITY CASCADE"),
            };
            self.statements().execute(&sql, &[])?;
        }
        Ok(())
    }

    pub(super) fn mark(&self, note: &Note) -> Result<()> {
        match self {
            Self::File(statements) => notes::mark(statements.connection, statements.path, note),
            Self::Server(statements) if note.is_moved() => Ok(statements.0.leave(&note.text())?),
            Self::Server(statements) => Ok(statements.0.note(Some(&note.text()))?),
        }
    }

    /// The last number that a table has given to a row.
    pub(super) fn sequence(&self, table: &str) -> Result<Option<i64>> {
        let table = [Param::Text(table)];
        match self {
            Self::File(_) => self.number("SELECT seq FROM sqlite_sequence WHERE name = ?1", &table),
            Self::Server(_) => {
                let sql = "SELECT pg_sequence_last_value(
                               CAST(pg_get_serial_sequence(?1, 'id') AS regclass))";
                self.number(sql, &table)
            }
        }
    }

    pub(super) fn set_sequence(&self, table: &str, last: Option<i64>) -> Result<()> {
        let Some(last) = last.filter(|last| *last > 0) else {
            return Ok(());
        };
        let params = [Param::Text(table), Param::Int(last)];
        match self {
            Self::File(_) => {
                let statements = self.statements();
                let name = [Param::Text(table)];
                statements.execute("DELETE FROM sqlite_sequence WHERE name = ?1", &name)?;
                let sql = "INSERT INTO sqlite_sequence (name, seq) VALUES (?1, ?2)";
                statements.execute(sql, &params)?;
                Ok(())
            }
            Self::Server(_) => {
                let sql = "SELECT setval(CAST(pg_get_serial_sequence(?1, 'id') AS regclass), ?2)";
                self.each(sql, &params, |_| Ok(()))
            }
        }
    }
}

/// Tables that are not copied though they hold something. What only a server has is about the machines
/// that share a board there, and stays behind.
pub(super) fn left_tables(from: &Side<'_>) -> Result<Vec<String>> {
    if let Side::File(_) = from {
        return Ok(Vec::new());
    }
    let mut names: Vec<String> = Vec::new();
    let sql = "SELECT CAST(c.relname AS text) FROM pg_class c
               JOIN pg_class t ON t.relnamespace = c.relnamespace
               WHERE c.relkind = 'r' AND t.oid = to_regclass('tasks') ORDER BY c.relname";
    from.each(sql, &[], |row| {
        names.push(row.get(0)?);
        Ok(())
    })?;
    names.retain(|name| {
        !OF_PLACE.contains(&name.as_str()) && TABLES.iter().all(|table| table.name != name)
    });
    let mut left = Vec::new();
    for name in names {
        let sql = format!("SELECT count(*) FROM \"{name}\"");
        let rows = from.number(&sql, &[])?.unwrap_or(0);
        if rows > 0 {
            left.push(format!("table {name} ({rows} row(s))"));
        }
    }
    Ok(left)
}
