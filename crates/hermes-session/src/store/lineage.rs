//! Which session is meant: by id, title or the beginning of an id, and where its conversation goes
//! on.

use std::collections::HashSet;

use hermes_store::rusqlite::params;

use super::fragments::{continues, like_prefix, marked};
use super::{Scope, SessionStore};
use crate::error::unknown;
use crate::{Error, Result, SessionId};

/// Children followed from a session without messages.
const MAX_EMPTY: usize = 32;
/// Continuations followed from a compacted session, and parents from any.
const MAX_CHAIN: usize = 100;
/// Ids that a message about an ambiguous beginning names.
const EXAMPLES: usize = 5;

impl SessionStore {
    /// The session that a person means, as they wrote it: an exact id, a title (of its numbered
    /// variants the latest), or the beginning of one id.
    pub fn find(&self, text: &str) -> Result<SessionId> {
        self.read(|scope| scope.find(text))
    }

    /// As [`Self::find`], then on to where the conversation can be resumed: past sessions without
    /// messages and past those that were compacted into a child.
    pub fn resolve(&self, text: &str) -> Result<SessionId> {
        self.read(|scope| {
            let found = scope.find(text)?;
            scope.resumable(found)
        })
    }

    /// The session of this source that something was said in last, where it can be resumed.
    pub fn most_recent(&self, source: &str) -> Result<Option<SessionId>> {
        self.read(|scope| {
            let last = scope.row(
                concat!(
                    "SELECT s.id FROM sessions s
                     WHERE s.source = ?1 AND EXISTS (SELECT 1 FROM messages m WHERE m.session_id = s.id)
                         AND (", marked!("s", "_delegate_from"), ") IS NULL
                     ORDER BY (SELECT max(m.timestamp) FROM messages m WHERE m.session_id = s.id) DESC,
                         s.started_at DESC, s.id DESC
                     LIMIT 1"
                ),
                params![source],
                |row| Ok(SessionId::of_row(row.get(0)?)),
            )?;
            last.map(|id| scope.tip(id)).transpose()
        })
    }

    /// The session at the beginning of a conversation: its parents followed to the end.
    pub fn root_of(&self, id: &SessionId) -> Result<SessionId> {
        self.read(|scope| scope.root(id.clone()))
    }
}

impl Scope<'_> {
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
            |row| Ok(SessionId::of_row(row.get(0)?)),
        )?;
        match matches.len() {
            0 => Err(unknown(&id)),
            1 => matches.pop().ok_or_else(|| unknown(&id)),
            count => {
                matches.truncate(EXAMPLES);
                Err(Error::Ambiguous {
                    shown: crate::shown(text),
                    count,
                    examples: matches,
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
            let child = self.row(
                concat!(
                    "SELECT c.id FROM sessions c
                     WHERE c.parent_session_id = ?1 AND COALESCE(c.source, '') <> 'tool'
                         AND (",
                    marked!("c", "_branched_from"),
                    ") IS NULL
                         AND (",
                    marked!("c", "_delegate_from"),
                    ") IS NULL
                     ORDER BY c.started_at DESC, c.id DESC LIMIT 1"
                ),
                params![current.as_str()],
                |row| Ok(SessionId::of_row(row.get(0)?)),
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

    /// Where a compacted conversation goes on. Of several children the one that itself went on is
    /// preferred, then one that has not ended, then the latest.
    pub(super) fn tip(&self, id: SessionId) -> Result<SessionId> {
        let mut current = id;
        let mut seen = HashSet::from([current.clone()]);
        for _ in 0..MAX_CHAIN {
            let child = self.row(
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
                params![current.as_str()],
                |row| Ok(SessionId::of_row(row.get(0)?)),
            )?;
            match child {
                Some(child) if seen.insert(child.clone()) => current = child,
                Some(_) | None => break,
            }
        }
        Ok(current)
    }

    pub(super) fn root(&self, id: SessionId) -> Result<SessionId> {
        let mut current = id;
        let mut seen = HashSet::from([current.clone()]);
        for _ in 0..MAX_CHAIN {
            let parent = self.row(
                "SELECT p.id FROM sessions c JOIN sessions p ON p.id = c.parent_session_id
                 WHERE c.id = ?1",
                params![current.as_str()],
                |row| Ok(SessionId::of_row(row.get(0)?)),
            )?;
            match parent {
                Some(parent) if seen.insert(parent.clone()) => current = parent,
                Some(_) | None => break,
            }
        }
        Ok(current)
    }

    /// Whether the conversation of `earlier` went on, through compactions, in `later`.
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
