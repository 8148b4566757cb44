//! The full-text index: two FTS5 tables that triggers keep in step with `messages`.
//!
//! Names and indexed text are the reference's. One table knows words, the other any three letters
//! in a row, for scripts without spaces.

use hermes_store::rusqlite::{Connection, Result};

/// One table of the index.
struct IndexTable {
    name: &'static str,
    create: &'static str,
    triggers: [(&'static str, &'static str); 3],
}

macro_rules! index_table {
    ($name:literal, $options:literal) => {
        IndexTable {
            name: $name,
            create: concat!(
                "CREATE VIRTUAL TABLE IF NOT EXISTS ",
                $name,
                " USING fts5(content",
                $options,
                ")"
            ),
            triggers: [
                (
                    concat!($name, "_insert"),
                    concat!(
                        "CREATE TRIGGER IF NOT EXISTS ",
                        $name,
                        "_insert AFTER INSERT ON messages BEGIN INSERT INTO ",
                        $name,
                        "(rowid, content) VALUES (new.id, COALESCE(new.content, '') || ' ' || \
                         COALESCE(new.tool_name, '') || ' ' || COALESCE(new.tool_calls, '')); END"
                    ),
                ),
                (
                    concat!($name, "_delete"),
                    concat!(
                        "CREATE TRIGGER IF NOT EXISTS ",
                        $name,
                        "_delete AFTER DELETE ON messages BEGIN DELETE FROM ",
                        $name,
                        " WHERE rowid = old.id; END"
                    ),
                ),
                // Only for columns that are indexed: putting a message aside is no change of it.
                (
                    concat!($name, "_update"),
                    concat!(
                        "CREATE TRIGGER IF NOT EXISTS ",
                        $name,
                        "_update AFTER UPDATE OF content, tool_name, tool_calls ON messages BEGIN \
                         DELETE FROM ",
                        $name,
                        " WHERE rowid = old.id; INSERT INTO ",
                        $name,
                        "(rowid, content) VALUES (new.id, COALESCE(new.content, '') || ' ' || \
                         COALESCE(new.tool_name, '') || ' ' || COALESCE(new.tool_calls, '')); END"
                    ),
                ),
            ],
        }
    };
}

const INDEX_TABLES: [IndexTable; 2] = [
    index_table!("messages_fts", ""),
    index_table!("messages_fts_trigram", ", tokenize='trigram'"),
];

/// Tables and triggers of the index.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    INDEX_TABLES.iter().flat_map(|table| {
        [table.name]
            .into_iter()
            .chain(table.triggers.iter().map(|(name, _)| *name))
    })
}

/// Makes what is missing and fills it anew, so that messages written without triggers are found.
pub(super) fn complete(connection: &Connection) -> Result<()> {
    create(connection)?;
    for table in &INDEX_TABLES {
        connection.execute_batch(&format!("DELETE FROM {}", table.name))?;
        fill(connection, table)?;
    }
    Ok(())
}

/// Throws the index away and makes it anew from the messages. Gives the number of rows.
pub(crate) fn rebuild(connection: &Connection) -> Result<i64> {
    for table in &INDEX_TABLES {
        for (trigger, _) in table.triggers {
            connection.execute_batch(&format!("DROP TRIGGER IF EXISTS {trigger}"))?;
        }
        connection.execute_batch(&format!("DROP TABLE IF EXISTS {}", table.name))?;
    }
    create(connection)?;
    for table in &INDEX_TABLES {
        fill(connection, table)?;
    }
    connection.query_row("SELECT count(*) FROM messages", [], |row| row.get(0))
}

/// Makes what is missing, without filling it: for files without messages.
pub(super) fn create(connection: &Connection) -> Result<()> {
    for table in &INDEX_TABLES {
        connection.execute_batch(table.create)?;
        for (_, trigger) in table.triggers {
            connection.execute_batch(trigger)?;
        }
    }
    Ok(())
}

fn fill(connection: &Connection, table: &IndexTable) -> Result<()> {
    connection.execute_batch(&format!(
        "INSERT INTO {}(rowid, content)
         SELECT id, COALESCE(content, '') || ' ' || COALESCE(tool_name, '') || ' ' ||
             COALESCE(tool_calls, '')
         FROM messages",
        table.name
    ))
}
