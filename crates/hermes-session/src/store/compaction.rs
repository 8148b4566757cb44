//! Compaction in place: the summarised rows stay in the file, searchable and exportable, and the
//! conversation goes on under the same id.

use std::time::Duration;

use hermes_store::rusqlite::params;

use super::{Scope, SessionStore};
use crate::message::Message;
use crate::session::Usage;
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

/// What a compaction changes.
#[derive(Debug, Clone, Default)]
pub struct Compaction {
    /// The last message that stays as it is; everything behind it is summarised or repeated in
    /// `messages`. `None` if no message stays.
    pub keep_through: Option<MessageId>,
    /// The summary and the messages behind it, in their order. Repeated ones keep their time.
    pub messages: Vec<Message>,
    /// The system prompt from now on, if it changes.
    pub system_prompt: Option<String>,
    /// What the summary cost.
    pub usage: Option<Usage>,
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
    /// Takes the right to compact a session; `None` if another holder has it. A right that expired,
    /// because its holder died, is taken over.
    pub fn try_lock_compaction(
        &mut self,
        session: &SessionId,
        holder: &str,
        lease: Duration,
    ) -> Result<Option<CompactionLock>> {
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

    /// Puts the summarised messages aside and stores what stands for them, in one transaction.
    /// Gives the numbers of the new messages.
    pub fn compact(
        &mut self,
        lock: &CompactionLock,
        compaction: &Compaction,
    ) -> Result<Vec<MessageId>> {
        let session = &lock.session;
        self.write(|scope| {
            scope.must_hold(lock)?;
            scope.execute(
                "UPDATE messages SET active = 0, compacted = 1
                 WHERE session_id = ?1 AND id > ?2 AND active IS NOT 0",
                params![
                    session.as_str(),
                    compaction.keep_through.map_or(0, |message| message.0)
                ],
            )?;
            let ids = scope.insert_messages(session, &compaction.messages)?;
            scope.recount(session)?;
            if let Some(prompt) = &compaction.system_prompt {
                scope.execute(
                    "UPDATE sessions SET system_prompt = ?2 WHERE id = ?1",
                    params![session.as_str(), prompt],
                )?;
            }
            if let Some(usage) = &compaction.usage {
                scope.add_usage(session, usage)?;
            }
            scope.set_pause(session, None)?;
            Ok(ids)
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
