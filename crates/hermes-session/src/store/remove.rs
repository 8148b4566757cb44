//! Deleting and archiving sessions.
//!
//! Deleting a session deletes the runs of its sub-agents, too: they are in no list, so nobody could
//! delete them by hand. Branches and continuations stay, without a parent. Files are removed after
//! the rows: a file that cannot be removed does not restore the session.

use std::path::Path;

use hermes_store::rusqlite::params;

use super::sql_fragments::session_mark;
use super::{SessionStore, SessionTransaction};
use crate::store::filter::SessionFilter;
use crate::{Result, SessionId};

/// Prefix of the names of dumped requests.
const DUMP: &str = "request_dump_";

impl SessionStore {
    /// Deletes a session with its messages, the runs of its sub-agents and its files. Returns all
    /// deleted sessions.
    pub fn delete_session(&mut self, id: &SessionId) -> Result<Vec<SessionId>> {
        let removed = self.write(|transaction| {
            transaction.must_exist(id)?;
            transaction.delete(std::slice::from_ref(id))
        })?;
        self.remove_files(&removed);
        Ok(removed)
    }

    /// Deletes the ended sessions that match a filter. A session reopened in the meantime stays.
    pub fn prune(&mut self, filter: &SessionFilter) -> Result<Vec<SessionId>> {
        let filter = SessionFilter {
            ended: true,
            ..filter.clone()
        };
        let removed = self.write(|transaction| {
            let matching = transaction.matching(&filter)?;
            let ids: Vec<SessionId> = matching.into_iter().map(|session| session.id).collect();
            transaction.delete(&ids)
        })?;
        self.remove_files(&removed);
        Ok(removed)
    }

    /// Archives or unarchives all sessions of a conversation. Returns how many changed.
    pub fn set_archived(&mut self, id: &SessionId, archived: bool) -> Result<usize> {
        self.write(|transaction| {
            transaction.must_exist(id)?;
            transaction.archive(id, archived)
        })
    }

    /// Archives the ended conversations that match a filter and returns the matching sessions.
    pub fn archive_matching(&mut self, filter: &SessionFilter) -> Result<Vec<SessionId>> {
        let filter = SessionFilter {
            ended: true,
            archived: Some(false),
            ..filter.clone()
        };
        self.write(|transaction| {
            let matching = transaction.matching(&filter)?;
            for session in &matching {
                transaction.archive(&session.id, true)?;
            }
            Ok(matching.into_iter().map(|session| session.id).collect())
        })
    }

    fn remove_files(&self, ids: &[SessionId]) {
        let Some(home) = self.path.parent() else {
            return;
        };
        let folder = home.join("sessions");
        if let Err(error) = remove_files(&folder, ids) {
            tracing::warn!(%error, "files of deleted sessions could not be removed");
        }
    }
}

impl SessionTransaction<'_> {
    fn delete(&self, ids: &[SessionId]) -> Result<Vec<SessionId>> {
        let wanted: Vec<&str> = ids.iter().map(SessionId::as_str).collect();
        let wanted = serde_json::Value::from(wanted).to_string();
        let all: Vec<SessionId> = self.rows(
            concat!(
                "WITH RECURSIVE gone(id) AS (
                     SELECT value FROM json_each(?1)
                     UNION
                     SELECT s.id FROM gone JOIN sessions s
                         ON s.parent_session_id = gone.id OR (",
                session_mark!("s", "_delegate_from"),
                ") = gone.id
                     WHERE (",
                session_mark!("s", "_delegate_from"),
                ") IS NOT NULL
                 )
                 SELECT s.id FROM gone JOIN sessions s ON s.id = gone.id"
            ),
            params![wanted],
            |row| Ok(SessionId::from_row(row.get(0)?)),
        )?;
        for id in &all {
            let id = params![id.as_str()];
            self.execute(
                "UPDATE sessions SET parent_session_id = NULL WHERE parent_session_id = ?1",
                id,
            )?;
            self.execute("DELETE FROM messages WHERE session_id = ?1", id)?;
            self.execute("DELETE FROM session_model_usage WHERE session_id = ?1", id)?;
            self.execute("DELETE FROM compression_locks WHERE session_id = ?1", id)?;
        }
        for id in &all {
            if self.execute("DELETE FROM sessions WHERE id = ?1", params![id.as_str()])? == 0 {
                return Err(id.unknown());
            }
        }
        Ok(all)
    }

    fn archive(&self, id: &SessionId, archived: bool) -> Result<usize> {
        self.execute(
            "WITH RECURSIVE
             before(id) AS (
                 SELECT ?1
                 UNION
                 SELECT p.id FROM before b JOIN sessions c ON c.id = b.id
                 JOIN sessions p ON p.id = c.parent_session_id
                 WHERE p.end_reason = 'compression'
             ),
             after(id) AS (
                 SELECT ?1
                 UNION
                 SELECT c.id FROM after a JOIN sessions p ON p.id = a.id
                 JOIN sessions c ON c.parent_session_id = p.id
                 WHERE p.end_reason = 'compression'
             )
             UPDATE sessions SET archived = ?2
             WHERE id IN (SELECT id FROM before UNION SELECT id FROM after) AND archived <> ?2",
            params![id.as_str(), archived],
        )
    }
}

/// Removes the snapshots and dumped requests of sessions.
fn remove_files(folder: &Path, ids: &[SessionId]) -> hermes_fs::Result<()> {
    let names: Vec<&str> = ids
        .iter()
        .filter(|id| id.is_file_name())
        .map(SessionId::as_str)
        .collect();
    if names.is_empty() || !hermes_fs::exists_no_follow(folder) {
        return Ok(());
    }
    for name in &names {
        for ending in ["json", "jsonl"] {
            hermes_fs::remove_file_if_present(&folder.join(format!("{name}.{ending}")))?;
        }
    }
    for entry in hermes_fs::read_dir(folder)? {
        let Some(file) = entry.path.file_name().and_then(|name| name.to_str()) else {
            continue;
        };
        let Some(dumped) = file.strip_prefix(DUMP) else {
            continue;
        };
        let belongs = |name: &&&str| {
            dumped
                .strip_prefix(**name)
                .is_some_and(|rest| rest.starts_with('_'))
        };
        if names.iter().any(|name| belongs(&name)) {
            hermes_fs::remove_file_if_present(&folder.join(file))?;
        }
    }
    Ok(())
}
