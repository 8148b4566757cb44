//! Queries of the `session_search` tool: conversations about a topic, messages around one, and the
//! latest conversations.
//!
//! Messages of the current conversation are left out unless a summary has replaced them: then they
//! are no longer in its context. Undone messages are never found. Only what is shown is held in
//! memory, however long conversations and messages are.

use std::collections::HashSet;

use hermes_store::rusqlite::params;
use serde::Serialize;

use super::list::{ListRequest, ListedConversation};
use super::search::{SearchHit, SearchOrder, SearchRequest};
use super::{SessionStore, SessionTransaction, count_of, rows};
use crate::message::{MessageRole, StoredMessage};
use crate::search::{SearchPlan, plan};
use crate::session::Session;
use crate::{Error, MessageId, Result, SessionId};

/// Sources whose sessions are not conversations with a user.
const HIDDEN: [&str; 2] = ["subagent", "tool"];
/// Source whose sessions come last: scheduled jobs repeat themselves every day.
const DEMOTED: &str = "cron";
/// Hits per query.
const SCANNED: usize = 300;
/// Queries made when a few conversations with many hits leave no room for others.
const MOST_SCANS: usize = 40;
/// Characters shown of a message.
const SHOWN_CHARS: usize = 1500;
/// Messages shown of the beginning and of the end of a conversation.
const BOOKEND: usize = 3;
/// Maximum number of messages on either side of a hit.
const MAX_WINDOW: usize = 20;

/// A search for conversations about a topic.
#[derive(Debug, Clone)]
pub struct DiscoverRequest {
    pub query: String,
    /// Roles to search. If empty, the user's and the model's messages, and all if those have no match.
    pub roles: Vec<String>,
    /// Messages on either side of a hit, 1 to 20.
    pub window: usize,
    /// Maximum number of conversations.
    pub limit: usize,
    pub order: SearchOrder,
    pub current: Option<SessionId>,
}

/// A request for the messages around one.
#[derive(Debug, Clone)]
pub struct ScrollRequest {
    pub session: SessionId,
    pub around: MessageId,
    /// Messages on either side, 1 to 20.
    pub window: usize,
    pub current: Option<SessionId>,
}

/// A message as the tool shows it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RecalledMessage {
    pub id: MessageId,
    pub role: String,
    /// The text, shortened.
    pub content: String,
    /// Seconds since 1970.
    pub timestamp: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_name: Option<String>,
    /// Names of the called tools.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    /// Whether this is the requested message.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub anchor: bool,
}

/// Messages around one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MessageWindow {
    /// The session of the messages. Differs from the requested one if the message is in its lineage.
    pub session_id: SessionId,
    pub messages: Vec<RecalledMessage>,
    /// Messages before the requested one.
    pub messages_before: usize,
    pub messages_after: usize,
    #[serde(skip)]
    pub session: Session,
}

/// A conversation that matches the search.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DiscoveredConversation {
    /// The session with the hit.
    pub session_id: SessionId,
    /// The first session of the conversation, if different.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_session_id: Option<SessionId>,
    /// When the conversation began, in local time.
    pub when: String,
    pub source: String,
    pub model: Option<String>,
    pub title: Option<String>,
    /// The author of the match; `session_title` if the title matched.
    pub matched_role: String,
    pub match_message_id: Option<MessageId>,
    pub snippet: String,
    /// First messages of the session, unless in `messages`.
    pub bookend_start: Vec<RecalledMessage>,
    pub messages: Vec<RecalledMessage>,
    pub bookend_end: Vec<RecalledMessage>,
    /// Messages shown before the hit.
    pub messages_before: usize,
    pub messages_after: usize,
}

impl SessionStore {
    /// Conversations that match, one entry each, best first.
    pub fn discover(&self, request: &DiscoverRequest) -> Result<Vec<DiscoveredConversation>> {
        let named = if request.roles.is_empty() {
            vec!["user".to_owned(), "assistant".to_owned()]
        } else {
            request.roles.clone()
        };
        let found = self.read(|transaction| {
            let mut search = ConversationSearch::new(transaction, request)?;
            search.add_title_match()?;
            search.add_text_matches(named)?;
            if search.found.is_empty() && request.roles.is_empty() {
                // Matches in tool results are better than nothing.
                search.add_text_matches(Vec::new())?;
            }
            Ok(search.found)
        });
        super::search::empty_if_rejected(found)
    }

    /// The messages around one.
    pub fn scroll(&self, request: &ScrollRequest) -> Result<MessageWindow> {
        let window = request.window.clamp(1, MAX_WINDOW);
        self.read(|transaction| {
            transaction.must_exist(&request.session)?;
            let missing = || Error::UnknownMessage {
                session: request.session.to_string(),
                message: request.around.0,
            };
            let anchor = transaction.message(request.around)?.ok_or_else(missing)?;
            // A message of another session of the same conversation is accepted.
            let root = transaction.root(anchor.session_id.clone())?;
            if anchor.session_id != request.session
                && root != transaction.root(request.session.clone())?
            {
                return Err(missing());
            }
            if transaction.root_of(request.current.as_ref())? == Some(root) && !anchor.compacted {
                return Err(Error::InContext {
                    message: request.around.0,
                });
            }
            transaction.window(&anchor, window)
        })
    }

    /// The latest conversations, without the current one.
    pub fn browse(
        &self,
        limit: usize,
        current: Option<&SessionId>,
    ) -> Result<Vec<ListedConversation>> {
        let root = current.map(|current| self.root_of(current)).transpose()?;
        let mut listed = self.list(&ListRequest {
            excluded_sources: HIDDEN.map(str::to_owned).to_vec(),
            limit: Some(limit.saturating_add(1)),
            ..ListRequest::default()
        })?;
        listed.retain(|listed| Some(&listed.root) != root.as_ref());
        listed.truncate(limit);
        Ok(listed)
    }
}

/// A search that takes one hit per conversation.
struct ConversationSearch<'a> {
    transaction: &'a SessionTransaction<'a>,
    request: &'a DiscoverRequest,
    plan: SearchPlan,
    current: Option<SessionId>,
    seen: HashSet<SessionId>,
    found: Vec<DiscoveredConversation>,
}

impl<'a> ConversationSearch<'a> {
    fn new(transaction: &'a SessionTransaction<'a>, request: &'a DiscoverRequest) -> Result<Self> {
        Ok(Self {
            current: transaction.root_of(request.current.as_ref())?,
            transaction,
            request,
            plan: plan(&request.query),
            seen: HashSet::new(),
            found: Vec::new(),
        })
    }

    fn add_title_match(&mut self) -> Result<()> {
        let Some(session) = self.transaction.titled(&self.request.query)? else {
            return Ok(());
        };
        let root = self.transaction.root(session.id.clone())?;
        if self.current.as_ref() != Some(&root) && !HIDDEN.contains(&session.source.as_str()) {
            let first = self.transaction.first_message(&session.id)?;
            let title = session.title.clone().unwrap_or_default();
            let mut entry = self.transaction.entry(&session, &root)?;
            "session_title".clone_into(&mut entry.matched_role);
            entry.snippet = format!("The title of this session: {title}");
            entry.title = Some(title);
            self.push(entry, first)?;
            self.seen.insert(root);
        }
        Ok(())
    }

    fn add_text_matches(&mut self, roles: Vec<String>) -> Result<()> {
        let hidden = HIDDEN.map(str::to_owned);
        let demoted = vec![DEMOTED.to_owned()];
        let mut request = SearchRequest {
            query: self.request.query.clone(),
            roles,
            excluded_sources: [hidden.to_vec(), demoted.clone()].concat(),
            order: self.request.order,
            limit: Some(SCANNED),
            ..SearchRequest::default()
        };
        self.scan(&mut request)?;
        request.excluded_sources = hidden.to_vec();
        request.sources = demoted;
        self.scan(&mut request)
    }

    fn scan(&mut self, request: &mut SearchRequest) -> Result<()> {
        for round in 0..MOST_SCANS {
            if self.found.len() >= self.request.limit {
                return Ok(());
            }
            request.offset = round * SCANNED;
            let hits = self.transaction.hits(&self.plan, request)?;
            let was_last = hits.len() < SCANNED;
            for hit in hits {
                self.add(&hit)?;
            }
            if was_last {
                break;
            }
        }
        Ok(())
    }

    fn add(&mut self, hit: &SearchHit) -> Result<()> {
        if self.found.len() >= self.request.limit {
            return Ok(());
        }
        let root = self.transaction.root(hit.session_id.clone())?;
        let is_in_context = self.current.as_ref() == Some(&root) && !hit.compacted;
        if !is_in_context && self.seen.insert(root.clone()) {
            let session = self.transaction.known_session(&hit.session_id)?;
            let mut entry = self.transaction.entry(&session, &root)?;
            entry.matched_role.clone_from(&hit.role);
            hit.snippet.trim().clone_into(&mut entry.snippet);
            let anchor = self.transaction.message(hit.id)?;
            self.push(entry, anchor)?;
        }
        Ok(())
    }

    fn push(&mut self, entry: DiscoveredConversation, anchor: Option<StoredMessage>) -> Result<()> {
        let window = self.request.window.clamp(1, MAX_WINDOW);
        self.found.push(match anchor {
            Some(anchor) => self.transaction.with_messages(entry, &anchor, window)?,
            None => entry,
        });
        Ok(())
    }
}

impl SessionTransaction<'_> {
    fn root_of(&self, id: Option<&SessionId>) -> Result<Option<SessionId>> {
        id.map(|id| self.root(id.clone())).transpose()
    }

    fn titled(&self, query: &str) -> Result<Option<Session>> {
        let title = query.trim().trim_matches(['`', '\'', '"']);
        if title.is_empty() {
            return Ok(None);
        }
        match self.by_title(title)? {
            Some((id, _)) => self.session(&id),
            None => Ok(None),
        }
    }

    fn first_message(&self, id: &SessionId) -> Result<Option<StoredMessage>> {
        self.row(
            "SELECT * FROM messages WHERE session_id = ?1 AND role <> 'system'
                 AND (active IS NOT 0 OR compacted = 1)
             ORDER BY id LIMIT 1",
            params![id.as_str()],
            rows::message,
        )
    }

    /// An entry without messages. Title and date are those of the first session.
    fn entry(&self, session: &Session, root: &SessionId) -> Result<DiscoveredConversation> {
        let first = self.session(root)?;
        let first = first.as_ref().unwrap_or(session);
        Ok(DiscoveredConversation {
            session_id: session.id.clone(),
            parent_session_id: (*root != session.id).then(|| root.clone()),
            when: when(first.started_at),
            source: first.source.clone(),
            model: first.model.clone().or_else(|| session.model.clone()),
            title: first.title.clone().or_else(|| session.title.clone()),
            matched_role: String::new(),
            match_message_id: None,
            snippet: String::new(),
            bookend_start: Vec::new(),
            messages: Vec::new(),
            bookend_end: Vec::new(),
            messages_before: 0,
            messages_after: 0,
        })
    }

    fn with_messages(
        &self,
        entry: DiscoveredConversation,
        anchor: &StoredMessage,
        window: usize,
    ) -> Result<DiscoveredConversation> {
        let window = self.window(anchor, window)?;
        let first = window
            .messages
            .first()
            .map_or(anchor.id, |message| message.id);
        let last = window
            .messages
            .last()
            .map_or(anchor.id, |message| message.id);
        let is_shown = |message: &RecalledMessage| {
            message.anchor || message.role == "user" || message.role == "assistant"
        };
        Ok(DiscoveredConversation {
            match_message_id: Some(anchor.id),
            bookend_start: self.bookend(
                "SELECT * FROM messages WHERE session_id = ?1 AND id < ?2
                     AND role IN ('user', 'assistant') AND length(content) > 0
                     AND (active IS NOT 0 OR compacted = 1)
                 ORDER BY id LIMIT ?3",
                anchor,
                first,
            )?,
            bookend_end: self.bookend(
                "SELECT * FROM (SELECT * FROM messages WHERE session_id = ?1 AND id > ?2
                     AND role IN ('user', 'assistant') AND length(content) > 0
                     AND (active IS NOT 0 OR compacted = 1)
                 ORDER BY id DESC LIMIT ?3) ORDER BY id",
                anchor,
                last,
            )?,
            messages_before: window.messages_before,
            messages_after: window.messages_after,
            messages: window.messages.into_iter().filter(is_shown).collect(),
            ..entry
        })
    }

    fn bookend(
        &self,
        sql: &str,
        anchor: &StoredMessage,
        edge: MessageId,
    ) -> Result<Vec<RecalledMessage>> {
        let rows = self.rows(
            sql,
            params![anchor.session_id.as_str(), edge.0, count_of(BOOKEND)],
            rows::message,
        )?;
        Ok(rows.into_iter().map(|row| recalled(row, None)).collect())
    }

    fn message(&self, id: MessageId) -> Result<Option<StoredMessage>> {
        self.row(
            "SELECT * FROM messages WHERE id = ?1",
            params![id.0],
            rows::message,
        )
    }

    fn window(&self, anchor: &StoredMessage, window: usize) -> Result<MessageWindow> {
        let rows = self.rows(
            "SELECT * FROM (
                 SELECT * FROM (SELECT * FROM messages WHERE session_id = ?1 AND id <= ?2
                     AND role <> 'system' AND (active IS NOT 0 OR compacted = 1)
                     ORDER BY id DESC LIMIT ?3 + 1)
                 UNION ALL
                 SELECT * FROM (SELECT * FROM messages WHERE session_id = ?1 AND id > ?2
                     AND role <> 'system' AND (active IS NOT 0 OR compacted = 1)
                     ORDER BY id LIMIT ?3))
             ORDER BY id",
            params![anchor.session_id.as_str(), anchor.id.0, count_of(window)],
            rows::message,
        )?;
        let session = self.known_session(&anchor.session_id)?;
        Ok(MessageWindow {
            session_id: anchor.session_id.clone(),
            messages_before: rows.iter().filter(|row| row.id < anchor.id).count(),
            messages_after: rows.iter().filter(|row| row.id > anchor.id).count(),
            messages: rows
                .into_iter()
                .map(|row| recalled(row, Some(anchor.id)))
                .collect(),
            session,
        })
    }
}

fn recalled(stored: StoredMessage, anchor: Option<MessageId>) -> RecalledMessage {
    let message = stored.message;
    let is_tool = message.role == MessageRole::Tool;
    let called = message.call_ids().into_iter();
    let called = called.filter_map(|id| message.name_of_call(id));
    RecalledMessage {
        id: stored.id,
        role: message.role.as_str().to_owned(),
        content: beginning(&message.text()),
        timestamp: stored.timestamp,
        tool_calls: called.map(str::to_owned).collect(),
        tool_name: message.tool_name,
        tool_call_id: message.tool_call_id.filter(|_| is_tool),
        anchor: anchor == Some(stored.id),
    }
}

fn beginning(text: &str) -> String {
    let shown = hermes_text::cut(text, SHOWN_CHARS);
    if shown.len() == text.len() {
        return text.to_owned();
    }
    let omitted = text.chars().count() - SHOWN_CHARS;
    format!("{shown}… [{omitted} more characters]")
}

/// `January 02, 2026 at 03:04 PM`, in local time.
fn when(seconds: f64) -> String {
    let moment = jiff::Timestamp::from_second(0)
        .and_then(|start| start.checked_add(jiff::SignedDuration::try_from_secs_f64(seconds)?))
        .map(|moment| moment.to_zoned(hermes_time::local()));
    match moment {
        Ok(moment) => moment.strftime("%B %d, %Y at %I:%M %p").to_string(),
        Err(_) => "unknown".to_owned(),
    }
}
