//! The tool: three ways to look, by what the call names.

use std::path::PathBuf;

use hermes_session::{
    Error, Hit, ListRequest, MessageId, SearchOrder, SearchRequest, SessionId, SessionStore,
};
use serde_json::{Value, json};

use super::found::{Excerpt, discovered, listed};
use crate::argument::{Argument, Kind};
use crate::context::CallContext;
use crate::tool::{Reach, Tool, error};

const DEFAULT_LIMIT: usize = 3;
const DEFAULT_WINDOW: usize = 5;
/// Hits looked at until there are enough conversations among them.
const MOST_HITS: usize = 60;
/// Conversations that people do not know of.
const HIDDEN_SOURCE: &str = "tool";

/// Searches earlier conversations.
#[derive(Debug, Clone)]
pub struct SessionSearchTool {
    /// Home of the profile, where its sessions are.
    pub home: PathBuf,
}

impl Tool for SessionSearchTool {
    fn name(&self) -> &'static str {
        "session_search"
    }

    fn toolset(&self) -> &'static str {
        "session_search"
    }

    fn description(&self) -> &'static str {
        "Looks into earlier conversations. With query: finds where something was said, the messages \
         around it, and how that conversation began and ended (mode discover). With session_id and \
         around_message_id: the messages around one, to read on (mode scroll). Without either: the \
         latest conversations (mode browse). Use it when the user refers to something you do not \
         see here, before asking them."
    }

    fn arguments(&self) -> &'static [Argument] {
        const ARGUMENTS: &[Argument] = &[
            Argument::optional(
                "query",
                Kind::Text,
                "Words to find; \"a phrase\", OR, NOT and prefix* work.",
            ),
            Argument::optional(
                "session_id",
                Kind::Text,
                "With around_message_id: where to read.",
            ),
            Argument::optional(
                "around_message_id",
                Kind::Int {
                    min: 0,
                    max: i64::MAX,
                },
                "The message in the middle.",
            ),
            Argument::optional(
                "limit",
                Kind::ClampedInt { min: 1, max: 10 },
                "Most conversations. Default 3, at most 10.",
            ),
            Argument::optional(
                "sort",
                Kind::Choice(&["newest", "oldest"]),
                "Order by time instead of by how well it fits.",
            ),
            Argument::optional(
                "window",
                Kind::ClampedInt { min: 1, max: 20 },
                "Messages before and after, from 1 to 20. Default 5.",
            ),
            Argument::optional(
                "role_filter",
                Kind::Text,
                "Only messages of these roles, such as \"user,assistant\" or \"tool\".",
            ),
        ];
        ARGUMENTS
    }

    fn reach(&self) -> Reach {
        Reach::Looks
    }

    fn call(&self, args: &Value, context: &CallContext) -> Value {
        match self.look(args, context) {
            Ok(result) => result,
            Err(message) => {
                let mut result = error(message);
                result["success"] = json!(false);
                result
            }
        }
    }
}

impl SessionSearchTool {
    fn look(&self, args: &Value, context: &CallContext) -> Result<Value, String> {
        let text = |name: &str| {
            let text = args[name].as_str().map(str::trim);
            text.filter(|text| !text.is_empty())
        };
        let number = |name: &str, usual: usize| {
            let number = args[name].as_u64().and_then(|n| usize::try_from(n).ok());
            number.unwrap_or(usual)
        };
        let query = text("query");
        let place = match (text("session_id"), args["around_message_id"].as_i64()) {
            (Some(session), Some(message)) => Some((session, MessageId(message))),
            (None, None) => None,
            // A query says enough by itself.
            _ if query.is_some() => None,
            _ => return Err("session_id and around_message_id go together.".to_owned()),
        };
        let store = SessionStore::open_read_only(&self.home).map_err(|error| said(&error))?;
        let Some(store) = store else {
            return Ok(nothing(query));
        };
        let own = context.conversation.session_id.as_deref();
        let limit = number("limit", DEFAULT_LIMIT);
        let window = number("window", DEFAULT_WINDOW);
        let looked = match (place, query) {
            (Some((session, message)), _) => scroll(&store, session, message, window),
            (None, Some(query)) => Discovery {
                store: &store,
                own: own_root(&store, own),
                query,
                limit,
                window,
                order: match text("sort") {
                    Some("newest") => SearchOrder::Newest,
                    Some("oldest") => SearchOrder::Oldest,
                    _ => SearchOrder::Relevance,
                },
                roles: text("role_filter").map(roles),
            }
            .run(),
            (None, None) => browse(&store, own, limit),
        };
        looked.map_err(|error| said(&error))
    }
}

fn said(error: &Error) -> String {
    format!("The conversations could not be searched: {error}")
}

fn nothing(query: Option<&str>) -> Value {
    let mode = if query.is_some() {
        "discover"
    } else {
        "browse"
    };
    json!({"success": true, "mode": mode, "query": query, "results": [], "count": 0})
}

fn roles(text: &str) -> Vec<String> {
    let words = text.split(',').map(|role| role.trim().to_lowercase());
    words.filter(|role| !role.is_empty()).collect()
}

/// The beginning of the conversation that asks; `None` for a call by hand or an unknown session.
fn own_root(store: &SessionStore, own: Option<&str>) -> Option<SessionId> {
    let own = SessionId::parse(own?).ok()?;
    store.root_of(&own).ok()
}

fn browse(store: &SessionStore, own: Option<&str>, limit: usize) -> Result<Value, Error> {
    let own = own_root(store, own);
    let conversations = store.list(&ListRequest {
        excluded_sources: vec![HIDDEN_SOURCE.to_owned()],
        // One more, in case the asking one is among them.
        limit: Some(limit + 1),
        ..ListRequest::default()
    })?;
    let results: Vec<Value> = conversations
        .iter()
        .filter(|one| own.as_ref() != Some(&one.root))
        .take(limit)
        .map(listed)
        .collect();
    Ok(json!({"success": true, "mode": "browse", "count": results.len(), "results": results}))
}

fn scroll(
    store: &SessionStore,
    session: &str,
    message: MessageId,
    window: usize,
) -> Result<Value, Error> {
    let session = store.find(session)?;
    let excerpt = Excerpt::of(store, &session, message, window)?;
    let Some(excerpt) = excerpt else {
        return Ok(json!({
            "success": false,
            "mode": "scroll",
            "error": format!("There is no message {message} in session {session}."),
        }));
    };
    Ok(json!({
        "success": true,
        "mode": "scroll",
        "session_id": session,
        "around_message_id": message,
        "window": window,
        "messages": excerpt.around,
        "messages_before": excerpt.before,
        "messages_after": excerpt.after,
    }))
}

/// A search by words.
struct Discovery<'a> {
    store: &'a SessionStore,
    own: Option<SessionId>,
    query: &'a str,
    limit: usize,
    window: usize,
    order: SearchOrder,
    roles: Option<Vec<String>>,
}

impl Discovery<'_> {
    fn run(&self) -> Result<Value, Error> {
        let mut hits = match &self.roles {
            Some(roles) => self.hits(roles.clone())?,
            None => self.hits(vec!["user".to_owned(), "assistant".to_owned()])?,
        };
        if hits.is_empty() && self.roles.is_none() {
            // What only a tool said is better than nothing.
            hits = self.hits(Vec::new())?;
        }
        let mut results = Vec::new();
        for hit in &hits {
            results.push(self.result(hit)?);
        }
        Ok(json!({
            "success": true,
            "mode": "discover",
            "query": self.query,
            "count": results.len(),
            "results": results,
        }))
    }

    /// The best hit of each conversation.
    fn hits(&self, roles: Vec<String>) -> Result<Vec<Hit>, Error> {
        let found = self.store.search(&SearchRequest {
            query: self.query.to_owned(),
            excluded_sources: vec![HIDDEN_SOURCE.to_owned()],
            roles,
            order: self.order,
            limit: MOST_HITS,
            ..SearchRequest::default()
        })?;
        let mut conversations: Vec<SessionId> = Vec::new();
        let mut best = Vec::new();
        for hit in found {
            let root = self.store.root_of(&hit.session_id)?;
            let in_sight = self.own.as_ref() == Some(&root) && !hit.compacted;
            if in_sight || conversations.contains(&root) {
                continue;
            }
            conversations.push(root);
            best.push(hit);
            if best.len() == self.limit {
                break;
            }
        }
        Ok(best)
    }

    fn result(&self, hit: &Hit) -> Result<Value, Error> {
        let session = self.store.session(&hit.session_id)?;
        let excerpt = Excerpt::of(self.store, &hit.session_id, hit.id, self.window)?;
        Ok(discovered(hit, session.as_ref(), excerpt))
    }
}
