//! Turns of a stored conversation: `/api/sessions/{id}/chat` and `…/chat/stream`.

use std::sync::Arc;

use bytes::Bytes;
use hermes_agent::TurnResult;
use hermes_session::{SessionId, SessionStore};
use serde_json::{Map, Value, json};

use crate::app::off_loop;
use crate::call::{Answered, Call, json as json_answer, text, with_session};
use crate::clock::unix_time;
use crate::content::ReadContent;
use crate::http::{ApiError, event};
use crate::ledger::TurnEntry;
use crate::outcome::Outcome;
use crate::preview::preview;
use crate::turn::{Format, TurnOrder, Update};

async fn order(call: &mut Call) -> Result<(TurnOrder, Value), ApiError> {
    call.app.turns.admit()?;
    let body = call.object().await?;
    let id = call.id().to_owned();
    let app = Arc::clone(&call.app);
    let session = off_loop(move || {
        let context = app.context();
        let unknown = || {
            let shown = hermes_text::shown(&id, 80);
            ApiError::not_found(format!("there is no session {shown}")).code("session_not_found")
        };
        let parsed = SessionId::parse(&id).map_err(|_| unknown())?;
        context.ensure_home()?;
        let store = SessionStore::open(&context.location.home)?;
        store.session(&parsed)?.ok_or_else(unknown)?;
        Ok(id)
    })
    .await?;
    let prompt = message(&body)?;
    let system = text(&body, "system_message")?.or(text(&body, "instructions")?);
    let said = prompt.to_json();
    let order = TurnOrder {
        entry: TurnEntry::new("session_chat"),
        session,
        when_busy: None,
        history: None,
        input: prompt.into_input(),
        more_prompt: system.filter(|system| !system.trim().is_empty()),
        route: None,
        approver: None,
    };
    Ok((order, said))
}

fn message(body: &Map<String, Value>) -> Result<ReadContent, ApiError> {
    let is_there = |value: &&Value| !value.is_null() && **value != json!("");
    let said = body.get("message").filter(is_there);
    let said = said.or_else(|| body.get("input"));
    let content = ReadContent::read(said, "message")?;
    if content.is_empty() {
        let error = ApiError::bad_request("`message` is missing").code("missing_message");
        return Err(error.param("message"));
    }
    Ok(content)
}

pub(crate) async fn chat(mut call: Call) -> Answered {
    let key = call.session_key()?;
    let (order, _) = order(&mut call).await?;
    let (result, ()) = call.app.turns.whole(order).await?;
    let outcome = Outcome::of(&result);
    let session = result.session_id.as_str();
    if outcome.is_without_answer() {
        let message = outcome.error.clone();
        let message = message.unwrap_or_else(|| "the turn gave no answer".to_owned());
        return Err(ApiError::no_answer(message, outcome.hermes()));
    }
    let mut body = json!({
        "object": "hermes.session.chat.completion",
        "session_id": session,
        "message": {"role": "assistant", "content": outcome.text},
        "usage": outcome.usage(),
    });
    if !outcome.completed {
        body["hermes"] = outcome.hermes();
    }
    Ok(with_session(json_answer(&body), session, key.as_deref()))
}

pub(crate) async fn chat_stream(mut call: Call) -> Answered {
    let key = call.session_key()?;
    let (order, said) = order(&mut call).await?;
    let format = SessionFormat {
        session: order.session.clone(),
        run: format!("run_{}", hermes_fs::random_hex(32)),
        message: format!("msg_{}", hermes_fs::random_hex(32)),
        said,
        count: 0,
    };
    let (response, session) = call.app.turns.streamed(order, format).await?;
    Ok(with_session(response, &session, key.as_deref()))
}

/// Writes the events of a session's turn.
struct SessionFormat {
    session: String,
    run: String,
    message: String,
    said: Value,
    count: u64,
}

impl SessionFormat {
    fn event(&mut self, name: &str, mut data: Value) -> Bytes {
        self.count += 1;
        data["session_id"] = json!(self.session);
        data["run_id"] = json!(self.run);
        data["seq"] = json!(self.count);
        data["ts"] = json!(unix_time());
        event(Some(name), &data)
    }
}

impl Format for SessionFormat {
    fn update(&mut self, update: Update<'_>, events: &mut Vec<Bytes>) {
        let message_id = self.message.clone();
        match update {
            Update::Began { session } => {
                session.clone_into(&mut self.session);
                let said = json!({"user_message": {"role": "user", "content": self.said}});
                events.push(self.event("run.started", said));
                let message = json!({"message": {"id": message_id, "role": "assistant"}});
                events.push(self.event("message.started", message));
            }
            Update::Text(text) => {
                let delta = json!({"message_id": message_id, "delta": text});
                events.push(self.event("assistant.delta", delta));
            }
            Update::Reasoning(text) => {
                let thought =
                    json!({"message_id": message_id, "tool_name": "_thinking", "delta": text});
                events.push(self.event("tool.progress", thought));
            }
            Update::Calling {
                id,
                tool,
                arguments,
            } => {
                let started = json!({
                    "message_id": message_id,
                    "tool_call_id": id,
                    "tool_name": tool,
                    "preview": preview(arguments),
                    "args": arguments,
                });
                events.push(self.event("tool.started", started));
            }
            Update::Called {
                id, tool, result, ..
            } => {
                let value = serde_json::from_str(result).unwrap_or_default();
                let name = if hermes_tools::is_failure(&value) {
                    "tool.failed"
                } else {
                    "tool.completed"
                };
                let ended =
                    json!({"message_id": message_id, "tool_call_id": id, "tool_name": tool});
                events.push(self.event(name, ended));
            }
        }
    }

    fn finish(mut self, result: &TurnResult, events: &mut Vec<Bytes>) {
        let outcome = Outcome::of(result);
        self.session = result.session_id.to_string();
        let message_id = self.message.clone();
        if outcome.is_without_answer() {
            let message = outcome
                .error
                .as_deref()
                .unwrap_or("the turn gave no answer");
            let error = json!({"message": message});
            events.push(self.event("error", error));
        } else {
            let completed = json!({
                "message_id": message_id,
                "content": outcome.text,
                "completed": outcome.completed,
                "partial": outcome.partial,
                "interrupted": outcome.interrupted,
            });
            events.push(self.event("assistant.completed", completed));
            let ended = json!({
                "message_id": message_id,
                "completed": outcome.completed,
                "usage": outcome.usage(),
            });
            events.push(self.event("run.completed", ended));
        }
        events.push(self.event("done", json!({})));
    }
}
