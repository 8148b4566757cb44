//! Finding a session by id, title or id prefix, and the session that continues it.

use std::collections::HashSet;

use hermes_store::rusqlite::{Params, params};

use super::sql_fragments::{continues, like_prefix, session_mark};
use super::{SessionStore, SessionTransaction};
use crate::error::display_text;
use crate::{Error, Result, SessionId};

/// Children followed from a session without messages.
const MAX_EMPTY: usize = 32;
/// Continuations followed from a compacted session, and parents from any.
const MAX_CHAIN: usize = 100;
/// Ids named in the error about an ambiguous prefix.
const EXAMPLES: usize = 5;

impl SessionStore {
    /// The session with this id, this title (the latest of its numbered variants) or this unique id
    /// prefix.
    pub fn find(&self, text: &str) -> Result<SessionId> {
        self.read(|transaction| transaction.find(text))
    }

    /// As [`Self::find`], followed to the session to resume: past sessions without messages and past
    /// those that were compacted into a child.
    pub fn resolve(&self, text: &str) -> Result<SessionId> {
        self.read(|transaction| {
            let found = transaction.find(text)?;
            transaction.resumable(found)
        })
    }

    /// The session of this source with the newest message, followed to the session to resume.
    pub fn most_recent(&self, source: &str) -> Result<Option<SessionId>> {
        self.read(|transaction| {
            let last = transaction.session_id(
                concat!(
                    "SELECT s.id FROM sessions s
                     WHERE s.source = ?1 AND EXISTS (SELECT 1 FROM messages m WHERE m.session_id = s.id)
                         AND (", session_mark!("s", "_delegate_from"), ") IS NULL
                     ORDER BY (SELECT max(m.timestamp) FROM messages m WHERE m.session_id = s.id) DESC,
                         s.started_at DESC, s.id DESC
                     LIMIT 1"
                ),
                params![source],
            )?;
            last.map(|id| transaction.tip(id)).transpose()
        })
    }

    /// The first session of a conversation: the last of its parents.
    pub fn root_of(&self, id: &SessionId) -> Result<SessionId> {
        self.read(|transaction| transaction.root(id.clone()))
    }
}

impl SessionTransaction<'_> {
    fn find(&self, text: &str) -> Result<SessionId> {
        let text = text.trim();
        let id = SessionId::parse(text)?;
        match self.must_exist(&id) {
            Ok(()) => return Ok(id),
            Err(Error::Unknown { .. }) => {}
            Err(error) => return Err(error),
        }
        if let Some((id, _)) = self.by_title(text)? {
            return Ok(id);
        }
        let mut matches = self.rows(
            "SELECT id FROM sessions WHERE id LIKE ?1 ESCAPE '\\' ORDER BY started_at DESC, id DESC",
            params![like_prefix(text)],
            |row| Ok(SessionId::from_row(row.get(0)?)),
        )?;
        match matches.len() {
            0 => Err(id.unknown()),
            1 => matches.pop().ok_or_else(|| id.unknown()),
            count => {
                matches.truncate(EXAMPLES);
                Err(Error::Ambiguous {
                    shown: display_text(text),
                    count,
                    examples: matches.iter().map(ToString::to_string).collect(),
                })
            }
        }
    }

    /// The latest of `title #N`, or else the one with exactly this title.
    pub(super) fn by_title(&self, title: &str) -> Result<Option<(SessionId, String)>> {
        let variants = self.variants(title)?;
        let numbered = variants.iter().find(|(_, found)| found != title);
        Ok(numbered.or_else(|| variants.first()).cloned())
    }

    fn resumable(&self, id: SessionId) -> Result<SessionId> {
        let id = self.tip(id)?;
        if self.has_messages(&id)? {
            return Ok(id);
        }
        let mut current = id.clone();
        let mut seen = HashSet::from([current.clone()]);
        for _ in 0..MAX_EMPTY {
            let child = self.session_id(
                concat!(
                    "SELECT c.id FROM sessions c
                     WHERE c.parent_session_id = ?1 AND COALESCE(c.source, '') <> 'tool'
                         AND (",
                    session_mark!("c", "_branched_from"),
                    ") IS NULL
                         AND (",
                    session_mark!("c", "_delegate_from"),
                    ") IS NULL
                     ORDER BY c.started_at DESC, c.id DESC LIMIT 1"
                ),
                params![current.as_str()],
            )?;
            match child {
                Some(child) if seen.insert(child.clone()) => current = child,
                Some(_) | None => break,
            }
            if self.has_messages(&current)? {
                return self.tip(current);
            }
        }
        Ok(id)
    }

    fn has_messages(&self, id: &SessionId) -> Result<bool> {
        let found = self.row(
            "SELECT 1 FROM messages WHERE session_id = ?1 LIMIT 1",
            params![id.as_str()],
            |_| Ok(()),
        )?;
        Ok(found.is_some())
    }

    /// The last session of a compacted conversation. Of several children the one that was itself
    /// continued is preferred, then one that has not ended, then the latest.
    pub(super) fn tip(&self, id: SessionId) -> Result<SessionId> {
        self.follow(
            id,
            concat!(
                "SELECT c.id FROM sessions p JOIN sessions c ON c.parent_session_id = p.id
                 WHERE p.id = ?1 AND ",
                continues!("c", "p"),
                "
                 ORDER BY CASE WHEN c.end_reason = 'compression' THEN 0
                         WHEN c.ended_at IS NULL THEN 1 ELSE 2 END,
                     COALESCE((SELECT max(m.timestamp) FROM messages m
                         WHERE m.session_id = c.id), c.started_at) DESC,
                     c.started_at DESC, c.id DESC
                 LIMIT 1"
            ),
        )
    }

    pub(super) fn root(&self, id: SessionId) -> Result<SessionId> {
        self.follow(
            id,
            "SELECT p.id FROM sessions c JOIN sessions p ON p.id = c.parent_session_id
             WHERE c.id = ?1",
        )
    }

    /// The end of the chain that `next` leads along. Survives circles.
    fn follow(&self, id: SessionId, next: &str) -> Result<SessionId> {
        let mut current = id;
        let mut seen = HashSet::from([current.clone()]);
        for _ in 0..MAX_CHAIN {
            match self.session_id(next, params![current.as_str()])? {
                Some(next) if seen.insert(next.clone()) => current = next,
                Some(_) | None => break,
            }
        }
        Ok(current)
    }

    /// The session id in the first row of a query.
    pub(super) fn session_id(&self, sql: &str, params: impl Params) -> Result<Option<SessionId>> {
        self.row(sql, params, |row| Ok(SessionId::from_row(row.get(0)?)))
    }

    /// Whether `later` continues the conversation of `earlier` after compactions.
    pub(super) fn is_continued_by(&self, earlier: &SessionId, later: &SessionId) -> Result<bool> {
        let found = self.row(
            concat!(
                "WITH RECURSIVE before(id) AS (
                     SELECT ?2
                     UNION
                     SELECT p.id FROM before b
                     JOIN sessions c ON c.id = b.id JOIN sessions p ON p.id = c.parent_session_id
                     WHERE ",
                continues!("c", "p"),
                "
                 )
                 SELECT 1 FROM before WHERE id = ?1 AND id <> ?2"
            ),
            params![earlier.as_str(), later.as_str()],
            |_| Ok(()),
        )?;
        Ok(found.is_some())
    }
}
