//! The schema that a file has, read with two queries.

use std::collections::{HashMap, HashSet};

use hermes_store::rusqlite::{Connection, Result};

use crate::schema::search_index;
use crate::schema::tables::{INDEXES, TABLES, TITLE_INDEX, index_name};

/// Tables with their columns, indexes and triggers of a file.
#[derive(Debug, Default)]
pub(crate) struct ExistingSchema {
    columns: HashMap<String, HashSet<String>>,
    key_columns: HashSet<(String, String)>,
    names: HashSet<String>,
}

impl ExistingSchema {
    pub(crate) fn of(connection: &Connection) -> Result<Self> {
        let mut shape = Self::default();
        let mut statement =
            connection.prepare("SELECT name FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            shape.names.insert(row.get(0)?);
        }
        let mut statement = connection.prepare(
            "SELECT m.name, c.name, c.pk FROM sqlite_schema m JOIN pragma_table_info(m.name) c
             WHERE m.type = 'table' AND m.name NOT LIKE 'messages_fts%'",
        )?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let (table, column): (String, String) = (row.get(0)?, row.get(1)?);
            if row.get::<_, i64>(2)? > 0 {
                shape.key_columns.insert((table.clone(), column.clone()));
            }
            shape.columns.entry(table).or_default().insert(column);
        }
        Ok(shape)
    }

    pub(crate) fn has_table(&self, table: &str) -> bool {
        self.names.contains(table)
    }

    pub(crate) fn has(&self, table: &str, column: &str) -> bool {
        self.columns
            .get(table)
            .is_some_and(|columns| columns.contains(column))
    }

    /// Whether the key of the usage table includes the task.
    pub(crate) fn usage_key_is_current(&self) -> bool {
        self.key_columns
            .contains(&("session_model_usage".to_owned(), "task".to_owned()))
    }

    /// Whether any table or trigger of the search index is missing.
    pub(crate) fn lacks_search_index(&self) -> bool {
        !search_index::names().all(|name| self.names.contains(&name))
    }

    /// Whether nothing is missing.
    pub(crate) fn is_current(&self) -> bool {
        TABLES.iter().all(|table| {
            table
                .columns
                .iter()
                .all(|(column, _)| self.has(table.name, column))
        }) && INDEXES
            .iter()
            .chain([&TITLE_INDEX])
            .all(|index| self.names.contains(index_name(index)))
            && self.usage_key_is_current()
            && !self.lacks_search_index()
    }
}
