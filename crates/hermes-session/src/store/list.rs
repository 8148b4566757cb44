//! Lists of conversations, and statistics.

use std::collections::BTreeMap;

use hermes_store::rusqlite::params;

use super::rows::SessionRow;
use super::sql_fragments::{continues, session_mark};
use super::{SessionStore, SessionTransaction};
use crate::message::MessageContent;
use crate::session::Session;
use crate::{Result, SessionId};

/// Characters of a preview.
const PREVIEW: usize = 60;

/// First sessions of conversations with the time of the latest message in any of their sessions.
/// Parameters: 1 source, 2 sources left out (JSON array), 3 whether archived ones count.
const CONVERSATIONS: &str = concat!(
    "WITH RECURSIVE
             heads(id) AS (
                 SELECT s.id FROM sessions s LEFT JOIN sessions p ON p.id = s.parent_session_id
                 WHERE (p.id IS NULL OR (",
    session_mark!("s", "_branched_from"),
    ") IS NOT NULL
                         OR (p.end_reason = 'branched' AND s.started_at >= p.ended_at))
                     AND (",
    session_mark!("s", "_delegate_from"),
    ") IS NULL
                     AND (?1 IS NULL OR s.source = ?1)
                     AND s.source NOT IN (SELECT value FROM json_each(?2))
                     AND (?3 OR COALESCE(s.archived, 0) = 0)
             ),
             parts(head, id) AS (
                 SELECT id, id FROM heads
                 UNION
                 SELECT parts.head, c.id FROM parts
                 JOIN sessions p ON p.id = parts.id JOIN sessions c ON c.parent_session_id = p.id
                 WHERE ",
    continues!("c", "p"),
    "
             ),
             activity(head, last) AS (
                 SELECT head, max(COALESCE(
                     (SELECT max(m.timestamp) FROM messages m WHERE m.session_id = parts.id),
                     (SELECT started_at FROM sessions own WHERE own.id = parts.id)))
                 FROM parts GROUP BY head
             )
             SELECT s.id, a.last FROM activity a JOIN sessions s ON s.id = a.head
             ORDER BY a.last DESC, s.started_at DESC, s.id DESC"
);

/// Which conversations to list.
#[derive(Debug, Clone, Default)]
pub struct ListRequest {
    pub source: Option<String>,
    pub excluded_sources: Vec<String>,
    /// Only those whose repository or directory path contains this text.
    pub workspace: Option<String>,
    /// Whether archived ones are listed, too.
    pub archived: bool,
    /// Maximum number of entries; all if none.
    pub limit: Option<usize>,
}

/// A conversation in a list.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedConversation {
    /// The session to resume: in older files the last of several.
    pub session: Session,
    /// The first session of the conversation.
    pub root: SessionId,
    /// The beginning of the first message.
    pub preview: String,
    /// Time of the latest message, in seconds since 1970.
    pub last_active: f64,
}

impl ListedConversation {
    /// The root of the git repository, or else the working directory.
    pub fn workspace(&self) -> Option<&str> {
        [&self.session.git_repo_root, &self.session.cwd]
            .into_iter()
            .flatten()
            .map(|path| path.trim())
            .find(|path| !path.is_empty())
    }
}

/// Statistics about all sessions.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Stats {
    pub total_sessions: i64,
    /// Messages, including inactive ones.
    pub total_messages: i64,
    pub open_sessions: i64,
    pub archived_sessions: i64,
    pub by_source: BTreeMap<String, i64>,
    /// Bytes of the database and its write-ahead log.
    pub database_bytes: u64,
}

impl SessionStore {
    /// Conversations, most recently active first. Runs of sub-agents and the later sessions of
    /// compacted conversations have no entries of their own.
    pub fn list(&self, request: &ListRequest) -> Result<Vec<ListedConversation>> {
        self.read(|transaction| {
            let mut listed = Vec::new();
            for (root, last_active) in transaction.conversations(request)? {
                if request.limit.is_some_and(|limit| listed.len() >= limit) {
                    break;
                }
                let entry = transaction.listed(root, last_active)?;
                // The workspace is that of the last session, known only now.
                let wanted = request.workspace.as_deref();
                if wanted.is_none_or(|wanted| works_in(&entry, wanted)) {
                    listed.push(entry);
                }
            }
            Ok(listed)
        })
    }

    /// Counts sessions and messages.
    pub fn stats(&self) -> Result<Stats> {
        let database_bytes = self.bytes()?;
        self.read(|transaction| {
            let count = |sql| {
                transaction
                    .row(sql, [], |row| row.get(0))
                    .map(Option::unwrap_or_default)
            };
            let by_source = transaction.rows(
                "SELECT source, count(*) AS count FROM sessions GROUP BY source",
                [],
                |row| {
                    let columns = SessionRow(row);
                    Ok((
                        columns.text("source").unwrap_or_default(),
                        columns.int("count").unwrap_or_default(),
                    ))
                },
            )?;
            Ok(Stats {
                total_sessions: count("SELECT count(*) FROM sessions")?,
                total_messages: count("SELECT count(*) FROM messages")?,
                open_sessions: count("SELECT count(*) FROM sessions WHERE ended_at IS NULL")?,
                archived_sessions: count("SELECT count(*) FROM sessions WHERE archived <> 0")?,
                by_source: by_source.into_iter().collect(),
                database_bytes,
            })
        })
    }
}

impl SessionTransaction<'_> {
    /// Selects only ids: whole rows, with their prompts, would have to be sorted, too.
    fn conversations(&self, request: &ListRequest) -> Result<Vec<(SessionId, f64)>> {
        let excluded = serde_json::Value::from(request.excluded_sources.clone()).to_string();
        self.rows(
            CONVERSATIONS,
            params![request.source, excluded, request.archived],
            |row| {
                let columns = SessionRow(row);
                let id = columns.text("id").unwrap_or_default();
                let last = columns.real("last").unwrap_or_default();
                Ok((SessionId::from_row(id), last))
            },
        )
    }

    fn listed(&self, root: SessionId, last_active: f64) -> Result<ListedConversation> {
        let mut current = self.known_session(&root)?;
        if current.end_reason.as_deref() == Some("compression") {
            let tip = self.tip(root.clone())?;
            if tip != root
                && let Some(found) = self.session(&tip)?
            {
                current = found;
            }
        }
        // The first message of the user says more than the beginning of a summary.
        let preview = match self.preview(&root)? {
            preview if preview.is_empty() => self.preview(&current.id)?,
            preview => preview,
        };
        Ok(ListedConversation {
            session: current,
            root,
            preview,
            last_active,
        })
    }

    pub(super) fn preview(&self, id: &SessionId) -> Result<String> {
        let first = self.row(
            "SELECT content FROM messages
             WHERE session_id = ?1 AND role = 'user' AND content IS NOT NULL
                 AND substr(content, 1, length(?2)) <> ?2
             ORDER BY id LIMIT 1",
            params![id.as_str(), crate::SUMMARY_MARK],
            |row| Ok(SessionRow(row).text("content").unwrap_or_default()),
        )?;
        let text = first
            .map(|stored| MessageContent::decode(stored).text())
            .unwrap_or_default();
        let words: Vec<&str> = text.split_whitespace().take(PREVIEW).collect();
        let line = words.join(" ");
        let preview = hermes_text::cut(&line, PREVIEW);
        Ok(if preview.len() < line.len() {
            format!("{preview}…")
        } else {
            line
        })
    }
}

fn works_in(listed: &ListedConversation, wanted: &str) -> bool {
    let wanted = wanted.trim().to_lowercase();
    listed
        .workspace()
        .is_some_and(|path| path.to_lowercase().contains(&wanted))
}
