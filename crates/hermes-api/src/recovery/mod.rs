//! What becomes of turns that the end of an earlier process has cut off: runs go on, requests are
//! reported. Nothing is lost in silence, and nothing is done twice.

mod decision;
mod loop_guard;
mod report;

use std::sync::Arc;

use serde_json::json;

use self::decision::{Decision, Limits, decide};
use self::report::{progress_of, report_request, report_run};
use crate::active_runs::{Run, RunLog};
use crate::app::App;
use crate::clock::unix_time;
use crate::http::ApiError;
use crate::ledger::{Interrupted, RUNS, TurnEntry};
use crate::runs::{begin, run_order};
use crate::turn::Progress;

/// A run that goes on as soon as the server answers requests.
pub(crate) struct RecoveredRun {
    run: Arc<Run>,
    turn: Interrupted,
}

impl RecoveredRun {
    /// Lets the run go on.
    pub(crate) fn begin(self, app: &Arc<App>) {
        let Self { run, turn } = self;
        let entry = TurnEntry {
            id: turn.id.clone(),
            earlier: Some(turn.clone()),
            ..TurnEntry::new(RUNS)
        };
        match run_order(app, &run, &turn.request, entry) {
            Ok(order) => {
                let reserved = app.turns.reserve_again(&turn.id, run.control());
                begin(app, run, order, reserved);
            }
            Err(error) => {
                let fields = json!({"error": error.message()});
                run.finish("failed", "run.failed", &fields);
            }
        }
    }
}

/// Looks for turns that were cut off. Touches nothing in a home where no turn was ever taken.
pub(crate) fn recover(app: &Arc<App>) -> Vec<RecoveredRun> {
    let home = app.context().location.home.clone();
    if !app.ledger.exists(&home) {
        return Vec::new();
    }
    // Why it cannot be read was logged; requests that need the file are refused with the reason.
    let Ok(turns) = app.ledger.interrupted(&home) else {
        return Vec::new();
    };
    app.ledger.forget_unbegun(&home);
    app.ledger.sweep(&home);
    if turns.is_empty() {
        app.ledger.close();
        return Vec::new();
    }
    let limits = Limits::of(app.context().config());
    let (runs, requests): (Vec<_>, Vec<_>) =
        turns.into_iter().partition(|turn| turn.endpoint == RUNS);
    for turn in &requests {
        report_request(app, turn);
    }
    let runs: Vec<(Interrupted, Result<Progress, ApiError>)> = runs
        .into_iter()
        .map(|turn| {
            let progress = progress_of(&home, &turn);
            (turn, progress)
        })
        .collect();
    let is_begun = |progress: &Result<Progress, ApiError>| matches!(progress, Ok(Progress::Begun));
    let is_looping = runs.iter().any(|(_, progress)| is_begun(progress))
        && loop_guard::is_tripped(&home, &limits);
    let mut recovered = Vec::new();
    for (turn, progress) in runs {
        let run = progress.and_then(|progress| again(app, &turn, &progress, &limits, is_looping));
        match run {
            Ok(run) => recovered.extend(run.map(|run| RecoveredRun { run, turn })),
            Err(error) => {
                tracing::error!(
                    run = turn.id,
                    reason = error.message(),
                    "an interrupted run could not be taken up; it is tried again at the next start"
                );
            }
        }
    }
    recovered
}

/// The run to go on with; `None` if it ends here.
fn again(
    app: &Arc<App>,
    turn: &Interrupted,
    progress: &Progress,
    limits: &Limits,
    is_looping: bool,
) -> Result<Option<Arc<Run>>, ApiError> {
    let home = app.context().location.home.clone();
    let Some(stored) = app.ledger.run(&home, &turn.id)? else {
        return Ok(None);
    };
    let log = RunLog {
        ledger: Arc::clone(&app.ledger),
        home: home.clone(),
    };
    let run = Arc::new(Run::again(turn.id.clone(), stored, log));
    match decide(turn, progress, limits, is_looping, unix_time()) {
        Decision::Begin | Decision::Tell => Ok(Some(run)),
        Decision::Resume => {
            app.ledger.count_restart(&home, &turn.id)?;
            tracing::warn!(
                run = turn.id,
                session = turn.session,
                "a run was cut off by the end of the gateway and goes on"
            );
            let restarts = turn.restarts + 1;
            run.tell("run.resumed", json!({"restarts": restarts}));
            Ok(Some(run))
        }
        Decision::Report(reason) => {
            report_run(app, turn, &run, &reason);
            Ok(None)
        }
    }
}
