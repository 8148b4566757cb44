//! `hermes kanban promote`.

use hermes_board::model::TaskId;
use hermes_board::store::{BoardStore, PromoteRequest};
use serde_json::{Value, json};

use super::block::{all, because, reason};
use super::session::{BoardSession, Kanban, author};
use crate::error::{CommandError, Result};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The card
    id: TaskId,
    /// Reason
    reason: Vec<String>,
    /// More cards to promote for the same reason
    #[arg(long, value_name = "ID", num_args = 1..)]
    ids: Vec<TaskId>,
    /// Promote despite open parents
    #[arg(long)]
    force: bool,
    /// Only check whether it would work
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, kanban: &Kanban<'_>) -> Result<()> {
    let reason = reason(&args.reason);
    let mut session = kanban.open()?;
    session.caller()?.may_manage("promote cards")?;
    let actor = author(kanban);
    let request = |id: &TaskId| PromoteRequest {
        task: id.clone(),
        actor: actor.clone(),
        reason: reason.clone(),
        force: args.force,
        dry_run: args.dry_run,
    };
    let ids = all(&args.id, &args.ids);
    if args.json {
        return as_json(args, &mut session, &ids, &request);
    }
    session.for_each(&ids, |session, id| {
        session.store.promote(&request(id))?;
        let why = because(reason.as_deref());
        let line = if args.dry_run {
            format!("Would promote {id} -> ready (dry){why}")
        } else {
            format!("Promoted {id} -> ready{why}")
        };
        session.line(line)
    })
}

fn as_json(
    args: &Args,
    session: &mut BoardSession<'_>,
    ids: &[TaskId],
    request: &dyn Fn(&TaskId) -> PromoteRequest,
) -> Result<()> {
    let mut seen: Vec<&TaskId> = Vec::new();
    let mut results: Vec<Value> = Vec::new();
    let mut failed = false;
    for id in ids {
        if seen.contains(&id) {
            continue;
        }
        seen.push(id);
        let request = request(id);
        let outcome = session.store.promote(&request);
        failed |= outcome.is_err();
        results.push(json!({
            "task_id": id,
            "promoted": outcome.is_ok(),
            "dry_run": args.dry_run,
            "forced": args.force,
            "reason": request.reason,
            "error": outcome.err().map(|error| error.to_string()),
        }));
    }
    let value = match <[Value; 1]>::try_from(results) {
        Ok([only]) => only,
        Err(several) => Value::Array(several),
    };
    session.json(&value)?;
    CommandError::silent_unless(!failed)
}
