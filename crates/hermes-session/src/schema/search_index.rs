//! The full-text index: two FTS5 tables that triggers keep in step with `messages`.
//!
//! Table names and indexed text are the reference's. `messages_fts` indexes words,
//! `messages_fts_trigram` any three letters in a row, for scripts without spaces.

use hermes_store::rusqlite::{Connection, Result};

/// Tables of the index, with their FTS5 options.
const INDEX_TABLES: [(&str, &str); 2] = [
    ("messages_fts", ""),
    ("messages_fts_trigram", ", tokenize='trigram'"),
];
const TRIGGERS: [&str; 3] = ["insert", "delete", "update"];

/// The statement that creates one trigger of one table.
fn create_trigger(table: &str, trigger: &str) -> String {
    let insert = format!(
        "INSERT INTO {table}(rowid, content) VALUES (new.id, COALESCE(new.content, '') || ' ' || \
         COALESCE(new.tool_name, '') || ' ' || COALESCE(new.tool_calls, ''));"
    );
    let delete = format!("DELETE FROM {table} WHERE rowid = old.id;");
    let (event, effect) = match trigger {
        "insert" => ("INSERT", insert),
        "delete" => ("DELETE", delete),
        // Only for indexed columns: deactivating a message does not change its text.
        _ => (
            "UPDATE OF content, tool_name, tool_calls",
            format!("{delete} {insert}"),
        ),
    };
    format!(
        "CREATE TRIGGER IF NOT EXISTS {table}_{trigger} AFTER {event} ON messages BEGIN {effect} END"
    )
}

/// Names of the tables and triggers of the index.
pub(super) fn names() -> impl Iterator<Item = String> {
    INDEX_TABLES.iter().flat_map(|(table, _)| {
        std::iter::once((*table).to_owned()).chain(
            TRIGGERS
                .iter()
                .map(move |trigger| format!("{table}_{trigger}")),
        )
    })
}

/// Creates missing tables and triggers and refills the index, so that messages written without
/// triggers are found.
pub(super) fn complete(connection: &Connection) -> Result<()> {
    create(connection)?;
    for (table, _) in INDEX_TABLES {
        connection.execute_batch(&format!("DELETE FROM {table}"))?;
        fill(connection, table)?;
    }
    Ok(())
}

/// Drops the index and rebuilds it from the messages.
pub(crate) fn rebuild(connection: &Connection) -> Result<()> {
    for (table, _) in INDEX_TABLES {
        for trigger in TRIGGERS {
            connection.execute_batch(&format!("DROP TRIGGER IF EXISTS {table}_{trigger}"))?;
        }
        connection.execute_batch(&format!("DROP TABLE IF EXISTS {table}"))?;
    }
    create(connection)?;
    INDEX_TABLES
        .iter()
        .try_for_each(|(table, _)| fill(connection, table))
}

/// Creates missing tables and triggers without filling them: for files without messages.
pub(super) fn create(connection: &Connection) -> Result<()> {
    for (table, options) in INDEX_TABLES {
        connection.execute_batch(&format!(
            "CREATE VIRTUAL TABLE IF NOT EXISTS {table} USING fts5(content{options})"
        ))?;
        for trigger in TRIGGERS {
            connection.execute_batch(&create_trigger(table, trigger))?;
        }
    }
    Ok(())
}

fn fill(connection: &Connection, table: &str) -> Result<()> {
    connection.execute_batch(&format!(
        "INSERT INTO {table}(rowid, content)
         SELECT id, COALESCE(content, '') || ' ' || COALESCE(tool_name, '') || ' ' ||
             COALESCE(tool_calls, '')
         FROM messages"
    ))
}
