//! Creating, reopening, changing and ending a session.

use hermes_store::rusqlite::params;
use serde_json::Value;

use super::{SessionStore, SessionTransaction, rows};
use crate::message::StoredMessage;
use crate::session::{NewSession, Session, SessionEndReason};
use crate::{Error, Result, SessionId};

/// Generated ids tried for a new session; usually the first is free.
const MAX_ATTEMPTS: usize = 8;

const INSERT: &str = "INSERT INTO sessions (id, source, user_id, session_key, chat_id, chat_type,
     thread_id, model, model_config, system_prompt, parent_session_id, cwd, git_branch,
     git_repo_root, profile_name, started_at)
 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)
 ON CONFLICT(id) DO NOTHING";

impl SessionStore {
    /// Creates a session. An id that already exists is an error.
    pub fn create_session(&mut self, new: &NewSession) -> Result<SessionId> {
        self.write_unsynced(|transaction| {
            if let Some(parent) = &new.parent {
                transaction.must_exist(parent)?;
            }
            if let Some(id) = &new.id {
                return if transaction.insert_session(id, new)? {
                    Ok(id.clone())
                } else {
                    Err(Error::Exists { id: id.to_string() })
                };
            }
            let mut id = SessionId::generate();
            for _ in 0..MAX_ATTEMPTS {
                if transaction.insert_session(&id, new)? {
                    return Ok(id);
                }
                id = SessionId::generate();
            }
            Err(Error::Exists { id: id.to_string() })
        })
    }

    /// A session, if it exists.
    pub fn session(&self, id: &SessionId) -> Result<Option<Session>> {
        self.read(|transaction| transaction.session(id))
    }

    /// Ends a session. The first reason stays; ending it again changes nothing.
    pub fn end_session(&mut self, id: &SessionId, reason: SessionEndReason) -> Result<()> {
        self.end_session_as(id, reason.as_str())
    }

    /// As [`Self::end_session`], for a reason of somebody else's.
    pub fn end_session_as(&mut self, id: &SessionId, reason: &str) -> Result<()> {
        self.write_unsynced(|transaction| {
            transaction.must_exist(id)?;
            transaction.execute(
                "UPDATE sessions SET ended_at = ?2, end_reason = ?3
                 WHERE id = ?1 AND ended_at IS NULL",
                params![id.as_str(), transaction.now, reason],
            )?;
            Ok(())
        })
    }

    /// Stores the exact system prompt.
    pub fn set_system_prompt(&mut self, id: &SessionId, prompt: &str) -> Result<()> {
        let sql = "UPDATE sessions SET system_prompt = ?2 WHERE id = ?1";
        self.update(sql, id, prompt)
    }

    /// Stores the model for the following turns.
    pub fn set_model(&mut self, id: &SessionId, model: &str) -> Result<()> {
        self.update("UPDATE sessions SET model = ?2 WHERE id = ?1", id, model)
    }

    fn update(&mut self, sql: &str, id: &SessionId, value: &str) -> Result<()> {
        self.write_unsynced(|transaction| {
            if transaction.execute(sql, params![id.as_str(), value])? == 0 {
                return Err(id.unknown());
            }
            Ok(())
        })
    }
}

impl SessionTransaction<'_> {
    /// Reopens a session and returns it with its stored messages.
    pub(super) fn reopen(&self, id: &SessionId) -> Result<(Session, Vec<StoredMessage>)> {
        let found = self.execute(
            "UPDATE sessions SET ended_at = NULL, end_reason = NULL WHERE id = ?1",
            params![id.as_str()],
        )?;
        if found == 0 {
            return Err(id.unknown());
        }
        let messages = self.active_messages(id)?;
        self.deactivate_unanswered_calls(id, &messages)?;
        Ok((self.known_session(id)?, messages))
    }

    pub(super) fn session(&self, id: &SessionId) -> Result<Option<Session>> {
        self.row(
            "SELECT * FROM sessions WHERE id = ?1",
            params![id.as_str()],
            rows::session,
        )
    }

    pub(super) fn known_session(&self, id: &SessionId) -> Result<Session> {
        self.session(id)?.ok_or_else(|| id.unknown())
    }

    pub(super) fn must_exist(&self, id: &SessionId) -> Result<()> {
        self.row(
            "SELECT 1 FROM sessions WHERE id = ?1",
            params![id.as_str()],
            |_| Ok(()),
        )?
        .ok_or_else(|| id.unknown())
    }

    pub(super) fn insert_session(&self, id: &SessionId, new: &NewSession) -> Result<bool> {
        let inserted = self.execute(
            INSERT,
            params![
                id.as_str(),
                new.source,
                new.user_id,
                new.session_key,
                new.chat_id,
                new.chat_type,
                new.thread_id,
                new.model,
                new.model_config.as_ref().map(Value::to_string),
                new.system_prompt,
                new.parent.as_ref().map(SessionId::as_str),
                new.cwd,
                new.git_branch,
                new.git_repo_root,
                new.profile_name,
                self.now,
            ],
        )?;
        Ok(inserted > 0)
    }
}
