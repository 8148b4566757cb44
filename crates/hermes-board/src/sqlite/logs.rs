//! The ends of workers' logs, for readers on other machines.
//!
//! The machine of a worker adds what is new in parts; parts beyond the most that is kept are dropped.
//! Beside the cards, and without waiting for the disk: a part that a loss of power takes with it is still
//! in the file.

use hermes_store::Commit;

use crate::Result;
use crate::claim_lock::is_same_host;
use crate::model::{RunId, TaskId};
use crate::sqlite::StoredBoard;
use crate::sqlite::statements::{NONE, params};

/// Bytes of a log that are kept for others.
pub(crate) const KEPT: u64 = 256 * 1024;

/// How far the log of a card is known to others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogState {
    /// The attempt whose worker wrote last.
    pub run: RunId,
    /// The installation that the log is of; begins with the name of its machine.
    pub host: String,
    /// Bytes of the log, of which the last are kept.
    pub size: u64,
}

/// A part of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogPart {
    /// Where in the log it begins.
    pub start: u64,
    pub content: Vec<u8>,
}

impl LogState {
    /// The machine that the log is on, for people.
    pub fn machine(&self) -> &str {
        let host = self.host.split_once(':');
        host.map_or(self.host.as_str(), |(host, _)| host)
    }
}

impl LogPart {
    /// Where in the log it ends.
    pub fn end(&self) -> u64 {
        self.start + self.content.len() as u64
    }
}

impl StoredBoard {
    /// Cards that workers of this machine work on, with their attempts. `own` is a lock of this machine.
    pub(crate) fn running_here(&self, own: &str) -> Result<Vec<(TaskId, RunId)>> {
        let running = self.look(|tx| {
            tx.all(
                "SELECT id, current_run_id, claim_lock FROM tasks WHERE status = 'running'
                 AND current_run_id IS NOT NULL AND claim_lock IS NOT NULL",
                NONE,
                |row| {
                    let id: String = row.get(0)?;
                    Ok((TaskId::new(id), RunId(row.get(1)?), row.get::<String>(2)?))
                },
            )
        })?;
        let here = running.into_iter();
        let here = here.filter(|(_, _, lock)| is_same_host(own, lock));
        Ok(here.map(|(task, run, _)| (task, run)).collect())
    }

    /// How far the log of a card is known; `None` if no machine has told.
    pub fn log_state(&self, task: &TaskId) -> Result<Option<LogState>> {
        if !self.is_on_server() {
            return Ok(None);
        }
        self.look(|tx| {
            tx.one(
                "SELECT run_id, host, size FROM hermes_logs WHERE task_id = ?1",
                [task.as_str()],
                |row| {
                    let size: i64 = row.get(2)?;
                    Ok(LogState {
                        run: RunId(row.get(0)?),
                        host: row.get(1)?,
                        size: u64::try_from(size).unwrap_or(0),
                    })
                },
            )
        })
    }

    /// The kept parts of a card's log that begin there or later, in order.
    pub fn log_parts(&self, task: &TaskId, from: u64) -> Result<Vec<LogPart>> {
        self.look(|tx| {
            tx.all(
                "SELECT start, content FROM hermes_log_parts WHERE task_id = ?1 AND start >= ?2
                 ORDER BY start",
                params![task.as_str(), number(from)],
                |row| {
                    let start: i64 = row.get(0)?;
                    Ok(LogPart {
                        start: u64::try_from(start).unwrap_or(0),
                        content: row.get(1)?,
                    })
                },
            )
        })
    }

    /// Adds a part to the log of a card. `before` is what was known when the part was read: whoever was
    /// faster has told more.
    pub(crate) fn append_log(
        &self,
        task: &TaskId,
        before: Option<&LogState>,
        now: &LogState,
        part: &LogPart,
    ) -> Result<()> {
        let is_continued =
            before.is_some_and(|before| before.host == now.host && before.size <= part.start);
        self.write_aside(Commit::Logged, |tx| {
            let written = match before {
                None => tx.execute(
                    "INSERT INTO hermes_logs (task_id, run_id, host, size, updated_at)
                     SELECT ?1, ?2, ?3, ?4, ?5 FROM tasks WHERE id = ?1
                     ON CONFLICT (task_id) DO NOTHING",
                    params![task.as_str(), now.run.0, now.host, number(now.size), tx.now],
                )?,
                Some(before) => tx.execute(
                    "UPDATE hermes_logs SET run_id = ?2, host = ?3, size = ?4, updated_at = ?5
                     WHERE task_id = ?1 AND host = ?6 AND size = ?7 AND run_id <= ?2",
                    params![
                        task.as_str(),
                        now.run.0,
                        now.host,
                        number(now.size),
                        tx.now,
                        before.host,
                        number(before.size)
                    ],
                )?,
            };
            if written == 0 {
                return Ok(());
            }
            if !is_continued {
                tx.execute(
                    "DELETE FROM hermes_log_parts WHERE task_id = ?1",
                    [task.as_str()],
                )?;
            }
            if !part.content.is_empty() {
                tx.execute(
                    "INSERT INTO hermes_log_parts (task_id, start, content) VALUES (?1, ?2, ?3)",
                    params![task.as_str(), number(part.start), part.content.as_slice()],
                )?;
            }
            tx.execute(
                "DELETE FROM hermes_log_parts WHERE task_id = ?1
                     AND start + octet_length(content) <= ?2",
                params![task.as_str(), number(now.size.saturating_sub(KEPT))],
            )?;
            Ok(())
        })
    }
}

fn number(size: u64) -> i64 {
    i64::try_from(size).unwrap_or(i64::MAX)
}
