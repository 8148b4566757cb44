//! Searching messages. A query that FTS5 rejects finds nothing instead of failing.

use hermes_store::rusqlite::{Row, params};
use hermes_text::cut;
use serde::Serialize;

use super::rows::SessionRow;
use super::sql_fragments::like_within;
use super::{SessionStore, SessionTransaction, search_sql as sql};
use crate::message::MessageContent;
use crate::search::{SearchPlan, plan};
use crate::{Error, MessageId, Result, SessionId};

/// Characters of a neighbouring message in a hit.
const NEIGHBOUR_CHARS: usize = 200;
/// Characters before the match in the snippet of a scan.
const CHARS_BEFORE_MATCH: usize = 40;
/// Characters in the snippet of a scan.
const SNIPPET_CHARS: usize = 120;

/// The order of hits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SearchOrder {
    #[default]
    Relevance,
    Newest,
    Oldest,
}

/// What to search for.
#[derive(Debug, Clone, Default)]
pub struct SearchRequest {
    pub query: String,
    /// Only sessions of these sources; all if empty.
    pub sources: Vec<String>,
    pub excluded_sources: Vec<String>,
    /// Only messages of these roles; all if empty.
    pub roles: Vec<String>,
    pub order: SearchOrder,
    /// Maximum number of hits; all if none.
    pub limit: Option<usize>,
    pub offset: usize,
}

/// A message beside a hit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Neighbour {
    pub role: String,
    /// The beginning of the text.
    pub content: String,
}

/// A message that matches.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SearchHit {
    pub id: MessageId,
    pub session_id: SessionId,
    pub role: String,
    /// The text around the match, with the match between `>>>` and `<<<`.
    pub snippet: String,
    /// Seconds since 1970.
    pub timestamp: f64,
    pub tool_name: Option<String>,
    pub source: String,
    pub model: Option<String>,
    pub session_started: f64,
    /// Whether a summary replaces the message.
    pub compacted: bool,
    /// The message before, the match, and the message after.
    pub context: Vec<Neighbour>,
}

impl SessionStore {
    /// Searches all messages.
    pub fn search(&self, request: &SearchRequest) -> Result<Vec<SearchHit>> {
        let plan = plan(&request.query);
        let found = self.read(|transaction| {
            let mut hits = transaction.hits(&plan, request)?;
            for hit in &mut hits {
                hit.context = transaction.neighbours(hit)?;
            }
            Ok(hits)
        });
        empty_if_rejected(found)
    }
}

/// The result, or nothing if FTS5 rejected the query.
pub(super) fn empty_if_rejected<T>(found: Result<Vec<T>>) -> Result<Vec<T>> {
    match found {
        Err(Error::Store(hermes_store::Error::Statement { source, .. })) => {
            tracing::debug!(error = %source, "full-text search rejected the query");
            Ok(Vec::new())
        }
        other => other,
    }
}

impl SessionTransaction<'_> {
    /// The matching messages, without their neighbours.
    pub(super) fn hits(
        &self,
        plan: &SearchPlan,
        request: &SearchRequest,
    ) -> Result<Vec<SearchHit>> {
        let (sql, query) = match plan {
            SearchPlan::Nothing => return Ok(Vec::new()),
            SearchPlan::Words(query) => (sql::WORDS, query.clone()),
            SearchPlan::Trigrams(query) => (sql::TRIGRAMS, query.clone()),
            SearchPlan::Scan(texts) => {
                let patterns: Vec<String> = texts.iter().map(|text| like_within(text)).collect();
                (sql::SCAN, json(&patterns))
            }
        };
        let order = match (plan, request.order) {
            (SearchPlan::Scan(_), SearchOrder::Relevance) | (_, SearchOrder::Newest) => 1,
            (_, SearchOrder::Oldest) => 2,
            (_, SearchOrder::Relevance) => 0,
        };
        let mut hits = self.rows(
            sql,
            params![
                query,
                json(&request.sources),
                json(&request.excluded_sources),
                json(&request.roles),
                order,
                request.limit.map_or(-1, super::count_of),
                super::count_of(request.offset),
            ],
            hit,
        )?;
        if let SearchPlan::Scan(texts) = plan {
            for hit in &mut hits {
                hit.snippet = snippet(&hit.snippet, texts);
            }
        }
        Ok(hits)
    }

    fn neighbours(&self, hit: &SearchHit) -> Result<Vec<Neighbour>> {
        self.rows(
            "SELECT * FROM (SELECT id, role, content FROM messages
                 WHERE session_id = ?1 AND id < ?2 ORDER BY id DESC LIMIT 1)
             UNION ALL SELECT id, role, content FROM messages WHERE id = ?2
             UNION ALL SELECT * FROM (SELECT id, role, content FROM messages
                 WHERE session_id = ?1 AND id > ?2 ORDER BY id LIMIT 1)",
            params![hit.session_id.as_str(), hit.id.0],
            |row| {
                let columns = SessionRow(row);
                let text = columns
                    .text("content")
                    .map(|stored| MessageContent::decode(stored).text());
                Ok(Neighbour {
                    role: columns.text("role").unwrap_or_default(),
                    content: cut(&text.unwrap_or_default(), NEIGHBOUR_CHARS).to_owned(),
                })
            },
        )
    }
}

fn hit(row: &Row<'_>) -> hermes_store::rusqlite::Result<SearchHit> {
    let columns = SessionRow(row);
    Ok(SearchHit {
        id: MessageId(row.get("id")?),
        session_id: SessionId::from_row(columns.text("session_id").unwrap_or_default()),
        role: columns.text("role").unwrap_or_default(),
        snippet: columns.text("snippet").unwrap_or_default(),
        timestamp: columns.real("timestamp").unwrap_or_default(),
        tool_name: columns.text("tool_name"),
        source: columns.text("source").unwrap_or_default(),
        model: columns.text("model"),
        session_started: columns.real("session_started").unwrap_or_default(),
        compacted: columns.flag("compacted"),
        context: Vec::new(),
    })
}

/// The text around the first match of any of `wanted`.
fn snippet(text: &str, wanted: &[String]) -> String {
    let at = wanted
        .iter()
        .filter_map(|wanted| text.find(wanted.as_str()))
        .min();
    let before = at
        .and_then(|at| text.get(..at))
        .map_or(0, |before| before.chars().count());
    let skipped = before.saturating_sub(CHARS_BEFORE_MATCH);
    text.chars().skip(skipped).take(SNIPPET_CHARS).collect()
}

fn json(texts: &[String]) -> String {
    serde_json::Value::from(texts.to_vec()).to_string()
}
