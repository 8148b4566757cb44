//! What a run is asked for, as it is stored, and its beginning: at once, or by the process after a
//! restart.

use std::sync::Arc;

use serde_json::{Value, json};

use super::sink::RunSink;
use crate::active_runs::Run;
use crate::app::App;
use crate::content::ReadContent;
use crate::http::ApiError;
use crate::ledger::TurnEntry;
use crate::responses::{ResponseRequest, told};
use crate::turn::{ReservedTurn, TurnApprover, TurnOrder, WhenDifferent};

/// Everything that it takes to begin a run.
pub(super) fn stored_request(request: &ResponseRequest, session: &str) -> Value {
    json!({
        "session": session,
        "is_named": request.named_session.is_some(),
        "history": request.history,
        "prompt": request.prompt.to_json(),
        "instructions": request.instructions,
        "model": request.model,
    })
}

/// The turn of a run.
pub(crate) fn run_order(
    app: &App,
    run: &Arc<Run>,
    request: &Value,
    entry: TurnEntry,
) -> Result<TurnOrder, ApiError> {
    let text = |name: &str| request[name].as_str().map(str::to_owned);
    let history = request["history"].as_array().map(Vec::as_slice);
    let told = told(history.unwrap_or_default());
    let is_named = request["is_named"].as_bool().unwrap_or_default();
    let approver: Arc<dyn TurnApprover> = run.clone();
    Ok(TurnOrder {
        entry,
        session: text("session").unwrap_or_else(|| run.id.clone()),
        when_busy: None,
        // A session that the client names is the truth unless the client tells something else.
        history: (!is_named || !told.is_empty()).then_some((told, WhenDifferent::NewSession)),
        input: ReadContent::read(request.get("prompt"), "input")?.into_input(),
        more_prompt: text("instructions"),
        route: app.settings.route(text("model").as_deref()).cloned(),
        approver: Some(approver),
    })
}

/// Lets a run go on by itself.
pub(crate) fn begin(app: &Arc<App>, run: Arc<Run>, order: TurnOrder, reserved: ReservedTurn) {
    app.runs.add(&run);
    let app = Arc::clone(app);
    let sink = RunSink {
        app: Arc::clone(&app),
        run,
        reasoning: String::new(),
    };
    tokio::spawn(async move {
        let sink = Box::new(sink);
        app.turns.begin_reserved(order, reserved, sink).await;
    });
}
