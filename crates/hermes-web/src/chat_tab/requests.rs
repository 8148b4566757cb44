//! `/api/ws`: conversations by JSON-RPC 2.0, one object per message. What happens in them is told as
//! notifications named `event`; the first one says that the server is ready.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use super::admitted;
use super::conversations::{Conversations, Fault};
use crate::api;
use crate::app::{App, off_loop, stopped};
use crate::call::{Answered, Call};
use crate::http::{Received, Socket};
use crate::masking::masked_json;

/// Events that wait for a slow client; then turns are read more slowly.
const MOST_WAITING: usize = 256;
const NOT_JSON: i64 = -32700;
const NOT_A_REQUEST: i64 = -32600;
const NO_SUCH_METHOD: i64 = -32601;
const WRONG_PARAMETERS: i64 = -32602;

/// `GET /api/ws`, a WebSocket.
pub(crate) async fn requests(mut call: Call) -> Answered {
    let (handshake, place) = admitted(&mut call)?;
    let (response, upgrade) = handshake.accept();
    let app = Arc::clone(&call.app);
    tokio::spawn(async move {
        if let Some(socket) = Socket::open(upgrade).await {
            serve(&app, socket).await;
        }
        drop(place);
    });
    Ok(response)
}

async fn serve(app: &Arc<App>, mut socket: Socket) {
    let mut stopping = app.stopping();
    let (sender, mut events) = mpsc::channel(MOST_WAITING);
    let conversations = Conversations::new(Arc::clone(app), sender);
    let ready = json!({"type": "gateway.ready", "payload": {"skin": {}}});
    let mut is_there = send(app, &mut socket, notification(ready)).await;
    while is_there {
        is_there = tokio::select! {
            received = socket.receive() => match received {
                Received::Text(text) => match answered(app, &conversations, &text).await {
                    Some(answer) => send(app, &mut socket, answer).await,
                    None => true,
                },
                Received::Binary(_) | Received::Nothing => true,
                Received::Gone => false,
            },
            Some(event) = events.recv() => send(app, &mut socket, notification(event)).await,
            () = stopped(&mut stopping) => break,
        };
    }
    drop(events);
    socket.close().await;
    conversations.leave().await;
}

fn notification(params: Value) -> Value {
    json!({"jsonrpc": "2.0", "method": "event", "params": params})
}

/// Sends with every secret masked; `false` if the client does not take it.
async fn send(app: &App, socket: &mut Socket, value: Value) -> bool {
    match masked_json(&app.redactor(), &value) {
        Ok(text) => socket.send_text(text).await,
        Err(error) => {
            tracing::error!(%error, "an answer of the chat cannot be written");
            false
        }
    }
}

/// The answer to a message; `None` for one that is blank.
async fn answered(app: &Arc<App>, conversations: &Conversations, text: &str) -> Option<Value> {
    if text.trim().is_empty() {
        return None;
    }
    let (id, outcome) = match request(text) {
        Ok((id, method, params)) => (id, carried_out(app, conversations, &method, &params).await),
        Err((id, fault)) => (id, Err(fault)),
    };
    Some(match outcome {
        Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        Err(Fault { code, message }) => {
            json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
        }
    })
}

type Request = (Value, String, Map<String, Value>);

/// What a message asks for.
fn request(text: &str) -> Result<Request, (Value, Fault)> {
    let Ok(value) = serde_json::from_str::<Value>(text) else {
        let fault = Fault::new(NOT_JSON, "parse error: a message is one JSON object");
        return Err((Value::Null, fault));
    };
    let Value::Object(mut object) = value else {
        let fault = Fault::new(NOT_A_REQUEST, "invalid request: expected an object");
        return Err((Value::Null, fault));
    };
    let id = object.remove("id").unwrap_or_default();
    let method = match object.remove("method") {
        Some(Value::String(method)) if !method.is_empty() => method,
        _ => {
            let message = "invalid request: `method` must be a string that is not empty";
            return Err((id, Fault::new(NOT_A_REQUEST, message)));
        }
    };
    match object.remove("params") {
        None | Some(Value::Null) => Ok((id, method, Map::new())),
        Some(Value::Object(params)) => Ok((id, method, params)),
        Some(_) => {
            let message = "invalid params: expected an object";
            Err((id, Fault::new(WRONG_PARAMETERS, message)))
        }
    }
}

async fn carried_out(
    app: &Arc<App>,
    conversations: &Conversations,
    method: &str,
    params: &Map<String, Value>,
) -> Result<Value, Fault> {
    match method {
        "session.create" => conversations.create(params),
        "session.close" => conversations.close(params).await,
        "session.interrupt" => conversations.interrupt(params).await,
        "prompt.submit" => conversations.submit(params).await,
        "approval.respond" => conversations.approve(params).await,
        "model.options" => {
            let context = app.context();
            Ok(off_loop(move || api::model::options_of(&context)).await?)
        }
        other => {
            let shown = hermes_text::shown(other, 80);
            Err(Fault::new(
                NO_SUCH_METHOD,
                format!("unknown method: {shown}"),
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{NOT_A_REQUEST, NOT_JSON, WRONG_PARAMETERS, request};
    use pretty_assertions::assert_eq;
    use serde_json::{Value, json};

    #[test]
    fn what_is_no_request_is_told_apart_and_keeps_its_id() {
        for (text, id, code) in [
            ("{", Value::Null, NOT_JSON),
            ("[]", Value::Null, NOT_A_REQUEST),
            (r#"{"id": 7}"#, json!(7), NOT_A_REQUEST),
            (r#"{"id": 7, "method": ""}"#, json!(7), NOT_A_REQUEST),
            (
                r#"{"id": "w1", "method": "session.create", "params": []}"#,
                json!("w1"),
                WRONG_PARAMETERS,
            ),
        ] {
            let (found, fault) = request(text).unwrap_err();
            assert_eq!((found, fault.code), (id, code), "{text}");
        }
        let (id, method, params) = request(r#"{"id": 1, "method": "x", "params": null}"#).unwrap();
        assert_eq!((id, method.as_str(), params.len()), (json!(1), "x", 0));
    }
}
