//! `hermes kanban why`: what a dispatcher would do with a card.

use hermes_board::dispatch::DispatchFlags;
use hermes_board::model::{Task, TaskId};
use hermes_board::plan::Verdict;
use serde_json::{Value, json};

use super::cards::{TITLE, icon};
use super::session::Kanban;
use crate::error::Result;
use crate::ui::one_line;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The card
    id: TaskId,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, kanban: &Kanban<'_>) -> Result<()> {
    let session = kanban.open()?;
    let task = session.task(&args.id)?;
    let verdicts = session
        .dispatcher(&DispatchFlags::default())
        .why(&session.store, &args.id)?;
    let sentence = |verdict: &Verdict| verdict.sentence(|at| kanban.minute(at));
    if args.json {
        return kanban.json(&object(&task, &verdicts, sentence)?);
    }
    kanban.line(format!(
        "{} {}  {}  {}",
        icon(task.status()),
        task.id,
        one_line(task.status_word(), TITLE),
        one_line(&task.title, TITLE)
    ))?;
    for verdict in &verdicts {
        kanban.line(format!("  {}", one_line(&sentence(verdict), 1000)))?;
    }
    Ok(())
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
