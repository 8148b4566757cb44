//! `hermes kanban why`: what a dispatcher would do with a card.

use hermes_board::DispatchFlags;
use hermes_board::model::{Task, TaskId};
use hermes_board::plan::Verdict;
use hermes_board::store::BoardStore;
use serde::Serialize;
use serde_json::json;

use super::cards::{TITLE, icon};
use super::checks::CheckPlace;
use super::review::{located, review_line};
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

/// A verdict with its sentence, for programs that want to show it.
#[derive(Serialize)]
struct Row<'a> {
    #[serde(flatten)]
    verdict: &'a Verdict,
    sentence: String,
}

/// Where commands of the card's worker run.
fn sandbox(task: &Task) -> &'static str {
    match task.sandbox.as_deref() {
        Some("on") => "The card has the commands of its worker run in the sandbox.",
        Some(_) => "The card has the commands of its worker run without the sandbox.",
        None => "Whether the commands of its worker run in the sandbox is up to terminal.sandbox.",
    }
}

pub(super) fn run(args: &Args, kanban: &Kanban<'_>) -> Result<()> {
    let session = kanban.open()?;
    let task = session.task(&args.id)?;
    let verdicts = session
        .dispatcher(&DispatchFlags::default())
        .why(&session.store, &args.id)?;
    let checks = session.store.checks(&args.id)?;
    let place = CheckPlace::of(kanban, &task, &checks);
    let review = located(&session, &args.id)?;
    let sentence = |verdict: &Verdict| verdict.sentence(|at| kanban.minute(at));
    if args.json {
        let rows = verdicts.iter().map(|verdict| Row {
            verdict,
            sentence: sentence(verdict),
        });
        let starts = |verdict: &Verdict| matches!(verdict, Verdict::Starts { .. });
        let mut answer = json!({
            "task_id": task.id,
            "status": task.status_word(),
            "assignee": task.assignee,
            "starts": verdicts.iter().any(starts),
            "sandbox": task.sandbox,
            "verdicts": rows.collect::<Vec<_>>(),
        });
        if let Some(place) = place {
            answer["checks_run"] = json!(place.word);
        }
        if !review.comments.is_empty() || review.approval.is_some() {
            answer["review"] = json!({
                "open": review.open().count(),
                "outdated": review.open().filter(|comment| comment.outdated).count(),
                "approval": review.approval,
            });
        }
        return kanban.json(&answer);
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
    kanban.line(format!("  {}", sandbox(&task)))?;
    if let Some(place) = place {
        kanban.line(format!("  {}", place.sentence))?;
    }
    if let Some(line) = review_line(kanban, &review) {
        kanban.line(format!("  Review: {line}."))?;
    }
    Ok(())
}
