//! `/api/sessions`: stored conversations, listed, created, changed, copied and deleted.

use std::sync::Arc;

use hermes_session::{
    ListRequest, NewSession, Session, SessionEndReason, SessionFilter, SessionId, SessionMessage,
    SessionStore,
};
use hyper::StatusCode;
use serde_json::{Map, Value, json};

use super::view;
use crate::app::{App, off_loop};
use crate::call::{Answered, Call, checked_session_id, json as json_answer, text};
use crate::clock::unix_seconds;
use crate::http::{ApiError, json_response};
use crate::turn::SOURCE;

const USUAL_LIMIT: usize = 50;
const MOST_LIMIT: usize = 200;
const MOST_OFFSET: usize = 1_000_000;

fn open(app: &App) -> Result<SessionStore, ApiError> {
    let context = app.context();
    context.ensure_home()?;
    Ok(SessionStore::open(&context.location.home)?)
}

fn known(store: &SessionStore, id: &str) -> Result<Session, ApiError> {
    let unknown = || {
        let shown = hermes_text::shown(id, 80);
        ApiError::not_found(format!("there is no session {shown}")).code("session_not_found")
    };
    let id = SessionId::parse(id).map_err(|_| unknown())?;
    store.session(&id)?.ok_or_else(unknown)
}

fn number(call: &Call, name: &'static str, usual: usize) -> Result<usize, ApiError> {
    match call.query(name) {
        None => Ok(usual),
        Some(text) => text.parse().map_err(|_| {
            let message = format!("`{name}` must be a whole number that is not negative");
            ApiError::bad_request(message)
                .code("invalid_pagination")
                .param(name)
        }),
    }
}

pub(crate) async fn list(call: Call) -> Answered {
    let limit = number(&call, "limit", USUAL_LIMIT)?.min(MOST_LIMIT);
    let offset = number(&call, "offset", 0)?.min(MOST_OFFSET);
    let source = call.query("source").filter(|source| !source.is_empty());
    let children = call.query_switch("include_children")?;
    let app = Arc::clone(&call.app);
    let data = off_loop(move || {
        let store = open(&app)?;
        if children {
            let filter = SessionFilter {
                source,
                ..SessionFilter::default()
            };
            let mut all = store.matching(&filter)?;
            all.sort_by(|one, other| other.started_at.total_cmp(&one.started_at));
            let page = all.iter().skip(offset).take(limit + 1);
            return Ok(page.map(view::session).collect::<Vec<Value>>());
        }
        let request = ListRequest {
            source,
            limit: Some(offset + limit + 1),
            ..ListRequest::default()
        };
        let listed = store.list(&request)?;
        let page = listed.iter().skip(offset).take(limit + 1).map(|entry| {
            let mut shown = view::session(&entry.session);
            shown["preview"] = json!(entry.preview);
            shown["last_active"] = json!(entry.last_active);
            shown["_lineage_root_id"] = json!(entry.root);
            shown
        });
        Ok(page.collect())
    });
    let mut data = data.await?;
    let has_more = data.len() > limit;
    data.truncate(limit);
    Ok(json_answer(&json!({
        "object": "list",
        "data": data,
        "limit": limit,
        "offset": offset,
        "has_more": has_more,
    })))
}

/// The id that a client gives to a new session, or one of ours.
fn new_id(body: &Map<String, Value>) -> Result<String, ApiError> {
    let given = text(body, "id")?.or(text(body, "session_id")?);
    match given
        .map(|id| id.trim().to_owned())
        .filter(|id| !id.is_empty())
    {
        Some(id) => checked_session_id(&id),
        None => Ok(format!(
            "api_{}_{}",
            unix_seconds(),
            hermes_fs::random_hex(8)
        )),
    }
}

pub(crate) async fn create(mut call: Call) -> Answered {
    let body = call.optional_object().await?;
    let id = new_id(&body)?;
    let title = text(&body, "title")?;
    let prompt = text(&body, "system_prompt")?;
    let model = text(&body, "model")?;
    let app = Arc::clone(&call.app);
    let created = off_loop(move || {
        let mut store = open(&app)?;
        let id = SessionId::parse(&id)?;
        store.create_session(&NewSession {
            id: Some(id.clone()),
            source: SOURCE.to_owned(),
            model: Some(model.unwrap_or_else(|| app.settings.model_name.clone())),
            system_prompt: prompt,
            ..NewSession::default()
        })?;
        let named = title.map(|title| store.set_title(&id, &title));
        if let Some(Err(error)) = named {
            // A session under another title is not what was asked for.
            store.delete_session(&id)?;
            return Err(error.into());
        }
        known(&store, id.as_str())
    });
    Ok(json_response(
        StatusCode::CREATED,
        &view::enveloped(&created.await?),
    ))
}

pub(crate) async fn show(call: Call) -> Answered {
    let app = Arc::clone(&call.app);
    let id = call.id().to_owned();
    let found = off_loop(move || known(&open(&app)?, &id)).await?;
    Ok(json_answer(&view::enveloped(&found)))
}

pub(crate) async fn update(mut call: Call) -> Answered {
    let body = call.object().await?;
    let unknown: Vec<&str> = body
        .keys()
        .map(String::as_str)
        .filter(|name| !["title", "end_reason"].contains(name))
        .collect();
    if !unknown.is_empty() {
        let names = hermes_text::shown(&unknown.join(", "), 200);
        return Err(ApiError::bad_request(format!(
            "of a session only `title` and `end_reason` can be changed, not {names}"
        ))
        .code("unsupported_session_field"));
    }
    let title = text(&body, "title")?;
    let reason = text(&body, "end_reason")?.filter(|reason| !reason.is_empty());
    let app = Arc::clone(&call.app);
    let id = call.id().to_owned();
    let lease = match reason {
        Some(_) => Some(app.turns.exclusively(&id).await?),
        None => None,
    };
    let changed = off_loop(move || {
        let mut store = open(&app)?;
        let session = known(&store, &id)?;
        if let Some(title) = &title {
            store.set_title(&session.id, title)?;
        }
        if let Some(reason) = &reason {
            // The first reason would stay.
            store.resume(&session.id)?;
            store.end_session_as(&session.id, reason)?;
        }
        known(&store, &id)
    });
    let changed = changed.await?;
    drop(lease);
    Ok(json_answer(&view::enveloped(&changed)))
}

pub(crate) async fn delete(call: Call) -> Answered {
    let app = Arc::clone(&call.app);
    let id = call.id().to_owned();
    let lease = app.turns.exclusively(&id).await?;
    let deleted = off_loop(move || {
        let mut store = open(&app)?;
        let session = known(&store, &id)?;
        store.delete_session(&session.id)?;
        Ok(json!({"object": "hermes.session.deleted", "id": id, "deleted": true}))
    });
    let deleted = deleted.await?;
    drop(lease);
    Ok(json_answer(&deleted))
}

pub(crate) async fn messages(call: Call) -> Answered {
    let app = Arc::clone(&call.app);
    let id = call.id().to_owned();
    let page = off_loop(move || {
        let store = open(&app)?;
        let session = known(&store, &id)?;
        let current = store.resolve(session.id.as_str())?;
        let history = store.load_history(&current)?;
        let data: Vec<Value> = history.messages.iter().map(view::message).collect();
        Ok(json!({"object": "list", "session_id": current, "data": data}))
    });
    Ok(json_answer(&page.await?))
}

pub(crate) async fn fork(mut call: Call) -> Answered {
    let body = call.optional_object().await?;
    let id = new_id(&body)?;
    let title = text(&body, "title")?;
    let app = Arc::clone(&call.app);
    let from = call.id().to_owned();
    let lease = app.turns.exclusively(&from).await?;
    let copy = off_loop(move || {
        let mut store = open(&app)?;
        let source = known(&store, &from)?;
        copied(&mut store, &source, &id, title)
    });
    let copy = copy.await?;
    drop(lease);
    Ok(json_response(StatusCode::CREATED, &view::enveloped(&copy)))
}

fn copied(
    store: &mut SessionStore,
    source: &Session,
    id: &str,
    title: Option<String>,
) -> Result<Session, ApiError> {
    let id = SessionId::parse(id)?;
    let title = match title {
        Some(title) => title,
        None => store.next_title(source.title.as_deref().unwrap_or("fork"))?,
    };
    // By this mark lists tell a copy from the later part of a compacted conversation.
    let mut model_config = source.model_config.clone().unwrap_or_else(|| json!({}));
    if model_config.is_object() {
        model_config["_branched_from"] = json!(source.id);
    }
    let messages = store.load_history(&source.id)?.messages;
    store.create_session(&NewSession {
        id: Some(id.clone()),
        source: SOURCE.to_owned(),
        model: source.model.clone(),
        model_config: Some(model_config),
        system_prompt: source.system_prompt.clone(),
        parent: Some(source.id.clone()),
        cwd: source.cwd.clone(),
        ..NewSession::default()
    })?;
    let messages: Vec<SessionMessage> = messages.into_iter().map(|stored| stored.message).collect();
    let filled = store.append(&id, &messages);
    let named = filled.and_then(|_| store.set_title(&id, &title));
    if let Err(error) = named {
        store.delete_session(&id)?;
        return Err(error.into());
    }
    // The conversation goes on elsewhere, whatever it ended for before.
    store.resume(&source.id)?;
    store.end_session(&source.id, SessionEndReason::Branched)?;
    known(store, id.as_str())
}
