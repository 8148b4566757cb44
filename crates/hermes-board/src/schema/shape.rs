//! What a file has of the schema, found with two queries.

use std::collections::{HashMap, HashSet};

use hermes_store::rusqlite::{Connection, Result};

use crate::schema::tables::{INDEXES, TABLES, index_name};

/// A column as the file declares it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) declared: String,
    pub(crate) in_key: bool,
}

/// Tables, columns and indexes of a file.
#[derive(Debug, Default)]
pub(crate) struct Shape {
    tables: HashMap<String, Vec<Column>>,
    indexes: HashSet<String>,
}

impl Shape {
    pub(crate) fn of(connection: &Connection) -> Result<Self> {
        let mut shape = Self::default();
        let mut statement = connection.prepare(
            "SELECT m.name, c.name, c.type, c.pk
             FROM sqlite_schema m JOIN pragma_table_info(m.name) c
             WHERE m.type = 'table'",
        )?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let column = Column {
                name: row.get(1)?,
                declared: row.get::<_, Option<String>>(2)?.unwrap_or_default(),
                in_key: row.get::<_, i64>(3)? > 0,
            };
            shape.tables.entry(row.get(0)?).or_default().push(column);
        }
        let mut statement =
            connection.prepare("SELECT name FROM sqlite_schema WHERE type = 'index'")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            shape.indexes.insert(row.get(0)?);
        }
        Ok(shape)
    }

    /// Columns of a table; none if it does not exist.
    pub(crate) fn columns(&self, table: &str) -> &[Column] {
        self.tables.get(table).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn has(&self, table: &str, column: &str) -> bool {
        self.columns(table).iter().any(|found| found.name == column)
    }

    /// Whether nothing has to be made, added or rebuilt.
    pub(crate) fn is_current(&self) -> bool {
        TABLES.iter().all(|table| {
            !self.columns(table.name).is_empty()
                && table
                    .late
                    .iter()
                    .all(|(column, _)| self.has(table.name, column))
        }) && INDEXES
            .iter()
            .all(|index| self.indexes.contains(index_name(index)))
            && self.drifted().is_empty()
    }

    /// Tables of very old files whose numbers are texts.
    pub(crate) fn drifted(&self) -> Vec<&'static str> {
        let is_integer = |column: &Column| column.declared.eq_ignore_ascii_case("INTEGER");
        let wrong_id = |table: &&str| {
            self.columns(table)
                .iter()
                .find(|column| column.name == "id")
                .is_some_and(|id| !(is_integer(id) && id.in_key))
        };
        let mut drifted: Vec<&'static str> = ["task_events", "task_comments", "task_runs"]
            .into_iter()
            .filter(wrong_id)
            .collect();
        let cursor_is_text = self
            .columns("kanban_notify_subs")
            .iter()
            .find(|column| column.name == "last_event_id")
            .is_some_and(|cursor| !is_integer(cursor));
        if cursor_is_text {
            drifted.push("kanban_notify_subs");
        }
        drifted
    }
}
