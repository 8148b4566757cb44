//! `/api/sessions`: stored conversations, listed, searched, shown and deleted.

use hermes_session::{
    ListRequest, ListedConversation, SearchOrder, SearchRequest, Session, SessionFilter, SessionId,
    SessionStore,
};
use serde_json::{Value, json};

use crate::call::{Answered, Call, missing, shared};
use crate::http::ApiError;
use crate::session_readers::SessionReader;

/// A conversation is active while its last message is younger than this.
const ACTIVE_SECONDS: f64 = 300.0;
const MOST_LISTED: i64 = 500;
const MOST_OFFSET: i64 = 1_000_000;
/// Most sessions that one request deletes.
const MOST_DELETED: usize = 1_000;

/// The store; `None` while nobody has talked here.
fn opened(call: &Call) -> Result<Option<SessionReader<'_>>, ApiError> {
    Ok(call.app.sessions.open(&call.context().location.home)?)
}

fn unknown(id: &str) -> ApiError {
    let shown = hermes_text::shown(id, 80);
    ApiError::not_found(format!("there is no session {shown}"))
}

/// The store, and the session that the path names; the beginning of its id is enough.
fn known(call: &Call) -> Result<(SessionReader<'_>, SessionId), ApiError> {
    let id = call.param("session_id");
    let store = opened(call)?.ok_or_else(|| unknown(id))?;
    let found = store.find(id)?;
    Ok((store, found))
}

fn view(session: &Session) -> Value {
    let counters = &session.counters;
    json!({
        "id": session.id,
        "source": session.source,
        "user_id": session.user_id,
        "model": session.model,
        "title": session.title,
        "parent_session_id": session.parent,
        "started_at": session.started_at,
        "ended_at": session.ended_at,
        "end_reason": session.end_reason,
        "message_count": counters.message_count,
        "tool_call_count": counters.tool_call_count,
        "api_call_count": counters.api_call_count,
        "input_tokens": counters.input_tokens,
        "output_tokens": counters.output_tokens,
        "cache_read_tokens": counters.cache_read_tokens,
        "cache_write_tokens": counters.cache_write_tokens,
        "reasoning_tokens": counters.reasoning_tokens,
        "estimated_cost_usd": session.estimated_cost_usd,
        "actual_cost_usd": session.actual_cost_usd,
        "billing_provider": session.billing_provider,
        "cwd": session.cwd,
        "git_branch": session.git_branch,
        "archived": session.archived,
    })
}

fn listed(entry: &ListedConversation, now: f64) -> Value {
    let mut shown = view(&entry.session);
    shown["preview"] = json!(entry.preview);
    shown["last_active"] = json!(entry.last_active);
    shown["_lineage_root_id"] = json!(entry.root);
    let is_open = entry.session.ended_at.is_none();
    shown["is_active"] = json!(is_open && now - entry.last_active < ACTIVE_SECONDS);
    shown
}

fn count(number: i64) -> usize {
    usize::try_from(number).unwrap_or(0)
}

/// `GET /api/sessions`.
pub(crate) async fn list(call: Call) -> Answered {
    shared(call, listing).await
}

fn listing(call: &Call) -> Result<String, ApiError> {
    let limit = count(call.query_number("limit", 20, 0..=MOST_LISTED)?);
    let offset = count(call.query_number("offset", 0, 0..=MOST_OFFSET)?);
    let mut sessions = Vec::new();
    let mut total = 0;
    if let Some(store) = opened(call)? {
        let request = ListRequest {
            source: call.query("source"),
            archived: call.query_flag("archived")?,
            limit: Some(offset + limit),
            ..ListRequest::default()
        };
        let now = hermes_session::now();
        let found = store.list(&request)?;
        sessions = found
            .iter()
            .skip(offset)
            .map(|entry| listed(entry, now))
            .collect();
        total = store.stats()?.total_sessions;
    }
    call.masked(&json!({
        "sessions": sessions, "total": total, "limit": limit, "offset": offset,
    }))
}

/// `GET /api/sessions/search`: parts of words match, phrases in quotes are kept.
pub(crate) fn search(call: &Call) -> Answered {
    let query = call.query("q").unwrap_or_default();
    let limit = count(call.query_number("limit", 20, 0..=MOST_LISTED)?);
    let mut results: Vec<Value> = Vec::new();
    if let Some(store) = opened(call)?.filter(|_| !query.trim().is_empty()) {
        let request = SearchRequest {
            query: with_prefixes(&query),
            limit: Some(limit),
            order: SearchOrder::default(),
            ..SearchRequest::default()
        };
        for hit in store.search(&request)? {
            let is_new = !results
                .iter()
                .any(|known| known["session_id"] == json!(hit.session_id));
            if is_new {
                results.push(json!({
                    "session_id": hit.session_id,
                    "snippet": hit.snippet,
                    "role": hit.role,
                    "source": hit.source,
                    "model": hit.model,
                    "session_started": hit.session_started,
                }));
            }
        }
    }
    call.answer(json!({ "results": results }))
}

/// The query with a wildcard behind every word that is not in quotes.
fn with_prefixes(query: &str) -> String {
    let mut terms = Vec::new();
    let mut rest = query.trim();
    while !rest.is_empty() {
        let phrase = rest
            .strip_prefix('"')
            .and_then(|inner| inner.split_once('"'));
        if let Some((phrase, after)) = phrase {
            terms.push(format!("\"{phrase}\""));
            rest = after.trim_start();
            continue;
        }
        let (word, after) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let is_done = word.starts_with('"') || word.ends_with('*');
        terms.push(if is_done {
            word.to_owned()
        } else {
            format!("{word}*")
        });
        rest = after.trim_start();
    }
    terms.join(" ")
}

/// `GET /api/sessions/stats`.
pub(crate) fn stats(call: &Call) -> Answered {
    let Some(store) = opened(call)? else {
        return call.answer(json!({
            "total_sessions": 0, "total_messages": 0, "open_sessions": 0,
            "archived_sessions": 0, "by_source": {}, "database_bytes": 0,
        }));
    };
    let stats = store.stats()?;
    call.answer(json!({
        "total_sessions": stats.total_sessions,
        "total_messages": stats.total_messages,
        "open_sessions": stats.open_sessions,
        "archived_sessions": stats.archived_sessions,
        "by_source": stats.by_source,
        "database_bytes": stats.database_bytes,
    }))
}

/// `GET /api/sessions/{session_id}`.
pub(crate) fn show(call: &Call) -> Answered {
    let (store, id) = known(call)?;
    let session = store.session(&id)?.ok_or_else(|| unknown(id.as_str()))?;
    call.answer(view(&session))
}

/// `GET /api/sessions/{session_id}/messages`.
pub(crate) fn messages(call: &Call) -> Answered {
    let (store, id) = known(call)?;
    let mut exported = store.export(&id)?;
    call.answer(json!({"session_id": id, "messages": exported["messages"].take()}))
}

/// `GET /api/sessions/{session_id}/export`.
pub(crate) fn export(call: &Call) -> Answered {
    let (store, id) = known(call)?;
    let exported = store.export(&id)?;
    call.answer(exported)
}

/// `GET /api/sessions/{session_id}/latest-descendant`: where a conversation goes on.
pub(crate) fn latest_descendant(call: &Call) -> Answered {
    let (store, id) = known(call)?;
    let all = store.matching(&SessionFilter::default())?;
    let mut path = vec![id.clone()];
    while let Some(here) = path.last() {
        let children = all
            .iter()
            .filter(|session| session.parent.as_ref() == Some(here) && !path.contains(&session.id));
        let newest = children.max_by(|one, other| one.started_at.total_cmp(&other.started_at));
        match newest {
            Some(child) => path.push(child.id.clone()),
            None => break,
        }
    }
    let latest = path.last().cloned().unwrap_or_else(|| id.clone());
    call.answer(json!({
        "requested_session_id": id,
        "session_id": latest,
        "changed": latest != id,
        "path": path,
    }))
}

/// `PATCH /api/sessions/{session_id}`: another title, or put into the archive and back.
pub(crate) fn update(call: &Call) -> Answered {
    let title = call.text("title")?.map(str::to_owned);
    let archived = call.flag("archived")?;
    if title.is_none() && archived.is_none() {
        return Err(missing("title"));
    }
    let (_, id) = known(call)?;
    let mut store = SessionStore::open(&call.context().location.home)?;
    if let Some(title) = title {
        store.set_title(&id, &title)?;
    }
    if let Some(archived) = archived {
        store.set_archived(&id, archived)?;
    }
    let session = store.session(&id)?.ok_or_else(|| unknown(id.as_str()))?;
    let mut shown = view(&session);
    shown["ok"] = json!(true);
    call.answer(shown)
}

/// `DELETE /api/sessions/{session_id}`: the whole id, not a part of it.
pub(crate) fn delete(call: &Call) -> Answered {
    let text = call.param("session_id");
    let id = SessionId::parse(text).map_err(|_| unknown(text))?;
    let read = opened(call)?.ok_or_else(|| unknown(text))?;
    read.session(&id)?.ok_or_else(|| unknown(text))?;
    drop(read);
    SessionStore::open(&call.context().location.home)?.delete_session(&id)?;
    call.answer(json!({"ok": true}))
}

/// `POST /api/sessions/bulk-delete`.
pub(crate) fn bulk_delete(call: &Call) -> Answered {
    let ids = call.texts("ids")?.ok_or_else(|| missing("ids"))?;
    if ids.len() > MOST_DELETED {
        let message = format!("at most {MOST_DELETED} sessions are deleted at once");
        return Err(ApiError::bad_request(message));
    }
    let mut deleted = 0;
    if opened(call)?.is_some() {
        let mut store = SessionStore::open(&call.context().location.home)?;
        for id in ids.iter().filter_map(|id| SessionId::parse(id).ok()) {
            if store.session(&id)?.is_some() {
                store.delete_session(&id)?;
                deleted += 1;
            }
        }
    }
    call.answer(json!({"ok": true, "deleted": deleted}))
}

#[cfg(test)]
mod tests {
    use super::with_prefixes;
    use pretty_assertions::assert_eq;

    #[test]
    fn words_become_prefixes_and_phrases_stay() {
        assert_eq!(
            with_prefixes("nimb \"two words\" done*"),
            "nimb* \"two words\" done*"
        );
        assert_eq!(with_prefixes("  "), "");
        assert_eq!(with_prefixes("\"open"), "\"open");
    }
}
