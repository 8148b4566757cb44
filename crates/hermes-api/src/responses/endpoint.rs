//! `/v1/responses`.

use std::sync::Arc;

use hermes_session::SessionId;
use serde_json::{Value, json};

use super::events::ResponseFormat;
use super::items::CollectedItems;
use super::record::{ResponseRecord, status};
use super::request::{ResponseRequest, told};
use crate::app::{App, off_loop};
use crate::call::{Answered, Call, json as json_answer, with_session};
use crate::clock::unix_seconds;
use crate::http::ApiError;
use crate::idempotency::{fingerprint, once};
use crate::ledger::TurnEntry;
use crate::outcome::Outcome;
use crate::turn::{TurnOrder, WhenDifferent};

/// What of a request makes it the same request.
const SAME: [&str; 6] = [
    "input",
    "instructions",
    "previous_response_id",
    "conversation",
    "model",
    "tools",
];

pub(crate) async fn create(mut call: Call) -> Answered {
    call.app.turns.admit()?;
    let body = call.object().await?;
    let key = call.session_key()?;
    let mut request = ResponseRequest::read(&body)?;
    let app = Arc::clone(&call.app);
    let tells_history = body
        .get("conversation_history")
        .and_then(Value::as_array)
        .is_some_and(|history| !history.is_empty());
    let followed = Arc::clone(&app);
    let request = off_loop(move || {
        let home = followed.context().location.home.clone();
        request.follow(&followed.responses, &home, tells_history)?;
        Ok(request)
    })
    .await?;
    let is_stream = request.stream;
    let again = call.idempotency_key()?;
    let (mut order, record) = prepare(&app, &body, request);
    if is_stream {
        let format = ResponseFormat::new(Arc::clone(&app), record);
        let (response, session) = app.turns.streamed(order, format).await?;
        return Ok(with_session(response, &session, key.as_deref()));
    }
    let Some(again) = again else {
        return whole(app, order, record, key).await;
    };
    let mark = fingerprint(&body, &SAME);
    let entry = order.entry.clone();
    let answering = Arc::clone(&app);
    let work = move |entry| {
        order.entry = entry;
        whole(answering, order, record, key)
    };
    once(&app, &format!("responses {again}"), mark, entry, work).await
}

fn prepare(
    app: &App,
    body: &serde_json::Map<String, Value>,
    request: ResponseRequest,
) -> (TurnOrder, ResponseRecord) {
    let told = told(&request.history);
    let mut history = request.history;
    history.push(json!({"role": "user", "content": request.prompt.to_json()}));
    let session = request.session_id;
    let session = session.unwrap_or_else(|| SessionId::generate().to_string());
    let id = format!("resp_{}", hermes_fs::random_hex(28));
    let order = TurnOrder {
        entry: TurnEntry {
            request: json!({"response_id": id}),
            ..TurnEntry::new("responses")
        },
        when_busy: Some(SessionId::generate().to_string()),
        history: Some((told, WhenDifferent::NewSession)),
        route: app.settings.route(request.model.as_deref()).cloned(),
        more_prompt: request.instructions.clone(),
        input: request.prompt.into_input(),
        approver: None,
        session: session.clone(),
    };
    let model = request.model;
    let previous = body.get("previous_response_id").and_then(Value::as_str);
    let record = ResponseRecord {
        id,
        created_at: unix_seconds(),
        model: model.unwrap_or_else(|| app.settings.model_name.clone()),
        instructions: request.instructions,
        conversation: request.conversation,
        previous: previous.map(str::to_owned),
        is_stored: request.store,
        history,
        session_id: Some(session),
    };
    (order, record)
}

async fn whole(
    app: Arc<App>,
    order: TurnOrder,
    mut record: ResponseRecord,
    key: Option<String>,
) -> Answered {
    let (result, collected) = app.turns.whole::<CollectedItems>(order).await?;
    let outcome = Outcome::of(&result);
    let session = result.session_id.to_string();
    record.session_id = Some(session.clone());
    if outcome.is_without_answer() {
        let message = outcome.error.clone();
        let message = message.unwrap_or_else(|| "the turn gave no answer".to_owned());
        let error = ApiError::no_answer(message, outcome.hermes());
        return Err(error.header(crate::http::SESSION_ID, session));
    }
    let items = collected.with_message(&outcome.text);
    let response = record.envelope(status(&outcome), items, Some(&outcome));
    let stored = response.clone();
    off_loop(move || {
        record.store(&app, stored, &outcome.text);
        Ok(())
    })
    .await?;
    Ok(with_session(
        json_answer(&response),
        &session,
        key.as_deref(),
    ))
}

pub(crate) async fn show(call: Call) -> Answered {
    let id = call.id().to_owned();
    let app = Arc::clone(&call.app);
    let found = off_loop(move || {
        let home = app.context().location.home.clone();
        app.responses.get(&home, &id)?.ok_or_else(|| unknown(&id))
    });
    Ok(json_answer(&found.await?.response))
}

pub(crate) async fn delete(call: Call) -> Answered {
    let id = call.id().to_owned();
    let app = Arc::clone(&call.app);
    let deleted = off_loop(move || {
        let home = app.context().location.home.clone();
        if !app.responses.delete(&home, &id)? {
            return Err(unknown(&id));
        }
        Ok(json!({"id": id, "object": "response", "deleted": true}))
    });
    Ok(json_answer(&deleted.await?))
}

fn unknown(id: &str) -> ApiError {
    let shown = hermes_text::shown(id, 80);
    ApiError::not_found(format!("there is no response {shown}")).code("response_not_found")
}
