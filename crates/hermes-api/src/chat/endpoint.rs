//! `POST /v1/chat/completions`.

use std::sync::Arc;

use axum::response::Response;
use hyper::header::HeaderName;
use serde_json::json;

use super::events::{ChatFormat, CompletionId};
use super::request::ChatRequest;
use crate::app::App;
use crate::call::{Answered, Call, json as json_answer, with_session};
use crate::clock::unix_seconds;
use crate::http::{ApiError, insert};
use crate::idempotency::{fingerprint, once};
use crate::ledger::TurnEntry;
use crate::outcome::Outcome;
use crate::turn::{TurnOrder, WhenDifferent};

const COMPLETED: HeaderName = HeaderName::from_static("x-hermes-completed");
const PARTIAL: HeaderName = HeaderName::from_static("x-hermes-partial");
const ERROR: HeaderName = HeaderName::from_static("x-hermes-error");
/// Longest error in a header.
const MOST_ERROR: usize = 200;

pub(crate) async fn chat_completions(mut call: Call) -> Answered {
    call.app.turns.admit()?;
    let body = call.object().await?;
    let request = ChatRequest::read(&body)?;
    let key = call.session_key()?;
    let app = Arc::clone(&call.app);
    let completion = CompletionId {
        id: format!("chatcmpl-{}", hermes_fs::random_hex(29)),
        created: unix_seconds(),
        model: request
            .model
            .clone()
            .unwrap_or_else(|| app.settings.model_name.clone()),
    };
    let is_stream = request.stream;
    let again = call.idempotency_key()?;
    let mut order = order(&call, request)?;
    if is_stream {
        let format = ChatFormat {
            completion,
            has_text: false,
        };
        let (response, session) = app.turns.streamed(order, format).await?;
        return Ok(with_session(response, &session, key.as_deref()));
    }
    let Some(again) = again else {
        return whole(app, order, completion, key).await;
    };
    let fields = ["model", "messages", "tools", "tool_choice", "stream"];
    let mark = fingerprint(&body, &fields);
    let entry = order.entry.clone();
    let answering = Arc::clone(&app);
    let work = move |entry| {
        order.entry = entry;
        whole(answering, order, completion, key)
    };
    once(&app, &format!("chat {again}"), mark, entry, work).await
}

fn order(call: &Call, request: ChatRequest) -> Result<TurnOrder, ApiError> {
    let entry = TurnEntry::new("chat_completions");
    let named = call.session_id()?;
    let derived = request.derived_session();
    let route = call.app.settings.route(request.model.as_deref()).cloned();
    let more_prompt = request.system;
    let input = request.prompt.into_input();
    Ok(match named {
        Some(session) => TurnOrder {
            entry,
            session,
            when_busy: None,
            history: None,
            input,
            more_prompt,
            route,
            approver: None,
        },
        None => TurnOrder {
            entry,
            // Two clients that begin alike do not wait for each other.
            when_busy: Some(format!("{derived}-{}", hermes_fs::random_hex(6))),
            session: derived,
            history: Some((request.history, WhenDifferent::Undo)),
            input,
            more_prompt,
            route,
            approver: None,
        },
    })
}

async fn whole(
    app: Arc<App>,
    order: TurnOrder,
    completion: CompletionId,
    key: Option<String>,
) -> Result<Response, ApiError> {
    let (result, ()) = app.turns.whole(order).await?;
    let outcome = Outcome::of(&result);
    let session = result.session_id.as_str();
    if outcome.is_without_answer() {
        let message = outcome.error.clone();
        let message = message.unwrap_or_else(|| "the turn gave no answer".to_owned());
        let error = ApiError::no_answer(message, outcome.hermes())
            .header(crate::http::SESSION_ID, session.to_owned())
            .header(COMPLETED, "false".to_owned())
            .header(PARTIAL, outcome.partial.to_string());
        return Err(error);
    }
    let CompletionId { id, created, model } = completion;
    let mut body = json!({
        "id": id,
        "object": "chat.completion",
        "created": created,
        "model": model,
        "choices": [{
            "index": 0,
            "message": {"role": "assistant", "content": outcome.text},
            "finish_reason": outcome.finish_reason,
        }],
        "usage": outcome.chat_usage(),
    });
    if !outcome.completed {
        body["hermes"] = outcome.hermes();
    }
    let mut response = with_session(json_answer(&body), session, key.as_deref());
    if !outcome.completed {
        insert(&mut response, COMPLETED, "false");
        insert(&mut response, PARTIAL, &outcome.partial.to_string());
        if let Some(error) = &outcome.error {
            insert(&mut response, ERROR, hermes_text::cut(error, MOST_ERROR));
        }
    }
    Ok(response)
}
