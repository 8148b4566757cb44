//! Remembering earlier conversations: what the `session_search` tool asks.
//!
//! Three questions: which conversations speak of something, what was said around a message, and
//! what there is at all. The conversation that asks is left out, except for messages that a summary
//! stands for: those it cannot see any more. What was taken back was never said. However long
//! conversations and messages are, only what is shown is held in memory.

use std::collections::HashSet;

use hermes_store::rusqlite::params;
use serde::Serialize;

use super::list::ListRequest;
use super::search::{Hit, SearchOrder, SearchRequest};
use super::{Scope, SessionStore, cells, count_of};
use crate::message::{Role, StoredMessage};
use crate::search::{Plan, plan};
use crate::session::Session;
use crate::{Error, MessageId, Result, SessionId};

/// Sources whose sessions are no conversations of a person.
const HIDDEN: [&str; 2] = ["subagent", "tool"];
/// Sources whose sessions come behind all others: they repeat themselves every day.
const DEMOTED: &str = "cron";
/// Hits looked at in one go.
const SCANNED: usize = 300;
/// How often more are looked at, when a few conversations with many hits have left no room for
/// others.
const MOST_SCANS: usize = 40;
/// Characters of a message that are shown.
const SHOWN_CHARS: usize = 1500;
/// Messages shown of the beginning and of the end.
const BOOKEND: usize = 3;
/// Most messages on either side.
const MAX_WINDOW: usize = 20;

/// Which conversations speak of something?
#[derive(Debug, Clone)]
pub struct Discover {
    /// What was typed.
    pub query: String,
    /// Roles to look at; if none is named the person's and the model's, and all where those say
    /// nothing of it.
    pub roles: Vec<String>,
    /// Messages on either side of a hit, 1 to 20.
    pub window: usize,
    /// Most conversations.
    pub limit: usize,
    /// In which order.
    pub order: SearchOrder,
    /// The conversation that asks.
    pub current: Option<SessionId>,
}

/// What was said around a message?
#[derive(Debug, Clone)]
pub struct Scroll {
    /// The session.
    pub session: SessionId,
    /// The message.
    pub around: MessageId,
    /// Messages on either side, 1 to 20.
    pub window: usize,
    /// The conversation that asks.
    pub current: Option<SessionId>,
}

/// A message, as the tool shows it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Recalled {
    /// Its number.
    pub id: MessageId,
    /// Who speaks.
    pub role: String,
    /// What is said, cut where it is long.
    pub content: String,
    /// Seconds since 1970.
    pub timestamp: f64,
    /// The tool, in its messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_name: Option<String>,
    /// Names of the tools it calls.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<String>,
    /// The call it answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    /// Whether it is the message asked for.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub anchor: bool,
}

/// Messages around one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Window {
    /// The session they are in; another one than asked for if the message is in its lineage.
    pub session_id: SessionId,
    /// The messages.
    pub messages: Vec<Recalled>,
    /// How many of them come before.
    pub messages_before: usize,
    /// How many come after.
    pub messages_after: usize,
    /// The session.
    #[serde(skip)]
    pub session: Session,
}

/// A conversation that speaks of what was asked for.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Discovery {
    /// The session with the hit.
    pub session_id: SessionId,
    /// The first session of the conversation, if that is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_session_id: Option<SessionId>,
    /// When the conversation began, in local time.
    pub when: String,
    /// Where it comes from.
    pub source: String,
    /// Its model.
    pub model: Option<String>,
    /// Its title.
    pub title: Option<String>,
    /// Who said it; `session_title` if the title matched.
    pub matched_role: String,
    /// The message.
    pub match_message_id: Option<MessageId>,
    /// The place.
    pub snippet: String,
    /// How the session began, unless the messages show it.
    pub bookend_start: Vec<Recalled>,
    /// What was said around the hit.
    pub messages: Vec<Recalled>,
    /// How the session ended, unless the messages show it.
    pub bookend_end: Vec<Recalled>,
    /// Messages shown before the hit.
    pub messages_before: usize,
    /// Messages shown after it.
    pub messages_after: usize,
}

/// A conversation in a list.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Browsed {
    /// The session to resume.
    pub session_id: SessionId,
    /// Its title.
    pub title: Option<String>,
    /// Where it comes from.
    pub source: String,
    /// When it began.
    pub started_at: f64,
    /// When something was last said.
    pub last_active: f64,
    /// Messages.
    pub message_count: i64,
    /// The beginning of what was first said.
    pub preview: String,
}

impl SessionStore {
    /// Conversations that speak of something, one entry each, the best first.
    pub fn discover(&self, request: &Discover) -> Result<Vec<Discovery>> {
        let spoken = || vec!["user".to_owned(), "assistant".to_owned()];
        let named = if request.roles.is_empty() {
            spoken()
        } else {
            request.roles.clone()
        };
        let found = self.read(|scope| {
            let mut search = ConversationSearch::new(scope, request)?;
            search.by_title()?;
            search.by_words(named)?;
            if search.found.is_empty() && request.roles.is_empty() {
                // What only a tool said is better than nothing.
                search.by_words(Vec::new())?;
            }
            Ok(search.found)
        });
        super::search::understood(found)
    }

    /// Messages around one.
    pub fn scroll(&self, request: &Scroll) -> Result<Window> {
        let window = request.window.clamp(1, MAX_WINDOW);
        self.read(|scope| {
            scope.must_exist(&request.session)?;
            let missing = || Error::UnknownMessage {
                session: request.session.clone(),
                message: request.around,
            };
            let anchor = scope.message(request.around)?.ok_or_else(missing)?;
            // A message of a later part of the same conversation is what was meant.
            let root = scope.root(anchor.session_id.clone())?;
            if anchor.session_id != request.session
                && root != scope.root(request.session.clone())?
            {
                return Err(missing());
            }
            if scope.root_of(request.current.as_ref())? == Some(root) && !anchor.compacted {
                return Err(Error::InContext {
                    message: request.around,
                });
            }
            scope.window(&anchor, window)
        })
    }

    /// The latest conversations, without the one that asks.
    pub fn browse(&self, limit: usize, current: Option<&SessionId>) -> Result<Vec<Browsed>> {
        let root = match current {
            Some(current) => Some(self.root_of(current)?),
            None => None,
        };
        let listed = self.list(&ListRequest {
            excluded_sources: HIDDEN.map(str::to_owned).to_vec(),
            limit: Some(limit.saturating_add(1)),
            ..ListRequest::default()
        })?;
        let browsed = listed
            .into_iter()
            .filter(|listed| Some(&listed.root) != root.as_ref())
            .map(|listed| Browsed {
                started_at: listed.session.started_at,
                message_count: listed.session.counters.message_count,
                session_id: listed.session.id,
                title: listed.session.title,
                source: listed.session.source,
                last_active: listed.last_active,
                preview: listed.preview,
            });
        Ok(browsed.take(limit).collect())
    }
}

/// A search that takes one hit of each conversation.
struct ConversationSearch<'a> {
    scope: &'a Scope<'a>,
    request: &'a Discover,
    plan: Plan,
    current: Option<SessionId>,
    seen: HashSet<SessionId>,
    found: Vec<Discovery>,
}

impl<'a> ConversationSearch<'a> {
    fn new(scope: &'a Scope<'a>, request: &'a Discover) -> Result<Self> {
        Ok(Self {
            current: scope.root_of(request.current.as_ref())?,
            scope,
            request,
            plan: plan(&request.query),
            seen: HashSet::new(),
            found: Vec::new(),
        })
    }

    fn by_title(&mut self) -> Result<()> {
        let Some(session) = self.scope.titled(&self.request.query)? else {
            return Ok(());
        };
        let root = self.scope.root(session.id.clone())?;
        if self.current.as_ref() != Some(&root) && !HIDDEN.contains(&session.source.as_str()) {
            let entry = self.scope.discovered_by_title(&session, &root)?;
            self.found.push(self.with_messages(entry)?);
            self.seen.insert(root);
        }
        Ok(())
    }

    fn by_words(&mut self, roles: Vec<String>) -> Result<()> {
        // What a schedule repeats every day comes behind everything else.
        let hidden = HIDDEN.map(str::to_owned);
        let demoted = vec![DEMOTED.to_owned()];
        let mut request = SearchRequest {
            query: self.request.query.clone(),
            roles,
            excluded_sources: [hidden.to_vec(), demoted.clone()].concat(),
            order: self.request.order,
            limit: SCANNED,
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
            let hits = self.scope.hits(&self.plan, request)?;
            let was_last = hits.len() < SCANNED;
            for hit in hits {
                self.take(&hit)?;
            }
            if was_last {
                break;
            }
        }
        Ok(())
    }

    fn take(&mut self, hit: &Hit) -> Result<()> {
        if self.found.len() >= self.request.limit {
            return Ok(());
        }
        let root = self.scope.root(hit.session_id.clone())?;
        let is_in_sight = self.current.as_ref() == Some(&root) && !hit.compacted;
        if !is_in_sight && self.seen.insert(root.clone()) {
            let entry = self.scope.discovered(hit, &root)?;
            self.found.push(self.with_messages(entry)?);
        }
        Ok(())
    }

    fn with_messages(&self, entry: (Discovery, Option<StoredMessage>)) -> Result<Discovery> {
        match entry {
            (entry, Some(anchor)) => {
                let window = self.request.window.clamp(1, MAX_WINDOW);
                self.scope.with_messages(entry, &anchor, window)
            }
            (entry, None) => Ok(entry),
        }
    }
}

impl Scope<'_> {
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

    /// An entry, and the message it is about.
    fn discovered_by_title(
        &self,
        session: &Session,
        root: &SessionId,
    ) -> Result<(Discovery, Option<StoredMessage>)> {
        let first = self.row(
            "SELECT * FROM messages WHERE session_id = ?1 AND role <> 'system'
                 AND (active IS NOT 0 OR compacted = 1)
             ORDER BY id LIMIT 1",
            params![session.id.as_str()],
            cells::message,
        )?;
        let title = session.title.clone().unwrap_or_default();
        let mut entry = self.entry(session, root)?;
        "session_title".clone_into(&mut entry.matched_role);
        entry.snippet = format!("The title of this session: {title}");
        entry.title = Some(title);
        Ok((entry, first))
    }

    /// An entry, and the message it is about.
    fn discovered(
        &self,
        hit: &Hit,
        root: &SessionId,
    ) -> Result<(Discovery, Option<StoredMessage>)> {
        let session = self
            .session(&hit.session_id)?
            .ok_or_else(|| crate::error::unknown(&hit.session_id))?;
        let mut entry = self.entry(&session, root)?;
        entry.matched_role.clone_from(&hit.role);
        hit.snippet.trim().clone_into(&mut entry.snippet);
        Ok((entry, self.message(hit.id)?))
    }

    /// An entry without its messages. The conversation is named and dated by its first session.
    fn entry(&self, session: &Session, root: &SessionId) -> Result<Discovery> {
        let first = self.session(root)?;
        let first = first.as_ref().unwrap_or(session);
        Ok(Discovery {
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
        entry: Discovery,
        anchor: &StoredMessage,
        window: usize,
    ) -> Result<Discovery> {
        let window = self.window(anchor, window)?;
        let first = window
            .messages
            .first()
            .map_or(anchor.id, |message| message.id);
        let last = window
            .messages
            .last()
            .map_or(anchor.id, |message| message.id);
        let spoken = |message: &Recalled| {
            message.anchor || message.role == "user" || message.role == "assistant"
        };
        Ok(Discovery {
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
            messages: window.messages.into_iter().filter(spoken).collect(),
            ..entry
        })
    }

    fn bookend(&self, sql: &str, anchor: &StoredMessage, edge: MessageId) -> Result<Vec<Recalled>> {
        let rows = self.rows(
            sql,
            params![anchor.session_id.as_str(), edge.0, count_of(BOOKEND)],
            cells::message,
        )?;
        Ok(rows.into_iter().map(|row| recalled(row, None)).collect())
    }

    fn message(&self, id: MessageId) -> Result<Option<StoredMessage>> {
        self.row(
            "SELECT * FROM messages WHERE id = ?1",
            params![id.0],
            cells::message,
        )
    }

    fn window(&self, anchor: &StoredMessage, window: usize) -> Result<Window> {
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
            cells::message,
        )?;
        let session = self
            .session(&anchor.session_id)?
            .ok_or_else(|| crate::error::unknown(&anchor.session_id))?;
        Ok(Window {
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

fn recalled(stored: StoredMessage, anchor: Option<MessageId>) -> Recalled {
    let message = stored.message;
    let is_tool = message.role == Role::Tool;
    let called = message.call_ids().into_iter();
    let called = called.filter_map(|id| message.name_of_call(id));
    Recalled {
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
    let mut shown: String = text.chars().take(SHOWN_CHARS).collect();
    if shown.len() < text.len() {
        let omitted = text.chars().count() - SHOWN_CHARS;
        shown.push_str(&format!("… [{omitted} more characters]"));
    }
    shown
}

/// `January 02, 2026 at 03:04 PM`, in local time.
fn when(seconds: f64) -> String {
    let moment = jiff::Timestamp::from_second(0)
        .and_then(|start| start.checked_add(jiff::SignedDuration::try_from_secs_f64(seconds)?))
        .map(|moment| moment.to_zoned(hermes_time::local()));
    match moment {
        Ok(moment) => moment.strftime("%B %d, %Y at %I:%M %p").to_string(),
        // A moment that no clock can show.
        Err(_) => "unknown".to_owned(),
    }
}
