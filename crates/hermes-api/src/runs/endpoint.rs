//! `/v1/runs`.

use std::sync::Arc;
use std::time::Duration;

use hermes_policy::Answer;
use hyper::StatusCode;
use hyper::header::HeaderName;
use serde_json::{Value, json};

use super::events::RunEvents;
use super::run::Run;
use super::sink::RunSink;
use crate::app::off_loop;
use crate::call::{Answered, Call, json as json_answer, switch};
use crate::http::{ApiError, event_response, json_response};
use crate::responses::ResponseRequest;
use crate::turn::{TurnApprover, TurnOrder, WhenDifferent};

/// How long a client waits to hear that its run cannot begin.
const MOST_WAIT: Duration = Duration::from_millis(200);
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

pub(crate) async fn create(mut call: Call) -> Answered {
    call.app.turns.admit()?;
    let key = call.session_key()?;
    let body = call.object().await?;
    let mut request = ResponseRequest::read(&body)?;
    let app = Arc::clone(&call.app);
    let tells_history = body.get("conversation_history").is_some();
    let followed = Arc::clone(&app);
    let request = off_loop(move || {
        let home = followed.context().location.home.clone();
        request.follow(&followed.responses, &home, tells_history)?;
        Ok(request)
    })
    .await?;
    let id = format!("run_{}", hermes_fs::random_hex(32));
    let told = request.told();
    let named = request.named_session.clone();
    let session = named.clone().or_else(|| request.session_id.clone());
    let session = session.unwrap_or_else(|| id.clone());
    let model = request.model.clone();
    let model = model.unwrap_or_else(|| app.settings.model_name.clone());
    let run = Arc::new(Run::new(id.clone(), &session, &model));
    let approver: Arc<dyn TurnApprover> = run.clone();
    let order = TurnOrder {
        when_busy: None,
        // A session that the client names is the truth unless the client tells something else.
        history: (named.is_none() || !told.is_empty()).then_some((told, WhenDifferent::NewSession)),
        route: app.settings.route(request.model.as_deref()).cloned(),
        more_prompt: request.instructions,
        input: request.prompt.into_input(),
        approver: Some(approver),
        session,
    };
    app.runs.add(&run);
    let sink = RunSink {
        run: Arc::clone(&run),
        reasoning: String::new(),
    };
    let beginning = tokio::spawn({
        let app = Arc::clone(&app);
        let control = Arc::clone(&run.control);
        async move { app.turns.begin(order, control, Box::new(sink)).await }
    });
    // A run of a session that is busy waits by itself.
    if let Ok(Ok(Err(error))) = tokio::time::timeout(MOST_WAIT, beginning).await {
        app.runs.remove(&id);
        return Err(error);
    }
    let mut response = json_response(
        StatusCode::ACCEPTED,
        &json!({"run_id": id, "status": "started"}),
    );
    if let Some(key) = key {
        crate::http::insert(&mut response, crate::call::SESSION_KEY, &key);
    }
    Ok(response)
}

#[expect(clippy::unused_async, reason = "endpoints are asynchronous")]
pub(crate) async fn show(call: Call) -> Answered {
    Ok(json_answer(&call.app.runs.get(call.id())?.status()))
}

#[expect(clippy::unused_async, reason = "endpoints are asynchronous")]
pub(crate) async fn events(call: Call) -> Answered {
    let run = call.app.runs.get(call.id())?;
    let last = match call.header(&LAST_EVENT) {
        Some(number) => number.parse().map_err(|_| {
            ApiError::bad_request("`Last-Event-ID` is the number of an event of this run")
                .code("invalid_last_event_id")
        })?,
        None => 0,
    };
    Ok(event_response(RunEvents::after(run, last)))
}

pub(crate) async fn approve(mut call: Call) -> Answered {
    let run = call.app.runs.get(call.id())?;
    let body = call.object().await?;
    let choice = body.get("choice").and_then(Value::as_str);
    let choice = choice.unwrap_or_default().trim().to_lowercase();
    let (choice, answer) = match choice.as_str() {
        "once" | "approve" | "approved" | "allow" => ("once", Answer::Once),
        "session" => ("session", Answer::Session),
        "always" => ("always", Answer::Always),
        "deny" => {
            let reason = body.get("reason").and_then(Value::as_str);
            ("deny", Answer::Deny(reason.map(str::to_owned)))
        }
        _ => {
            return Err(
                ApiError::bad_request("`choice` is one of once, session, always and deny")
                    .code("invalid_approval_choice")
                    .param("choice"),
            );
        }
    };
    let all = switch(&body, "all", false) || switch(&body, "resolve_all", false);
    let resolved = run.answer(&answer, all, choice);
    if resolved == 0 {
        return Err(
            ApiError::conflict("the run waits for no approval").code("approval_not_pending")
        );
    }
    Ok(json_answer(&json!({
        "object": "hermes.run.approval_response",
        "run_id": call.id(),
        "choice": choice,
        "resolved": resolved,
    })))
}

#[expect(clippy::unused_async, reason = "endpoints are asynchronous")]
pub(crate) async fn stop(call: Call) -> Answered {
    let run = call.app.runs.get(call.id())?;
    if !run.stop() {
        return Err(ApiError::conflict("the run is over").code("run_not_active"));
    }
    let status = json!({"run_id": call.id(), "status": "stopping"});
    Ok(json_answer(&status))
}
