//! Old files that may not be changed: what they lack is put in front of them.
//!
//! Views that exist for one connection only take the names of the tables and add the missing
//! columns with their usual values, so that every query finds what it asks for.

use hermes_store::rusqlite::{Connection, Result};

use crate::schema::shape::Shape;
use crate::schema::tables::TABLES;

/// Makes the views that reading an incomplete file needs.
pub(crate) fn stand_in(connection: &Connection, shape: &Shape) -> Result<()> {
    let mut views = String::new();
    for table in TABLES.iter().filter(|table| shape.has_table(table.name)) {
        let missing: Vec<String> = table
            .columns
            .iter()
            .filter(|(column, _)| !shape.has(table.name, column))
            .map(|(column, definition)| {
                let usual = definition
                    .split_once("DEFAULT ")
                    .map_or("NULL", |(_, value)| value);
                format!(", {usual} AS {column}")
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
    // The file itself is open for reading only; this is about memory.
    connection.pragma_update(None, "query_only", false)?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    connection.execute_batch(&views)?;
    connection.pragma_update(None, "query_only", true)
}
