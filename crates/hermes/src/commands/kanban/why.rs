//! `hermes kanban why`: what a dispatcher would do with a card.

use std::process::ExitCode;

use hermes_board::DispatchFlags;
use hermes_board::model::{Task, TaskId};
use hermes_board::plan::Verdict;
use serde_json::{Value, json};

use super::cards::{TITLE, icon};
use super::session::BoardSession;
use super::workers::dispatcher;
use crate::context::Context;
use crate::error::Result;
use crate::ui::one_line;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The card
    id: TaskId,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, context: &Context, board: Option<&str>) -> Result<ExitCode> {
    let session = BoardSession::open(context, board)?;
    let task = session.task(&args.id)?;
    let verdicts = dispatcher(&session, &DispatchFlags::default()).why(&session.store, &args.id)?;
    let time = session.time();
    let sentence = |verdict: &Verdict| verdict.sentence(|at| time.minute(at));
    let printer = &context.printer;
    if args.json {
        printer.json(&object(&task, &verdicts, sentence)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    printer.line(format!(
        "{} {}  {}  {}",
        icon(task.status()),
        task.id,
        one_line(task.status_word(), TITLE),
        one_line(&task.title, TITLE)
    ))?;
    for verdict in &verdicts {
        printer.line(format!("  {}", one_line(&sentence(verdict), 1000)))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The verdicts with their sentences, for programs that want to show them.
fn object(
    task: &Task,
    verdicts: &[Verdict],
    sentence: impl Fn(&Verdict) -> String,
) -> Result<Value> {
    let mut rows = Vec::new();
    for verdict in verdicts {
        let mut row = serde_json::to_value(verdict)?;
        if let Value::Object(row) = &mut row {
            row.insert("sentence".to_owned(), sentence(verdict).into());
        }
        rows.push(row);
    }
    let starts = |verdict: &Verdict| matches!(verdict, Verdict::Starts { .. });
    Ok(json!({
        "task_id": task.id,
        "status": task.status_word(),
        "assignee": task.assignee,
        "starts": verdicts.iter().any(starts),
        "verdicts": rows,
    }))
}
