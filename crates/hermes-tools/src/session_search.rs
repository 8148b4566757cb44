//! `session_search`: searching, reading and listing earlier conversations. Reads the session store
//! and never changes it.

use std::path::PathBuf;

use hermes_session::{
    DiscoverRequest, Error, ListedConversation, MessageId, MessageWindow, ScrollRequest,
    SearchOrder, SessionId, SessionStore,
};
use serde::Serialize;
use serde_json::{Value, json};

use crate::argument::{ArgKind, Argument, text};
use crate::tool::{CallContext, Tool, ToolReach, ToolSpec};

const DEFAULT_LIMIT: usize = 3;
const DEFAULT_WINDOW: usize = 5;

const SPEC: ToolSpec = ToolSpec {
    name: "session_search",
    toolset: "session_search",
    description: "Searches earlier conversations. With query: finds where something was said, the \
        messages around it, and how that conversation began and ended (mode discover). With \
        session_id and around_message_id: the messages around one, to read on (mode scroll). \
        Without either: the latest conversations (mode browse). Use it when the user refers to \
        something you do not see here, before asking them.",
    arguments: &[
        Argument::text(
            "query",
            "Words to find; \"a phrase\", OR, NOT and prefix* work.",
        ),
        Argument::text("session_id", "With around_message_id: where to read."),
        Argument::optional(
            "around_message_id",
            ArgKind::at_least(0),
            "The message in the middle.",
        ),
        Argument::optional(
            "limit",
            ArgKind::ClampedInt { min: 1, max: 10 },
            "Most conversations. Default 3, at most 10.",
        ),
        Argument::optional(
            "sort",
            ArgKind::Choice(&["newest", "oldest"]),
            "Order by time instead of by relevance.",
        ),
        Argument::optional(
            "window",
            ArgKind::ClampedInt { min: 1, max: 20 },
            "Messages before and after, from 1 to 20. Default 5.",
        ),
        Argument::text(
            "role_filter",
            "Only messages of these roles, such as \"user,assistant\" or \"tool\".",
        ),
    ],
    reach: ToolReach::ReadOnly,
    ..ToolSpec::DEFAULT
};

/// Searches earlier conversations.
#[derive(Debug, Clone)]
pub struct SessionSearchTool {
    /// Home of the profile, where its sessions are.
    pub home: PathBuf,
}

impl Tool for SessionSearchTool {
    fn spec(&self) -> ToolSpec<'_> {
        SPEC
    }

    fn call(&self, args: &Value, context: &CallContext) -> Value {
        self.search(args, context)
            .unwrap_or_else(|message| json!({"error": message, "success": false}))
    }
}

impl SessionSearchTool {
    fn search(&self, args: &Value, context: &CallContext) -> Result<Value, String> {
        let text = |name: &str| text(args, name);
        let number = |name: &str, usual: usize| {
            let number = args[name].as_u64().and_then(|n| usize::try_from(n).ok());
            number.unwrap_or(usual)
        };
        let query = text("query");
        let position = match (text("session_id"), args["around_message_id"].as_i64()) {
            (Some(session), Some(message)) => Some((session, MessageId(message))),
            (None, None) => None,
            // A query is enough by itself.
            _ if query.is_some() => None,
            _ => return Err("session_id and around_message_id go together.".to_owned()),
        };
        let mode = if query.is_some() {
            "discover"
        } else {
            "browse"
        };
        let store =
            SessionStore::open_read_only(&self.home).map_err(|error| search_failed(&error))?;
        let Some(store) = store else {
            return Ok(json!({
                "success": true, "mode": mode, "query": query, "results": [], "count": 0,
            }));
        };
        let own = context.conversation.session_id.as_deref();
        let own = own.and_then(|own| SessionId::parse(own).ok());
        let limit = number("limit", DEFAULT_LIMIT);
        let window = number("window", DEFAULT_WINDOW);
        let result = match (position, query) {
            (Some((session, around)), _) => store
                .find(session)
                .and_then(|session| {
                    store.scroll(&ScrollRequest {
                        session,
                        around,
                        window,
                        current: own,
                    })
                })
                .map(|found| scrolled(&found, around, window)),
            (None, Some(query)) => store
                .discover(&DiscoverRequest {
                    query: query.to_owned(),
                    roles: text("role_filter").map(roles).unwrap_or_default(),
                    window,
                    limit,
                    order: match text("sort") {
                        Some("newest") => SearchOrder::Newest,
                        Some("oldest") => SearchOrder::Oldest,
                        _ => SearchOrder::Relevance,
                    },
                    current: own,
                })
                .map(|found| results(mode, Some(query), &found)),
            (None, None) => store.browse(limit, own.as_ref()).map(|found| {
                let shown: Vec<Value> = found.iter().map(browsed).collect();
                results(mode, None, &shown)
            }),
        };
        result.map_err(|error| search_failed(&error))
    }
}

fn browsed(found: &ListedConversation) -> Value {
    let session = &found.session;
    json!({
        "session_id": session.id,
        "title": session.title,
        "source": session.source,
        "started_at": session.started_at,
        "last_active": found.last_active,
        "message_count": session.counters.message_count,
        "preview": found.preview,
    })
}

fn search_failed(error: &Error) -> String {
    format!("The conversations could not be searched: {error}")
}

fn roles(text: &str) -> Vec<String> {
    let words = text.split(',').map(|role| role.trim().to_lowercase());
    words.filter(|role| !role.is_empty()).collect()
}

fn results(mode: &str, query: Option<&str>, results: &[impl Serialize]) -> Value {
    let mut shown = json!({
        "success": true,
        "mode": mode,
        "count": results.len(),
        "results": results,
    });
    if let Some(query) = query {
        shown["query"] = json!(query);
    }
    shown
}

fn scrolled(window: &MessageWindow, around: MessageId, size: usize) -> Value {
    json!({
        "success": true,
        "mode": "scroll",
        "session_id": window.session_id,
        "around_message_id": around,
        "window": size,
        "messages": window.messages,
        "messages_before": window.messages_before,
        "messages_after": window.messages_after,
    })
}
