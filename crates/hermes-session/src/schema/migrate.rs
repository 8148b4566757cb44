//! Migrating a file: in one transaction, repeatable, without removing anything of a conversation.
//!
//! The version of an existing file is kept, except where the reference would otherwise rebuild the
//! search index: the newer reference has migrations of its own between two versions and must still
//! see where it left off. A file of a newer version is left alone.

use hermes_store::rusqlite::{Connection, ErrorCode, OptionalExtension, Result, params};

use crate::schema::existing::ExistingSchema;
use crate::schema::search_index;
use crate::schema::tables::{INDEXES, TABLES, TITLE_INDEX};

/// The version of a file created here.
const NEWEST: i64 = 22;
/// Since this version the search index holds tool names and calls.
const INDEX_SINCE: i64 = 11;
/// The version of a file whose index was rebuilt.
const AFTER_INDEX: i64 = 13;

fn version_of(connection: &Connection) -> Result<Option<i64>> {
    connection
        .query_row("SELECT version FROM schema_version LIMIT 1", [], |row| {
            row.get(0)
        })
        .optional()
}

/// Whether the file needs [`bring_up_to_date`].
pub(crate) fn is_behind(connection: &Connection, shape: &ExistingSchema) -> Result<bool> {
    let version = if shape.has_table("schema_version") {
        version_of(connection)?
    } else {
        None
    };
    match version {
        Some(version) if version > NEWEST => return Ok(false),
        Some(version) if version >= INDEX_SINCE && shape.is_current() => {}
        Some(_) | None => return Ok(true),
    }
    // Rows written while the column had no default.
    connection.query_row(
        "SELECT EXISTS (SELECT 1 FROM messages WHERE active IS NULL)",
        [],
        |row| row.get(0),
    )
}

/// Adds what is missing. Runs inside the caller's transaction.
pub(crate) fn bring_up_to_date(connection: &Connection) -> Result<()> {
    let before = ExistingSchema::of(connection)?;
    // Another process may have migrated the file while this one waited.
    if !is_behind(connection, &before)? {
        return Ok(());
    }
    let is_fresh = !before.has_table("messages");
    for table in TABLES {
        connection.execute_batch(&table.create())?;
        for (column, definition) in table.columns {
            if before.has_table(table.name) && !before.has(table.name, column) {
                connection.execute_batch(&format!(
                    "ALTER TABLE {} ADD COLUMN {column} {definition}",
                    table.name
                ))?;
            }
        }
    }
    migrate_usage(connection, &before)?;
    for index in INDEXES {
        connection.execute_batch(&format!("CREATE INDEX IF NOT EXISTS {index}"))?;
    }
    make_titles_unique(connection)?;
    connection.execute("UPDATE messages SET active = 1 WHERE active IS NULL", [])?;
    let version = version_of(connection)?;
    if is_fresh {
        search_index::create(connection)?;
    } else if version.is_none_or(|version| version < INDEX_SINCE) {
        search_index::rebuild(connection)?;
    } else if before.lacks_search_index() {
        search_index::complete(connection)?;
    }
    match version {
        None => {
            let version = if is_fresh { NEWEST } else { AFTER_INDEX };
            connection.execute(
                "INSERT INTO schema_version (version) VALUES (?1)",
                params![version],
            )?;
        }
        Some(version) if version < INDEX_SINCE => {
            connection.execute(
                "UPDATE schema_version SET version = ?1",
                params![AFTER_INDEX],
            )?;
        }
        Some(_) => {}
    }
    Ok(())
}

/// Usage per model: seeded with the totals of older sessions, and keyed by task, too.
fn migrate_usage(connection: &Connection, before: &ExistingSchema) -> Result<()> {
    if !before.has_table("sessions") {
        return Ok(());
    }
    if !before.has_table("session_model_usage") {
        return connection.execute_batch(
            "INSERT OR IGNORE INTO session_model_usage (session_id, model, billing_provider,
                 billing_base_url, billing_mode, api_call_count, input_tokens, output_tokens,
                 cache_read_tokens, cache_write_tokens, reasoning_tokens, estimated_cost_usd,
                 actual_cost_usd, cost_status, cost_source, first_seen, last_seen)
             SELECT id, COALESCE(model, 'unknown'), COALESCE(billing_provider, ''),
                 COALESCE(billing_base_url, ''), COALESCE(billing_mode, ''),
                 COALESCE(api_call_count, 0), COALESCE(input_tokens, 0),
                 COALESCE(output_tokens, 0), COALESCE(cache_read_tokens, 0),
                 COALESCE(cache_write_tokens, 0), COALESCE(reasoning_tokens, 0),
                 COALESCE(estimated_cost_usd, 0), COALESCE(actual_cost_usd, 0), cost_status,
                 cost_source, started_at, COALESCE(ended_at, started_at)
             FROM sessions
             WHERE COALESCE(input_tokens, 0) + COALESCE(output_tokens, 0)
                 + COALESCE(cache_read_tokens, 0) + COALESCE(cache_write_tokens, 0)
                 + COALESCE(reasoning_tokens, 0) > 0",
        );
    }
    if before.usage_key_is_current() {
        return Ok(());
    }
    let Some(table) = TABLES
        .iter()
        .find(|table| table.name == "session_model_usage")
    else {
        return Ok(());
    };
    let columns: Vec<&str> = table.columns.iter().map(|(name, _)| *name).collect();
    let columns = columns.join(", ");
    connection
        .execute_batch("ALTER TABLE session_model_usage RENAME TO session_model_usage_v21")?;
    connection.execute_batch(&table.create())?;
    connection.execute_batch(&format!(
        "INSERT OR IGNORE INTO session_model_usage ({columns})
         SELECT {columns} FROM session_model_usage_v21;
         DROP TABLE session_model_usage_v21;"
    ))
}

/// Of sessions with the same title the newest keeps it.
fn make_titles_unique(connection: &Connection) -> Result<()> {
    let create = format!("CREATE UNIQUE INDEX IF NOT EXISTS {TITLE_INDEX}");
    match connection.execute_batch(&create) {
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) => {
            let cleared = connection.execute(
                "UPDATE sessions AS older SET title = NULL
                 WHERE title IS NOT NULL AND EXISTS (SELECT 1 FROM sessions newer
                     WHERE newer.title = older.title AND newer.rowid > older.rowid)",
                [],
            )?;
            tracing::warn!(
                cleared,
                "several sessions had the same title; the newest keeps it"
            );
            connection.execute_batch(&create)
        }
        other => other,
    }
}
