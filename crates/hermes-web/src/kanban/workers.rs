//! Workers: who works, what they print, and one round of the dispatcher.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use hermes_board::files::log_tail;
use hermes_board::model::{Run, RunId, Status};
use hermes_board::store::BoardStore as _;
use hermes_board::{Counts, DispatchFlags, ListQuery};
use hermes_home::profiles::names;
use serde_json::{Value, json};

use super::cards::board_command;
use super::opened::{OpenBoard, card_id};
use crate::call::{Answered, Call};
use crate::http::ApiError;

/// Most of a log in one answer.
const MOST_LOG: i64 = 2_000_000;
const DISPATCH_LIMIT: Duration = Duration::from_mins(2);

/// `GET /workers/active`.
pub(crate) fn active(call: &Call) -> Answered {
    let open = OpenBoard::of(call)?;
    let query = ListQuery {
        status: Some(Status::Running),
        ..ListQuery::default()
    };
    let mut workers: Vec<Value> = Vec::new();
    for task in open.store.list(&query)? {
        let run = task
            .current_run_id
            .map(|run| open.store.run(run))
            .transpose()?
            .flatten();
        let Some(run) = run.filter(|run| run.ended_at.is_none() && task.worker_pid.is_some())
        else {
            continue;
        };
        workers.push(json!({
            "run_id": run.id,
            "task_id": task.id,
            "task_title": task.title,
            "task_status": task.status_word(),
            "task_assignee": task.assignee,
            "profile": run.profile,
            "worker_pid": task.worker_pid,
            "started_at": run.started_at,
            "claim_lock": task.claim_lock,
            "claim_expires": task.claim_expires,
            "last_heartbeat_at": task.last_heartbeat_at,
            "max_runtime_seconds": task.max_runtime_seconds,
        }));
    }
    call.answer(json!({
        "count": workers.len(), "workers": workers, "checked_at": open.store.now(),
    }))
}

fn run_of(call: &Call, open: &OpenBoard) -> Result<Run, ApiError> {
    let text = call.param("run_id");
    let unknown = || {
        let shown = hermes_text::shown(text, 40);
        ApiError::not_found(format!("there is no attempt {shown}"))
    };
    let number = text.parse::<i64>().map_err(|_| unknown())?;
    open.store.run(RunId(number))?.ok_or_else(unknown)
}

/// `GET /runs/{run_id}`.
pub(crate) fn run(call: &Call) -> Answered {
    let open = OpenBoard::of(call)?;
    let run = run_of(call, &open)?;
    call.answer(json!({ "run": run }))
}

/// `GET /runs/{run_id}/inspect`: whether the process of an attempt lives.
pub(crate) fn inspect(call: &Call) -> Answered {
    let open = OpenBoard::of(call)?;
    let run = run_of(call, &open)?;
    let record = json!(run);
    let pid = record["worker_pid"]
        .as_u64()
        .and_then(|pid| u32::try_from(pid).ok());
    let identity = pid.and_then(hermes_proc::identity_of);
    let age = identity.as_ref().and_then(hermes_proc::age_of);
    let (alive, reason) = match (run.ended_at, pid, age) {
        (Some(_), _, _) => (false, Some("the attempt is over")),
        (None, None, _) => (false, Some("no process was recorded")),
        (None, Some(_), None) => (false, Some("the process is gone")),
        (None, Some(_), Some(_)) => (true, None),
    };
    call.answer(json!({
        "run_id": run.id,
        "alive": alive,
        "pid": pid,
        "reason": reason,
        "age_seconds": age.filter(|_| alive).map(|age| age.as_secs()),
    }))
}

/// `GET /tasks/{task_id}/log`: the end of what a worker printed.
pub(crate) fn log(call: &Call) -> Answered {
    let id = card_id(call)?;
    let tail = call.query_number("tail", MOST_LOG, 1..=MOST_LOG)?;
    let tail = u64::try_from(tail).unwrap_or(0);
    let open = OpenBoard::of(call)?;
    open.task(&id)?;
    let path = open.store.board().log_of(&id)?;
    let found = log_tail(&open.store, &id, tail)?;
    let exists = found.is_some();
    let (content, size) = found.unwrap_or_default();
    call.answer(json!({
        "task_id": id,
        "path": path.display().to_string(),
        "exists": exists,
        "size_bytes": size,
        "content": String::from_utf8_lossy(&content),
        "truncated": size > tail,
    }))
}

/// `GET /assignees`: profiles, and everybody else who has cards.
pub(crate) fn assignees(call: &Call) -> Answered {
    let open = OpenBoard::of(call)?;
    let profiles = names(&open.context.location)?;
    let profiles: BTreeSet<String> = profiles.iter().map(ToString::to_string).collect();
    let mut counts: BTreeMap<String, Counts> = open.store.stats()?.by_assignee;
    let everybody: BTreeSet<String> = profiles.iter().chain(counts.keys()).cloned().collect();
    let rows: Vec<Value> = everybody
        .into_iter()
        .map(|name| {
            let own = counts.remove(&name).unwrap_or_default();
            json!({"on_disk": profiles.contains(&name), "name": name, "counts": own})
        })
        .collect();
    call.answer(json!({ "assignees": rows }))
}

/// `POST /dispatch`: one round of the dispatcher, or what it would do.
pub(crate) fn dispatch(call: &Call) -> Answered {
    let most = call.query_number("max", 8, 1..=1_000)?;
    if call.query_flag("dry_run")? {
        let open = OpenBoard::of(call)?;
        let flags = DispatchFlags {
            max_spawn: Some(most),
            ..DispatchFlags::default()
        };
        let plan = open.dispatcher(&flags).preview(&open.store)?;
        return call.answer(json!(plan.report));
    }
    let most = most.to_string();
    let words = ["dispatch", "--max", &most, "--json"];
    let printed = board_command(call, &words, DISPATCH_LIMIT)?;
    let report: Value = serde_json::from_str(&printed)
        .map_err(|_| ApiError::internal("the dispatcher gave no report"))?;
    call.answer(report)
}
