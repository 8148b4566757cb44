//! Reading old files without changing them.
//!
//! Temporary views, private to one connection, shadow the tables and add the missing columns with
//! their default values, so that every query finds its columns.

use hermes_store::rusqlite::{Connection, Result};

use crate::schema::existing::ExistingSchema;
use crate::schema::tables::TABLES;

/// Creates the views that reading an incomplete file needs.
pub(crate) fn add_missing_columns(connection: &Connection, shape: &ExistingSchema) -> Result<()> {
    let mut views = String::new();
    for table in TABLES.iter().filter(|table| shape.has_table(table.name)) {
        let missing: Vec<String> = table
            .columns
            .iter()
            .filter(|(column, _)| !shape.has(table.name, column))
            .map(|(column, definition)| {
                let default = definition
                    .split_once("DEFAULT ")
                    .map_or("NULL", |(_, value)| value);
                format!(", {default} AS {column}")
            })
            .collect();
        if !missing.is_empty() {
            let name = table.name;
            let columns = missing.concat();
            views.push_str(&format!(
                "CREATE TEMP VIEW {name} AS SELECT *{columns} FROM main.{name};"
            ));
        }
    }
    if views.is_empty() {
        return Ok(());
    }
    // The file itself is open read-only; the views are in memory.
    connection.pragma_update(None, "query_only", false)?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    connection.execute_batch(&views)?;
    connection.pragma_update(None, "query_only", true)
}
