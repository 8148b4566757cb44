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
use crate::idempotency::fingerprint;
use crate::outcome::Outcome;
use crate::turn::{TurnOrder, WhenDifferent};

const IDEMPOTENCY: HeaderName = HeaderName::from_static("idempotency-key");
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
    let order = order(&call, request)?;
    if is_stream {
        let format = ChatFormat {
            completion,
            has_text: false,
        };
        let (response, session) = app.turns.streamed(order, format).await?;
        return Ok(with_session(response, &session, key.as_deref()));
    }
    let work = whole(&app, order, completion, key.as_deref());
    match call.header(&IDEMPOTENCY) {
        Some(again) => {
            let fields = ["model", "messages", "tools", "tool_choice", "stream"];
            let mark = fingerprint(&body, &fields);
            app.repeated
                .once(&format!("chat {again}"), mark, work)
                .await
        }
        None => work.await,
    }
}

fn order(call: &Call, request: ChatRequest) -> Result<TurnOrder, ApiError> {
    let named = call.session_id()?;
    let derived = request.derived_session();
    let route = call.app.settings.route(request.model.as_deref()).cloned();
    let more_prompt = request.system;
    let input = request.prompt.into_input();
    Ok(match named {
        Some(session) => TurnOrder {
            session,
            when_busy: None,
            history: None,
            input,
            more_prompt,
            route,
            approver: None,
        },
        None => TurnOrder {
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
    app: &App,
    order: TurnOrder,
    completion: CompletionId,
    key: Option<&str>,
) -> Result<Response, ApiError> {
    let (result, ()) = app.turns.whole(order).await?;
    let outcome = Outcome::of(&result);
    let session = result.session_id.as_str();
    if outcome.is_without_answer() {
        let message = outcome.error.clone();
        let message = message.unwrap_or_else(|| "the turn gave no answer".to_owned());
        let error = ApiError::no_answer(message, outcome.hermes())
            .header(crate::call::SESSION_ID, session.to_owned())
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
    let mut response = with_session(json_answer(&body), session, key);
    if !outcome.completed {
        insert(&mut response, COMPLETED, "false");
        insert(&mut response, PARTIAL, &outcome.partial.to_string());
        if let Some(error) = &outcome.error {
            insert(&mut response, ERROR, hermes_text::cut(error, MOST_ERROR));
        }
    }
    Ok(response)
}
