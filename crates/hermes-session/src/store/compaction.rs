//! Compaction in place: summarised rows stay in the file, searchable and exportable, and the
//! conversation keeps its id.

use std::time::Duration;

use hermes_store::rusqlite::params;

use super::{SessionStore, SessionTransaction};
use crate::message::SessionMessage;
use crate::{Error, MessageId, Result, SessionId};

/// The lock that allows compacting one session, until it expires.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompactionLock {
    session: SessionId,
    holder: String,
}

impl CompactionLock {
    /// The session.
    pub fn session(&self) -> &SessionId {
        &self.session
    }
}

/// The result of trying to lock a session for compaction.
#[derive(Debug, Clone, PartialEq)]
pub enum LockAttempt {
    Taken(CompactionLock),
    Held {
        holder: String,
        /// When the lock expires, in seconds since 1970.
        until: f64,
    },
}

/// The changes of a compaction. All other messages stay, also those that another process stores
/// in the meantime.
#[derive(Debug, Clone, Default)]
pub struct Compaction {
    /// Messages that the summary replaces.
    pub summarised: Vec<MessageId>,
    /// Messages with their replacements, which keep the timestamp. The originals stay in the file
    /// like summarised ones.
    pub replaced: Vec<(MessageId, SessionMessage)>,
    /// The new system prompt, if it changes.
    pub system_prompt: Option<String>,
}

impl SessionStore {
    /// Locks a session for compaction, unless another holder has the lock. The lock of `dead`, a
    /// holder whose process is gone, and an expired one are taken over.
    pub fn try_lock_compaction(
        &mut self,
        session: &SessionId,
        holder: &str,
        dead: Option<&str>,
        lease: Duration,
    ) -> Result<LockAttempt> {
        self.write_unsynced(|transaction| {
            transaction.must_exist(session)?;
            let taken = transaction.execute(
                "INSERT INTO compression_locks (session_id, holder, acquired_at, expires_at)
                 VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT(session_id) DO UPDATE SET holder = excluded.holder,
                     acquired_at = excluded.acquired_at, expires_at = excluded.expires_at
                 WHERE holder = excluded.holder OR expires_at < ?3 OR holder = ?5",
                params![
                    session.as_str(),
                    holder,
                    transaction.now,
                    transaction.now + lease.as_secs_f64(),
                    dead
                ],
            )?;
            if taken > 0 {
                return Ok(LockAttempt::Taken(CompactionLock {
                    session: session.clone(),
                    holder: holder.to_owned(),
                }));
            }
            let held = transaction.row(
                "SELECT holder, expires_at FROM compression_locks WHERE session_id = ?1",
                params![session.as_str()],
                |row| {
                    Ok(LockAttempt::Held {
                        holder: row.get(0)?,
                        until: row.get(1)?,
                    })
                },
            )?;
            held.ok_or_else(|| Error::CompactionLost {
                session: session.to_string(),
                holder: None,
            })
        })
    }

    /// Extends the lock; an error if another holder has it by now.
    pub fn refresh_compaction_lock(
        &mut self,
        lock: &CompactionLock,
        lease: Duration,
    ) -> Result<()> {
        self.write_unsynced(|transaction| {
            transaction.require_lock(lock)?;
            transaction.execute(
                "UPDATE compression_locks SET expires_at = ?3 WHERE session_id = ?1 AND holder = ?2",
                params![lock.session.as_str(), lock.holder, transaction.now + lease.as_secs_f64()],
            )?;
            Ok(())
        })
    }

    /// Releases the lock, if this process still has it.
    pub fn unlock_compaction(&mut self, lock: CompactionLock) -> Result<()> {
        self.write_unsynced(|transaction| {
            transaction.execute(
                "DELETE FROM compression_locks WHERE session_id = ?1 AND holder = ?2",
                params![lock.session.as_str(), lock.holder],
            )?;
            Ok(())
        })
    }

    /// Replaces the summarised messages, in one transaction. An error if one of them is no longer
    /// part of the conversation.
    pub fn compact(&mut self, lock: &CompactionLock, compaction: &Compaction) -> Result<()> {
        let session = &lock.session;
        self.write(|transaction| {
            transaction.require_lock(lock)?;
            for id in &compaction.summarised {
                let found = transaction.execute(
                    "UPDATE messages SET active = 0, compacted = 1
                     WHERE session_id = ?1 AND id = ?2 AND active IS NOT 0",
                    params![session.as_str(), id.0],
                )?;
                if found == 0 {
                    return Err(stale(session));
                }
            }
            for (id, message) in &compaction.replaced {
                transaction.replace_message(session, *id, message)?;
            }
            transaction.recount(session)?;
            if let Some(prompt) = &compaction.system_prompt {
                transaction.execute(
                    "UPDATE sessions SET system_prompt = ?2 WHERE id = ?1",
                    params![session.as_str(), prompt],
                )?;
            }
            transaction.set_pause(session, None)
        })
    }

    /// Stores a pause and the error of a failed summary, or ends the pause with `None`.
    pub fn set_compaction_pause(
        &mut self,
        session: &SessionId,
        pause: Option<(Duration, &str)>,
    ) -> Result<()> {
        self.write(|transaction| {
            transaction.must_exist(session)?;
            transaction.set_pause(session, pause)
        })
    }

    /// Whether a failed summary has put off the next one.
    pub fn is_compaction_paused(&self, session: &SessionId) -> Result<bool> {
        self.read(|transaction| {
            let paused = transaction.row(
                "SELECT 1 FROM sessions WHERE id = ?1 AND compression_failure_cooldown_until > ?2",
                params![session.as_str(), transaction.now],
                |_| Ok(()),
            )?;
            Ok(paused.is_some())
        })
    }
}

impl SessionTransaction<'_> {
    /// Replaces a message. Every program reads a conversation in the order of ids, so the new
    /// message gets the old one's id and the old one a new id. Their equal timestamps still place
    /// them beside each other.
    fn replace_message(
        &self,
        session: &SessionId,
        id: MessageId,
        message: &SessionMessage,
    ) -> Result<()> {
        let timestamp = self.row(
            "SELECT timestamp FROM messages
             WHERE session_id = ?1 AND id = ?2 AND active IS NOT 0",
            params![session.as_str(), id.0],
            |row| Ok(super::rows::SessionRow(row).real("timestamp")),
        )?;
        let new = SessionMessage {
            timestamp: timestamp.ok_or_else(|| stale(session))?,
            ..message.clone()
        };
        let inserted = self.insert_messages(session, &[new])?;
        let inserted = inserted.first().ok_or_else(|| stale(session))?.0;
        // Naming `content` makes the triggers update the search index.
        self.execute(
            "UPDATE messages SET id = ?2, content = content, active = 0, compacted = 1
             WHERE id = ?1",
            params![id.0, inserted + 1],
        )?;
        self.execute(
            "UPDATE messages SET id = ?2, content = content WHERE id = ?1",
            params![inserted, id.0],
        )?;
        Ok(())
    }

    fn set_pause(&self, session: &SessionId, pause: Option<(Duration, &str)>) -> Result<()> {
        self.execute(
            "UPDATE sessions SET compression_failure_cooldown_until = ?2,
                 compression_failure_error = ?3
             WHERE id = ?1",
            params![
                session.as_str(),
                pause.map(|(length, _)| self.now + length.as_secs_f64()),
                pause.map(|(_, error)| error)
            ],
        )?;
        Ok(())
    }

    fn require_lock(&self, lock: &CompactionLock) -> Result<()> {
        let holder: Option<String> = self.row(
            "SELECT holder FROM compression_locks WHERE session_id = ?1 AND expires_at >= ?2",
            params![lock.session.as_str(), self.now],
            |row| row.get(0),
        )?;
        match holder {
            Some(holder) if holder == lock.holder => Ok(()),
            other => Err(Error::CompactionLost {
                session: lock.session.to_string(),
                holder: other,
            }),
        }
    }
}

fn stale(session: &SessionId) -> Error {
    Error::CompactionStale {
        session: session.to_string(),
    }
}
