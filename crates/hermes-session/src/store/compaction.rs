//! Compaction in place: the summarised rows stay in the file, searchable and exportable, and the
//! conversation goes on under the same id.

use std::time::Duration;

use hermes_store::rusqlite::params;

use super::{Scope, SessionStore};
use crate::message::Message;
use crate::{Error, MessageId, Result, SessionId};

/// The right to compact one session, until it expires.
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

/// An attempt to get the right to compact a session.
#[derive(Debug, Clone, PartialEq)]
pub enum LockAttempt {
    /// It is ours.
    Taken(CompactionLock),
    /// Somebody else has it.
    Held {
        /// Who, as it was said when the right was taken.
        holder: String,
        /// Until when, in seconds since 1970.
        until: f64,
    },
}

/// What a compaction changes. Messages that are not named stay as they are and where they are, also
/// those that another process stores meanwhile.
#[derive(Debug, Clone, Default)]
pub struct Compaction {
    /// Messages that a summary stands for.
    pub put_aside: Vec<MessageId>,
    /// Messages in whose place others stand from now on, with their time. The originals stay in the
    /// file like those that were put aside.
    pub replaced: Vec<(MessageId, Message)>,
    /// The system prompt from now on, if it changes.
    pub system_prompt: Option<String>,
}

/// A pause after a summary that failed.
#[derive(Debug, Clone, PartialEq)]
pub struct CompactionPause {
    /// Its end, in seconds since 1970.
    pub until: f64,
    /// What went wrong.
    pub error: Option<String>,
}

impl SessionStore {
    /// Takes the right to compact a session, unless another holder has it. A right that expired is
    /// taken over.
    pub fn try_lock_compaction(
        &mut self,
        session: &SessionId,
        holder: &str,
        lease: Duration,
    ) -> Result<LockAttempt> {
        self.note(|scope| {
            scope.must_exist(session)?;
            let taken = scope.execute(
                "INSERT INTO compression_locks (session_id, holder, acquired_at, expires_at)
                 VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT(session_id) DO UPDATE SET holder = excluded.holder,
                     acquired_at = excluded.acquired_at, expires_at = excluded.expires_at
                 WHERE holder = excluded.holder OR expires_at < ?3",
                params![
                    session.as_str(),
                    holder,
                    scope.now,
                    scope.now + lease.as_secs_f64()
                ],
            )?;
            if taken > 0 {
                return Ok(LockAttempt::Taken(CompactionLock {
                    session: session.clone(),
                    holder: holder.to_owned(),
                }));
            }
            let held = scope.row(
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
                session: session.clone(),
                holder: None,
            })
        })
    }

    /// Takes the right from a holder that is known to be gone. `None` if it is not the holder any
    /// more.
    pub fn take_over_compaction_lock(
        &mut self,
        session: &SessionId,
        gone: &str,
        holder: &str,
        lease: Duration,
    ) -> Result<Option<CompactionLock>> {
        self.note(|scope| {
            let taken = scope.execute(
                "UPDATE compression_locks SET holder = ?3, acquired_at = ?4, expires_at = ?5
                 WHERE session_id = ?1 AND holder = ?2",
                params![
                    session.as_str(),
                    gone,
                    holder,
                    scope.now,
                    scope.now + lease.as_secs_f64()
                ],
            )?;
            Ok((taken > 0).then(|| CompactionLock {
                session: session.clone(),
                holder: holder.to_owned(),
            }))
        })
    }

    /// Prolongs the right; an error if somebody else has it by now.
    pub fn refresh_compaction_lock(
        &mut self,
        lock: &CompactionLock,
        lease: Duration,
    ) -> Result<()> {
        self.note(|scope| {
            scope.must_hold(lock)?;
            scope.execute(
                "UPDATE compression_locks SET expires_at = ?3 WHERE session_id = ?1 AND holder = ?2",
                params![lock.session.as_str(), lock.holder, scope.now + lease.as_secs_f64()],
            )?;
            Ok(())
        })
    }

    /// Gives the right back, if it is still ours.
    pub fn unlock_compaction(&mut self, lock: CompactionLock) -> Result<()> {
        self.note(|scope| {
            scope.execute(
                "DELETE FROM compression_locks WHERE session_id = ?1 AND holder = ?2",
                params![lock.session.as_str(), lock.holder],
            )?;
            Ok(())
        })
    }

    /// Puts the summarised messages aside and stores what stands for them, in one transaction. An
    /// error if one of them is not part of the conversation any more.
    pub fn compact(&mut self, lock: &CompactionLock, compaction: &Compaction) -> Result<()> {
        let session = &lock.session;
        self.write(|scope| {
            scope.must_hold(lock)?;
            for id in &compaction.put_aside {
                let found = scope.execute(
                    "UPDATE messages SET active = 0, compacted = 1
                     WHERE session_id = ?1 AND id = ?2 AND active IS NOT 0",
                    params![session.as_str(), id.0],
                )?;
                if found == 0 {
                    return Err(stale(session));
                }
            }
            for (id, message) in &compaction.replaced {
                scope.replace_message(session, *id, message)?;
            }
            scope.recount(session)?;
            if let Some(prompt) = &compaction.system_prompt {
                scope.execute(
                    "UPDATE sessions SET system_prompt = ?2 WHERE id = ?1",
                    params![session.as_str(), prompt],
                )?;
            }
            scope.set_pause(session, None)
        })
    }

    /// Remembers that a summary failed, or with `None` that it need not be waited for any more.
    pub fn set_compaction_pause(
        &mut self,
        session: &SessionId,
        pause: Option<&CompactionPause>,
    ) -> Result<()> {
        self.write(|scope| {
            scope.must_exist(session)?;
            scope.set_pause(session, pause)
        })
    }

    /// The pause in force, if there is one.
    pub fn compaction_pause(&self, session: &SessionId) -> Result<Option<CompactionPause>> {
        self.read(|scope| {
            scope.row(
                "SELECT compression_failure_cooldown_until, compression_failure_error
                 FROM sessions WHERE id = ?1 AND compression_failure_cooldown_until > ?2",
                params![session.as_str(), scope.now],
                |row| {
                    Ok(CompactionPause {
                        until: row.get(0)?,
                        error: row.get(1)?,
                    })
                },
            )
        })
    }
}

impl Scope<'_> {
    /// Puts a message in the place of another one. Every program reads a conversation in the order
    /// of its numbers, so the new one gets the number of the old one, and that a new number. With
    /// the same time the two are still found beside each other.
    fn replace_message(&self, session: &SessionId, id: MessageId, message: &Message) -> Result<()> {
        let timestamp = self.row(
            "SELECT timestamp FROM messages
             WHERE session_id = ?1 AND id = ?2 AND active IS NOT 0",
            params![session.as_str(), id.0],
            |row| Ok(super::cells::Cells(row).real("timestamp")),
        )?;
        let new = Message {
            timestamp: timestamp.ok_or_else(|| stale(session))?,
            ..message.clone()
        };
        let inserted = self.insert_messages(session, &[new])?;
        let inserted = inserted.first().ok_or_else(|| stale(session))?.0;
        // The content is named so that the index follows: it does not care for the other columns.
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

    fn set_pause(&self, session: &SessionId, pause: Option<&CompactionPause>) -> Result<()> {
        self.execute(
            "UPDATE sessions SET compression_failure_cooldown_until = ?2,
                 compression_failure_error = ?3
             WHERE id = ?1",
            params![
                session.as_str(),
                pause.map(|pause| pause.until),
                pause.and_then(|pause| pause.error.as_deref())
            ],
        )?;
        Ok(())
    }

    fn must_hold(&self, lock: &CompactionLock) -> Result<()> {
        let holder: Option<String> = self.row(
            "SELECT holder FROM compression_locks WHERE session_id = ?1 AND expires_at >= ?2",
            params![lock.session.as_str(), self.now],
            |row| row.get(0),
        )?;
        match holder {
            Some(holder) if holder == lock.holder => Ok(()),
            other => Err(Error::CompactionLost {
                session: lock.session.clone(),
                holder: other,
            }),
        }
    }
}

fn stale(session: &SessionId) -> Error {
    Error::CompactionStale {
        session: session.clone(),
    }
}
