//! `/v1/runs`.

use std::sync::Arc;

use hermes_policy::Answer;
use hyper::header::HeaderName;
use serde_json::{Value, json};

use super::begin::{begin, run_order, stored_request};
use super::events::RunEvents;
use crate::active_runs::{Run, RunLog, accepted};
use crate::app::{App, off_loop};
use crate::call::{Answered, Call, json as json_answer, switch, text};
use crate::http::{ApiError, event_response};
use crate::idempotency::{fingerprint, once};
use crate::ledger::{RUNS, TurnEntry};
use crate::responses::ResponseRequest;

const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");
/// What of a request makes it the same request.
const SAME: [&str; 6] = [
    "input",
    "instructions",
    "previous_response_id",
    "conversation_history",
    "session_id",
    "model",
];

pub(crate) async fn create(mut call: Call) -> Answered {
    call.app.turns.admit()?;
    let key = call.session_key()?;
    let again = call.idempotency_key()?;
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
    let entry = TurnEntry {
        id: format!("run_{}", hermes_fs::random_hex(32)),
        ..TurnEntry::new(RUNS)
    };
    let mut response = match again {
        Some(again) => {
            let mark = fingerprint(&body, &SAME);
            let accepting = Arc::clone(&app);
            let work = move |entry| accept(accepting, entry, request);
            once(&app, &format!("{RUNS} {again}"), mark, entry, work).await?
        }
        None => accept(app, entry, request).await?,
    };
    if let Some(key) = key {
        crate::http::insert(&mut response, crate::http::SESSION_KEY, &key);
    }
    Ok(response)
}

/// Takes a run on: it is on disk before the client hears of it.
async fn accept(app: Arc<App>, entry: TurnEntry, request: ResponseRequest) -> Answered {
    let id = entry.id.clone();
    let session = request.named_session.clone();
    let session = session.or_else(|| request.session_id.clone());
    let session = session.unwrap_or_else(|| id.clone());
    let model = request.model.clone();
    let model = model.unwrap_or_else(|| app.settings.model_name.clone());
    let log = RunLog {
        ledger: Arc::clone(&app.ledger),
        home: app.context().location.home.clone(),
    };
    let run = Arc::new(Run::new(id.clone(), &session, &model, log.clone()));
    let stored = stored_request(&request, &session);
    let order = run_order(&app, &run, &stored, entry)?;
    let reserved = app.turns.reserve(&id, Arc::clone(&run.control))?;
    let (status, own) = (run.status(), id.clone());
    off_loop(move || {
        log.ledger
            .accept_run(&log.home, &own, &session, &stored, &status)
    })
    .await?;
    begin(&app, run, order, reserved);
    Ok(accepted(&id))
}

/// A run on its way, or one that is over and can still be read.
async fn find(app: Arc<App>, id: String) -> Result<Arc<Run>, ApiError> {
    if let Some(run) = app.runs.get(&id) {
        return Ok(run);
    }
    off_loop(move || {
        let home = app.context().location.home.clone();
        let stored = app.ledger.run(&home, &id)?.ok_or_else(|| {
            let shown = hermes_text::shown(&id, 80);
            ApiError::not_found(format!("there is no run {shown}")).code("run_not_found")
        })?;
        Ok(Arc::new(Run::past(id, stored)))
    })
    .await
}

pub(crate) async fn show(call: Call) -> Answered {
    Ok(json_answer(
        &find(Arc::clone(&call.app), call.id().to_owned())
            .await?
            .status(),
    ))
}

pub(crate) async fn events(call: Call) -> Answered {
    let run = find(Arc::clone(&call.app), call.id().to_owned()).await?;
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
    let run = find(Arc::clone(&call.app), call.id().to_owned()).await?;
    let body = call.object().await?;
    let choice = body.get("choice").and_then(Value::as_str);
    let choice = choice.unwrap_or_default().trim().to_lowercase();
    let (choice, answer) = match choice.as_str() {
        "once" | "approve" | "approved" | "allow" => ("once", Answer::Once),
        "session" => ("session", Answer::Session),
        "always" => ("always", Answer::Always),
        "deny" => ("deny", Answer::Deny(text(&body, "reason")?)),
        _ => {
            return Err(
                ApiError::bad_request("`choice` is one of once, session, always and deny")
                    .code("invalid_approval_choice")
                    .param("choice"),
            );
        }
    };
    let all = switch(&body, "all", false)? || switch(&body, "resolve_all", false)?;
    // What is told of it is recorded first.
    let resolved = off_loop(move || Ok(run.answer(&answer, all, choice))).await?;
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

pub(crate) async fn stop(call: Call) -> Answered {
    let run = find(Arc::clone(&call.app), call.id().to_owned()).await?;
    if !run.stop() {
        return Err(ApiError::conflict("the run is over").code("run_not_active"));
    }
    let status = json!({"run_id": call.id(), "status": "stopping"});
    Ok(json_answer(&status))
}
