//! Turns on their way: recorded before the model is asked, struck out at the end.

use std::path::Path;

use hermes_agent::Acknowledged;
use hermes_store::Commit;
use hermes_store::rusqlite::{Row, params};
use serde_json::Value;

use super::live::LiveTurn;
use super::{TurnLedger, unavailable};
use crate::clock::unix_time;
use crate::http::ApiError;

/// The endpoint whose turns go on without their client.
pub(crate) const RUNS: &str = "runs";

/// Which messages of a session belong to a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TurnMessages {
    /// The last one before the turn.
    pub(crate) after: i64,
    /// The last one of the turn, where that is known.
    pub(crate) until: Option<i64>,
}

impl TurnMessages {
    /// Whether a message is one of them.
    pub(crate) fn include(self, message: i64) -> bool {
        message > self.after && self.until.is_none_or(|last| message <= last)
    }
}

/// A turn, as it is recorded.
#[derive(Debug, Clone)]
pub(crate) struct TurnEntry {
    pub(crate) id: String,
    pub(crate) endpoint: &'static str,
    /// What the endpoint needs to report the turn after a restart.
    pub(crate) request: Value,
    /// How far an earlier try came, if this one goes on from there.
    pub(crate) earlier: Option<Interrupted>,
    /// Whether the client will ask again for the same turn, so that an end of the server is no end of
    /// the turn.
    pub(crate) is_repeatable: bool,
}

impl TurnEntry {
    pub(crate) fn new(endpoint: &'static str) -> Self {
        Self {
            id: format!("turn_{}", hermes_fs::random_hex(32)),
            endpoint,
            request: Value::Null,
            earlier: None,
            is_repeatable: false,
        }
    }

    /// How the beginning of the turn is written. A request is acknowledged after it is on disk; that
    /// of a run was when the run was accepted, that of one with a key when the key was claimed, and a
    /// client that waits for the end of its turn has heard nothing yet.
    pub(crate) fn commit(&self, acknowledged: Acknowledged) -> Commit {
        if self.is_on_disk() || acknowledged == Acknowledged::AtTheEnd {
            Commit::Logged
        } else {
            Commit::Forced
        }
    }

    /// How its calls are written: the first thing that comes of a turn finds its beginning on disk.
    pub(crate) fn commit_of_calls(&self, acknowledged: Acknowledged) -> Commit {
        if self.commit(acknowledged) == Commit::Logged && !self.is_on_disk() {
            Commit::Forced
        } else {
            Commit::Logged
        }
    }

    /// Whether something of it was written to the disk before it begins.
    fn is_on_disk(&self) -> bool {
        self.is_run() || self.is_repeatable
    }

    /// Whether the turn goes on without its client.
    pub(crate) fn is_run(&self) -> bool {
        self.endpoint == RUNS
    }
}

/// A turn that was cut off by the end of its process.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Interrupted {
    pub(crate) id: String,
    pub(crate) endpoint: String,
    pub(crate) session: String,
    /// The last message of the session before the turn; `None` if the turn had not begun.
    after: Option<i64>,
    /// The last message of the turn, if it came to its end.
    until: Option<i64>,
    pub(crate) request: Value,
    /// Calls that had begun and not ended, in words.
    pub(crate) calls: Vec<String>,
    pub(crate) restarts: i64,
    pub(crate) updated_at: f64,
}

impl Interrupted {
    fn of(row: &Row<'_>) -> hermes_store::rusqlite::Result<Self> {
        let json = |text: String| serde_json::from_str(&text).unwrap_or_default();
        let calls: String = row.get("calls")?;
        Ok(Self {
            id: row.get("id")?,
            endpoint: row.get("endpoint")?,
            session: row.get("session_id")?,
            after: row.get("after_message")?,
            until: row.get("until_message")?,
            request: json(row.get("request")?),
            calls: serde_json::from_str(&calls).unwrap_or_default(),
            restarts: row.get("restarts")?,
            updated_at: row.get("updated_at")?,
        })
    }

    #[cfg(test)]
    pub(crate) fn for_test(
        id: &str,
        after: Option<i64>,
        restarts: i64,
        updated_at: f64,
        request: Value,
    ) -> Self {
        Self {
            id: id.to_owned(),
            endpoint: RUNS.to_owned(),
            session: "s".to_owned(),
            after,
            until: None,
            request,
            calls: Vec::new(),
            restarts,
            updated_at,
        }
    }

    /// The messages of the turn; `None` if it had not begun.
    pub(crate) fn messages(&self) -> Option<TurnMessages> {
        Some(TurnMessages {
            after: self.after?,
            until: self.until,
        })
    }
}

impl TurnLedger {
    /// The turn begins in this session, after this message.
    pub(crate) fn begin(
        &self,
        home: &Path,
        entry: &TurnEntry,
        session: &str,
        after: i64,
        commit: Commit,
    ) -> Result<(), ApiError> {
        let begun = self.database.write(home, commit, |connection| {
            let mut begin = connection.prepare_cached(
                "INSERT INTO turns (id, endpoint, state, session_id, after_message, request, \
                     created_at, updated_at)
                 VALUES (?1, ?2, 'running', ?3, ?4, ?5, ?6, ?6)
                 ON CONFLICT (id) DO UPDATE SET state = 'running', session_id = excluded.session_id,
                     after_message = COALESCE(turns.after_message, excluded.after_message),
                     until_message = NULL, calls = '[]', updated_at = excluded.updated_at",
            )?;
            begin.execute(params![
                entry.id,
                entry.endpoint,
                session,
                after,
                entry.request.to_string(),
                unix_time()
            ])
        });
        begun.map(drop).map_err(unavailable)
    }

    /// The calls that are under way, in words.
    pub(crate) fn set_calls(&self, home: &Path, id: &str, calls: &[String], commit: Commit) {
        let calls = Value::from(calls.to_vec()).to_string();
        let noted = self.database.write(home, commit, |connection| {
            let mut note = connection
                .prepare_cached("UPDATE turns SET calls = ?2, updated_at = ?3 WHERE id = ?1")?;
            note.execute(params![id, calls, unix_time()])
        });
        if let Err(error) = noted {
            // The turn goes on; a note after a restart would not name its calls.
            tracing::warn!(%error, "the calls of a turn were not recorded");
        }
    }

    /// The last message of a turn that came to its end.
    pub(crate) fn set_last_message(&self, home: &Path, id: &str, message: Option<i64>) {
        let noted = self.database.write(home, Commit::Logged, |connection| {
            connection.execute(
                "UPDATE turns SET until_message = ?2, updated_at = ?3 WHERE id = ?1",
                params![id, message, unix_time()],
            )
        });
        if let Err(error) = noted {
            tracing::warn!(%error, "the end of a turn was not recorded");
        }
    }

    /// Strikes out a turn that is no run.
    pub(crate) fn end(&self, home: &Path, id: &str) {
        let ended = self.database.write(home, Commit::Logged, |connection| {
            let mut end = connection.prepare_cached("DELETE FROM turns WHERE id = ?1")?;
            end.execute(params![id])
        });
        if let Err(error) = ended {
            tracing::warn!(%error, "the end of a turn was not recorded");
        }
    }

    /// Keeps what is known of a turn that was cut off for the request that asks for it again.
    pub(crate) fn set_interrupted(&self, home: &Path, id: &str) -> Result<(), ApiError> {
        let kept = self.database.write(home, Commit::Logged, |connection| {
            connection.execute(
                "UPDATE turns SET state = 'interrupted' WHERE id = ?1",
                params![id],
            )?;
            // The time within which the request may be sent again begins now.
            connection.execute(
                "UPDATE answers SET created_at = ?2 WHERE turn_id = ?1",
                params![id, unix_time()],
            )
        });
        kept.map(drop).map_err(unavailable)
    }

    /// Whether a request that may be sent again waits for this turn.
    pub(crate) fn is_awaited(&self, home: &Path, id: &str) -> Result<bool, ApiError> {
        let count = self.database.read(home, |connection| {
            connection.query_row(
                "SELECT COUNT(*) FROM answers WHERE turn_id = ?1 AND body IS NULL",
                params![id],
                |row| row.get::<_, i64>(0),
            )
        });
        Ok(count.map_err(unavailable)? > 0)
    }

    /// The turns that were cut off, oldest first, without those that this process still works on.
    pub(crate) fn interrupted(&self, home: &Path) -> Result<Vec<Interrupted>, ApiError> {
        let all = self.database.read(home, |connection| {
            let mut statement = connection.prepare(
                "SELECT * FROM turns WHERE state IN ('accepted', 'running')
                 ORDER BY created_at, id",
            )?;
            let rows = statement.query_map([], Interrupted::of)?;
            rows.collect::<hermes_store::rusqlite::Result<Vec<_>>>()
        });
        let mut all = all.map_err(unavailable)?;
        all.retain(|turn| !LiveTurn::is_live(&turn.id));
        Ok(all)
    }

    /// A turn that is recorded.
    pub(super) fn turn(
        connection: &hermes_store::rusqlite::Connection,
        id: &str,
    ) -> hermes_store::rusqlite::Result<Option<Interrupted>> {
        use hermes_store::rusqlite::OptionalExtension as _;
        let found = connection.query_row(
            "SELECT * FROM turns WHERE id = ?1",
            params![id],
            Interrupted::of,
        );
        found.optional()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_is_on_disk_before_its_client_hears_of_it_or_a_tool_is_called() {
        use Commit::{Forced, Logged};
        let chat = TurnEntry::new("chat_completions");
        let keyed = TurnEntry {
            is_repeatable: true,
            ..chat.clone()
        };
        let run = TurnEntry::new(RUNS);
        let of = |entry: &TurnEntry, told| [entry.commit(told), entry.commit_of_calls(told)];
        let at_once = [&chat, &keyed, &run].map(|entry| of(entry, Acknowledged::Stored));
        let at_the_end = [&chat, &keyed, &run].map(|entry| of(entry, Acknowledged::AtTheEnd));
        assert_eq!(
            at_once,
            [[Forced, Logged], [Logged, Logged], [Logged, Logged]]
        );
        assert_eq!(
            at_the_end,
            [[Logged, Forced], [Logged, Logged], [Logged, Logged]]
        );
    }
}
