//! `hermes kanban complete`.

use std::process::ExitCode;

use hermes_board::files::complete_card;
use hermes_board::model::{Object, TaskId};
use hermes_board::store::{CompleteOutcome, Completion};
use serde_json::Value;

use super::session::{BoardSession, refusal, usage};
use crate::context::Context;
use crate::error::Result;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The cards
    #[arg(required = true, value_name = "ID")]
    ids: Vec<TaskId>,
    /// Short result
    #[arg(long, value_name = "TEXT")]
    result: Option<String>,
    /// What is handed over; only for a single card
    #[arg(long, value_name = "TEXT")]
    summary: Option<String>,
    /// Facts for programs, a JSON object; only for a single card
    #[arg(long, value_name = "JSON")]
    metadata: Option<String>,
}

pub(super) fn run(args: &Args, context: &Context, board: Option<&str>) -> Result<ExitCode> {
    if args.ids.len() > 1 && (args.summary.is_some() || args.metadata.is_some()) {
        return Err(usage(
            "--summary and --metadata say what one card hands over; they cannot be the same for \
             several",
        )
        .hint("complete the cards one by one, or without them"));
    }
    let completion = Completion {
        result: args.result.clone(),
        summary: args.summary.clone(),
        metadata: args.metadata.as_deref().map(metadata).transpose()?,
        ..Completion::default()
    };
    let mut session = BoardSession::open(context, board)?;
    session.for_each(&args.ids, |session, id| complete(session, id, &completion))
}

fn complete(session: &mut BoardSession<'_>, id: &TaskId, completion: &Completion) -> Result<()> {
    let completion = Completion {
        expected_run: session.own_run(id),
        ..completion.clone()
    };
    match complete_card(&mut session.store, &session.home, id, &completion)? {
        CompleteOutcome::Done(_) => Ok(session.printer().line(format!("Completed {id}"))?),
        CompleteOutcome::NeedsChecks(checks) => Err(refusal(format!(
            "{id} has {} acceptance checks that must pass first",
            checks.len()
        ))),
    }
}

/// A JSON object from the command line.
pub(super) fn metadata(text: &str) -> Result<Object> {
    match serde_json::from_str(text) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(usage("--metadata: must be a JSON object")),
        Err(error) => Err(usage(format!("--metadata: no JSON: {error}"))),
    }
}
