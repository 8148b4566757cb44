//! Bringing a file up to date: everything in one transaction, everything repeatable, nothing ever
//! taken away.

use hermes_store::rusqlite::{Connection, Result, params};

use crate::schema::shape::Shape;
use crate::schema::tables::{INDEXES, RETIRED_INDEXES, TABLES, Table};

/// Kinds of events that were once called otherwise.
const RENAMED_KINDS: [(&str, &str); 3] = [
    ("ready", "promoted"),
    ("priority", "reprioritized"),
    ("spawn_auto_blocked", "gave_up"),
];

/// Old columns whose content moved to a new one when that is added.
const MOVED_COLUMNS: [(&str, &str, &str); 2] = [
    (
        "consecutive_failures",
        "spawn_failures",
        "UPDATE tasks SET consecutive_failures = COALESCE(spawn_failures, 0)",
    ),
    (
        "last_failure_error",
        "last_spawn_error",
        "UPDATE tasks SET last_failure_error = last_spawn_error",
    ),
];

/// Whether the file needs [`bring_up_to_date`].
pub(crate) fn is_behind(connection: &Connection) -> Result<bool> {
    if !Shape::of(connection)?.is_current() {
        return Ok(true);
    }
    // Cards that were running before there were attempts.
    connection.query_row(
        "SELECT EXISTS (SELECT 1 FROM tasks WHERE status = 'running' AND current_run_id IS NULL)",
        [],
        |row| row.get(0),
    )
}

/// Makes what is missing. Runs inside a transaction of the caller's.
pub(crate) fn bring_up_to_date(connection: &Connection, now: i64) -> Result<()> {
    for table in TABLES {
        connection.execute_batch(table.create)?;
    }
    let shape = Shape::of(connection)?;
    for table in TABLES {
        add_late_columns(connection, &shape, table)?;
    }
    rebuild_drifted(connection, &shape)?;
    for index in INDEXES {
        connection.execute_batch(&format!("CREATE INDEX IF NOT EXISTS {index}"))?;
    }
    for index in RETIRED_INDEXES {
        connection.execute_batch(&format!("DROP INDEX IF EXISTS {index}"))?;
    }
    open_missing_runs(connection, now)?;
    rename_kinds(connection)
}

/// The kinds of very old events.
pub(crate) fn rename_kinds(connection: &Connection) -> Result<()> {
    for (old, new) in RENAMED_KINDS {
        connection.execute(
            "UPDATE task_events SET kind = ?2 WHERE kind = ?1",
            params![old, new],
        )?;
    }
    Ok(())
}

fn add_late_columns(connection: &Connection, shape: &Shape, table: &Table) -> Result<()> {
    for (column, definition) in table.late {
        if shape.has(table.name, column) {
            continue;
        }
        connection.execute_batch(&format!(
            "ALTER TABLE {} ADD COLUMN {definition}",
            table.name
        ))?;
        for (new, old, copy) in MOVED_COLUMNS {
            if new == *column && shape.has(table.name, old) {
                connection.execute_batch(copy)?;
            }
        }
    }
    Ok(())
}

/// Gives tables of very old files numbers instead of texts: a new table, the rows without what
/// cannot be kept, and the old one goes.
fn rebuild_drifted(connection: &Connection, shape: &Shape) -> Result<()> {
    let drifted = shape.drifted();
    for name in &drifted {
        let Some(table) = TABLES.iter().find(|table| table.name == *name) else {
            continue;
        };
        connection.execute_batch(&format!("ALTER TABLE {name} RENAME TO {name}_legacy"))?;
        connection.execute_batch(table.create)?;
        let fresh = Shape::of(connection)?;
        let legacy = format!("{name}_legacy");
        // New numbers are given in the old order; a cursor that is no number starts over.
        let replaced = if *name == "kanban_notify_subs" {
            "last_event_id"
        } else {
            "id"
        };
        let kept: Vec<&str> = fresh
            .columns(name)
            .iter()
            .map(|column| column.name.as_str())
            .filter(|column| *column != replaced && fresh.has(&legacy, column))
            .collect();
        let kept = kept.join(", ");
        connection.execute_batch(&if replaced == "id" {
            format!("INSERT INTO {name} ({kept}) SELECT {kept} FROM {legacy} ORDER BY rowid")
        } else {
            format!(
                "INSERT INTO {name} ({kept}, last_event_id)
                 SELECT {kept}, COALESCE(CAST(last_event_id AS INTEGER), 0) FROM {legacy}"
            )
        })?;
        connection.execute_batch(&format!("DROP TABLE {legacy}"))?;
    }
    if drifted.contains(&"task_runs") {
        // The numbers of attempts are new: point at the open one again.
        connection.execute_batch(
            "UPDATE tasks SET current_run_id =
                 (SELECT max(r.id) FROM task_runs r WHERE r.task_id = tasks.id AND r.ended_at IS NULL)
             WHERE current_run_id IS NOT NULL;
             UPDATE task_events SET run_id = NULL WHERE run_id IS NOT NULL;",
        )?;
    }
    Ok(())
}

fn open_missing_runs(connection: &Connection, now: i64) -> Result<()> {
    let mut running = connection
        .prepare("SELECT id FROM tasks WHERE status = 'running' AND current_run_id IS NULL")?;
    let ids: Vec<String> = running
        .query_map([], |row| row.get(0))?
        .collect::<Result<_>>()?;
    for id in ids {
        connection.execute(
            "INSERT INTO task_runs (task_id, profile, status, claim_lock, claim_expires,
                 worker_pid, max_runtime_seconds, last_heartbeat_at, started_at)
             SELECT id, assignee, 'running', claim_lock, claim_expires, worker_pid,
                 max_runtime_seconds, last_heartbeat_at, COALESCE(started_at, ?2)
             FROM tasks WHERE id = ?1",
            params![id, now],
        )?;
        connection.execute(
            "UPDATE tasks SET current_run_id = ?2 WHERE id = ?1",
            params![id, connection.last_insert_rowid()],
        )?;
    }
    Ok(())
}
