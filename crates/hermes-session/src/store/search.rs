//! Searching messages. A query that FTS5 does not understand finds nothing; it is no error.

use hermes_store::rusqlite::{Row, params};
use serde::Serialize;

use super::cells::Cells;
use super::fragments::like_within;
use super::{Scope, SessionStore, search_sql as sql};
use crate::message::Content;
use crate::search::{Plan, plan};
use crate::{Error, MessageId, Result, SessionId};

/// Characters of a neighbouring message that a hit shows.
const CONTEXT: usize = 200;
/// Characters around the place where a text was found by scanning.
const AROUND: usize = 40;
/// Characters shown of such a place.
const SCANNED: usize = 120;

/// In which order hits come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SearchOrder {
    /// The best first.
    #[default]
    Relevance,
    /// The newest first.
    Newest,
    /// The oldest first.
    Oldest,
}

/// What to search for.
#[derive(Debug, Clone)]
pub struct SearchRequest {
    /// What was typed.
    pub query: String,
    /// Only sessions of these sources; all if none is named.
    pub sources: Vec<String>,
    /// No sessions of these sources.
    pub excluded_sources: Vec<String>,
    /// Only messages of these roles; all if none is named.
    pub roles: Vec<String>,
    /// In which order.
    pub order: SearchOrder,
    /// Most hits.
    pub limit: usize,
    /// Hits left out at the beginning.
    pub offset: usize,
    /// Whether messages that were taken back count, too. Summarised ones always do.
    pub taken_back: bool,
}

impl Default for SearchRequest {
    fn default() -> Self {
        Self {
            query: String::new(),
            sources: Vec::new(),
            excluded_sources: Vec::new(),
            roles: Vec::new(),
            order: SearchOrder::default(),
            limit: 20,
            offset: 0,
            taken_back: false,
        }
    }
}

/// A message beside a hit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Neighbour {
    /// Who speaks.
    pub role: String,
    /// The beginning of what is said.
    pub content: String,
}

/// A message that was found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Hit {
    /// Its number.
    pub id: MessageId,
    /// Its session.
    pub session_id: SessionId,
    /// Who speaks.
    pub role: String,
    /// The place, with what was found between `>>>` and `<<<`.
    pub snippet: String,
    /// Seconds since 1970.
    pub timestamp: f64,
    /// The tool, in its messages.
    pub tool_name: Option<String>,
    /// Where the session comes from.
    pub source: String,
    /// Its model.
    pub model: Option<String>,
    /// When it began.
    pub session_started: f64,
    /// Whether a summary stands for the message.
    pub compacted: bool,
    /// The message before, itself, and the one after.
    pub context: Vec<Neighbour>,
}

impl SessionStore {
    /// Searches all messages.
    pub fn search(&self, request: &SearchRequest) -> Result<Vec<Hit>> {
        let plan = plan(&request.query);
        let found = self.read(|scope| {
            let mut hits = scope.hits(&plan, request)?;
            for hit in &mut hits {
                hit.context = scope.neighbours(hit)?;
            }
            Ok(hits)
        });
        understood(found)
    }
}

/// What was found; nothing, if FTS5 did not understand what was asked.
pub(super) fn understood<T>(found: Result<Vec<T>>) -> Result<Vec<T>> {
    match found {
        Err(Error::Store(hermes_store::Error::Statement { source, .. })) => {
            tracing::debug!(error = %source, "a search was not understood");
            Ok(Vec::new())
        }
        other => other,
    }
}

impl Scope<'_> {
    /// The messages of a plan, without those beside them.
    pub(super) fn hits(&self, plan: &Plan, request: &SearchRequest) -> Result<Vec<Hit>> {
        let hidden = !request.taken_back;
        let (sql, query) = match plan {
            Plan::Nothing => return Ok(Vec::new()),
            Plan::Words(query) => (sql::words(hidden), query.clone()),
            Plan::Trigrams(query) => (sql::trigrams(hidden), query.clone()),
            Plan::Scan(texts) => {
                let patterns: Vec<String> = texts.iter().map(|text| like_within(text)).collect();
                (sql::scan(hidden), json(&patterns))
            }
        };
        let order = match (plan, request.order) {
            (Plan::Scan(_), SearchOrder::Relevance) | (_, SearchOrder::Newest) => 1,
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
                super::count_of(request.limit),
                super::count_of(request.offset),
            ],
            hit,
        )?;
        if let Plan::Scan(texts) = plan {
            for hit in &mut hits {
                hit.snippet = place(&hit.snippet, texts);
            }
        }
        Ok(hits)
    }

    fn neighbours(&self, hit: &Hit) -> Result<Vec<Neighbour>> {
        self.rows(
            "SELECT * FROM (SELECT id, role, content FROM messages
                 WHERE session_id = ?1 AND id < ?2 ORDER BY id DESC LIMIT 1)
             UNION ALL SELECT id, role, content FROM messages WHERE id = ?2
             UNION ALL SELECT * FROM (SELECT id, role, content FROM messages
                 WHERE session_id = ?1 AND id > ?2 ORDER BY id LIMIT 1)",
            params![hit.session_id.as_str(), hit.id.0],
            |row| {
                let cells = Cells(row);
                let text = cells
                    .text("content")
                    .map(|stored| Content::decode(stored).text());
                Ok(Neighbour {
                    role: cells.text("role").unwrap_or_default(),
                    content: text.unwrap_or_default().chars().take(CONTEXT).collect(),
                })
            },
        )
    }
}

fn hit(row: &Row<'_>) -> hermes_store::rusqlite::Result<Hit> {
    let cells = Cells(row);
    Ok(Hit {
        id: MessageId(row.get("id")?),
        session_id: SessionId::of_row(cells.text("session_id").unwrap_or_default()),
        role: cells.text("role").unwrap_or_default(),
        snippet: cells.text("snippet").unwrap_or_default(),
        timestamp: cells.real("timestamp").unwrap_or_default(),
        tool_name: cells.text("tool_name"),
        source: cells.text("source").unwrap_or_default(),
        model: cells.text("model"),
        session_started: cells.real("session_started").unwrap_or_default(),
        compacted: cells.flag("compacted"),
        context: Vec::new(),
    })
}

/// The place in a text where one of these is found first.
fn place(text: &str, wanted: &[String]) -> String {
    let at = wanted
        .iter()
        .filter_map(|wanted| text.find(wanted.as_str()))
        .min();
    let before = at
        .and_then(|at| text.get(..at))
        .map_or(0, |before| before.chars().count());
    let skipped = before.saturating_sub(AROUND);
    text.chars().skip(skipped).take(SCANNED).collect()
}

fn json(texts: &[String]) -> String {
    serde_json::Value::from(texts.to_vec()).to_string()
}
