//! Beginning, resuming, changing and ending a session.

use hermes_store::rusqlite::params;
use serde_json::Value;

use super::{Scope, SessionStore, cells};
use crate::error::unknown;
use crate::message::StoredMessage;
use crate::session::{EndReason, NewSession, Session};
use crate::{Error, Result, SessionId};

/// Ids tried before a new session gives up; chance makes one enough.
const TRIES: usize = 8;

const INSERT: &str = "INSERT INTO sessions (id, source, user_id, session_key, chat_id, chat_type,
     thread_id, model, model_config, system_prompt, parent_session_id, cwd, git_branch,
     git_repo_root, profile_name, started_at)
 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)
 ON CONFLICT(id) DO NOTHING";

impl SessionStore {
    /// Begins a session. With an id that exists already this is an error.
    pub fn create_session(&mut self, new: &NewSession) -> Result<SessionId> {
        let clock = self.clock.clone();
        self.note(|scope| {
            if let Some(parent) = &new.parent {
                scope.must_exist(parent)?;
            }
            if let Some(id) = &new.id {
                return if scope.insert_session(id, new)? {
                    Ok(id.clone())
                } else {
                    Err(Error::Exists { id: id.clone() })
                };
            }
            let mut id = SessionId::generate(clock.as_ref());
            for _ in 0..TRIES {
                if scope.insert_session(&id, new)? {
                    return Ok(id);
                }
                id = SessionId::generate(clock.as_ref());
            }
            Err(Error::Exists { id })
        })
    }

    /// A session, if it exists.
    pub fn session(&self, id: &SessionId) -> Result<Option<Session>> {
        self.read(|scope| scope.session(id))
    }

    /// Opens a session again: it has not ended any more. A call that was left without a result by a
    /// crash of another program is put aside, so that new messages follow a whole history.
    pub fn reopen_session(&mut self, id: &SessionId) -> Result<Session> {
        self.note(|scope| scope.reopen(id).map(|(session, _)| session))
    }

    /// Ends a session. The first reason stays; ending it again changes nothing.
    pub fn end_session(&mut self, id: &SessionId, reason: &EndReason) -> Result<()> {
        self.note(|scope| {
            scope.must_exist(id)?;
            scope.execute(
                "UPDATE sessions SET ended_at = ?2, end_reason = ?3
                 WHERE id = ?1 AND ended_at IS NULL",
                params![id.as_str(), scope.now, reason.as_str()],
            )?;
            Ok(())
        })
    }

    /// Stores the exact system prompt.
    pub fn set_system_prompt(&mut self, id: &SessionId, prompt: &str) -> Result<()> {
        self.change(
            "UPDATE sessions SET system_prompt = ?2 WHERE id = ?1",
            id,
            prompt,
        )
    }

    /// Stores the model it goes on with.
    pub fn set_model(&mut self, id: &SessionId, model: &str) -> Result<()> {
        self.change("UPDATE sessions SET model = ?2 WHERE id = ?1", id, model)
    }

    /// Stores the settings of the model.
    pub fn set_model_config(&mut self, id: &SessionId, config: &Value) -> Result<()> {
        self.change(
            "UPDATE sessions SET model_config = ?2 WHERE id = ?1",
            id,
            &config.to_string(),
        )
    }

    /// Stores the directory it works in.
    pub fn set_cwd(&mut self, id: &SessionId, cwd: &str) -> Result<()> {
        self.change("UPDATE sessions SET cwd = ?2 WHERE id = ?1", id, cwd)
    }

    fn change(&mut self, sql: &str, id: &SessionId, value: &str) -> Result<()> {
        self.note(|scope| {
            if scope.execute(sql, params![id.as_str(), value])? == 0 {
                return Err(unknown(id));
            }
            Ok(())
        })
    }
}

impl Scope<'_> {
    /// Opens a session again. Gives it with its messages as they lay in the file.
    pub(super) fn reopen(&self, id: &SessionId) -> Result<(Session, Vec<StoredMessage>)> {
        let found = self.execute(
            "UPDATE sessions SET ended_at = NULL, end_reason = NULL WHERE id = ?1",
            params![id.as_str()],
        )?;
        if found == 0 {
            return Err(unknown(id));
        }
        let messages = self.messages(id, true)?;
        self.put_aside_open_calls(id, &messages)?;
        let session = self.session(id)?.ok_or_else(|| unknown(id))?;
        Ok((session, messages))
    }

    pub(super) fn session(&self, id: &SessionId) -> Result<Option<Session>> {
        self.row(
            "SELECT * FROM sessions WHERE id = ?1",
            params![id.as_str()],
            cells::session,
        )
    }

    pub(super) fn must_exist(&self, id: &SessionId) -> Result<()> {
        self.row(
            "SELECT 1 FROM sessions WHERE id = ?1",
            params![id.as_str()],
            |_| Ok(()),
        )?
        .ok_or_else(|| unknown(id))
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
