//! Turns that end with a report: in the log, in the session, and wherever clients ask.

use std::path::Path;
use std::sync::Arc;

use hermes_session::{SessionId, SessionStore};
use serde_json::json;

use crate::active_runs::Run;
use crate::app::App;
use crate::http::ApiError;
use crate::ledger::{Interrupted, TurnMessages};
use crate::turn::{Progress, mark_interrupted};

/// What a session and a stored response say of a request that was cut off.
const CUT_OFF: &str = "This turn was cut off: the gateway ended before it was over.";

/// A run that does not go on.
pub(super) fn report_run(app: &Arc<App>, turn: &Interrupted, run: &Run, reason: &str) {
    tracing::error!(
        run = turn.id,
        session = turn.session,
        "a run was cut off and does not go on: {reason}"
    );
    let home = app.context().location.home.clone();
    if let Err(error) = mark(&home, turn, reason) {
        tracing::warn!(
            session = turn.session,
            reason = error.message(),
            "not marked"
        );
    }
    run.finish("failed", "run.failed", &json!({"error": reason}));
}

/// A request whose client has seen its connection break.
pub(super) fn report_request(app: &Arc<App>, turn: &Interrupted) {
    let home = app.context().location.home.clone();
    match mark(&home, turn, CUT_OFF) {
        Ok(Progress::Answered(_)) => tracing::warn!(
            session = turn.session,
            endpoint = turn.endpoint,
            "the gateway ended after a turn and before its client had the whole answer; the session \
             has it"
        ),
        Ok(_) => tracing::warn!(
            session = turn.session,
            endpoint = turn.endpoint,
            calls = turn.calls.join("; "),
            "a turn was cut off by the end of the gateway; its client has lost the connection"
        ),
        Err(error) => {
            // Tried again at the next start.
            tracing::error!(
                session = turn.session,
                reason = error.message(),
                "a turn that was cut off could not be marked in its session"
            );
            return;
        }
    }
    if let Some(id) = turn.request["response_id"].as_str() {
        fail_response(app, &home, id);
    }
    let settled = match app.ledger.is_awaited(&home, &turn.id) {
        Ok(true) => app.ledger.set_interrupted(&home, &turn.id),
        Ok(false) => {
            app.ledger.end(&home, &turn.id);
            Ok(())
        }
        Err(error) => Err(error),
    };
    if let Err(error) = settled {
        tracing::warn!(reason = error.message(), "a turn was not struck out");
    }
}

/// How far a turn had come.
pub(super) fn progress_of(home: &Path, turn: &Interrupted) -> Result<Progress, ApiError> {
    Ok(match session_of(home, turn)? {
        Some((store, session, messages)) => Progress::of(&store, &session, messages)?,
        None => Progress::NotBegun,
    })
}

/// Marks the session of a turn. Gives how far the turn had come.
fn mark(home: &Path, turn: &Interrupted, reason: &str) -> Result<Progress, ApiError> {
    let Some((mut store, session, messages)) = session_of(home, turn)? else {
        return Ok(Progress::NotBegun);
    };
    let progress = Progress::of(&store, &session, messages)?;
    mark_interrupted(&mut store, &session, messages, reason)?;
    Ok(progress)
}

/// The session of a turn and which of its messages are the turn's; `None` if there is nothing of it.
fn session_of(
    home: &Path,
    turn: &Interrupted,
) -> Result<Option<(SessionStore, SessionId, TurnMessages)>, ApiError> {
    let Some(messages) = turn.messages() else {
        return Ok(None);
    };
    let store = SessionStore::open(home)?;
    let session = SessionId::parse(&turn.session)?;
    if store.session(&session)?.is_none() {
        return Ok(None);
    }
    let session = store.resolve(session.as_str())?;
    Ok(Some((store, session, messages)))
}

/// A stored response that is still said to be in progress has failed.
fn fail_response(app: &App, home: &Path, id: &str) {
    let failed = app.responses.get(home, id).and_then(|stored| {
        let Some(mut stored) = stored else {
            return Ok(());
        };
        if stored.response["status"] != "in_progress" {
            return Ok(());
        }
        stored.response["status"] = json!("failed");
        stored.response["error"] = json!({"code": "server_error", "message": CUT_OFF});
        app.responses.put(home, id, &stored, None)
    });
    if let Err(error) = failed {
        tracing::warn!(
            response = id,
            reason = error.message(),
            "not marked as failed"
        );
    }
}
