//! Values from rows. Columns are named in each query, never assumed to be in any order.

use crate::Result;
use serde_json::Value;

use crate::model::{
    Attachment, Comment, Event, Run, RunId, Status, Subscription, Task, TaskId, TaskState,
};
use crate::sqlite::cells::Cells;
use crate::sqlite::statements::Row;

pub(super) fn task(row: &dyn Row) -> Result<Task> {
    let mut cells = Cells::new(row);
    Ok(Task {
        id: TaskId::new(cells.text()?),
        title: cells.text()?,
        body: cells.text_or_none()?,
        assignee: cells.text_or_none()?,
        state: state(cells.text()?),
        priority: cells.int()?,
        tenant: cells.text_or_none()?,
        workspace_kind: cells.text()?,
        workspace_path: cells.text_or_none()?,
        branch_name: cells.text_or_none()?,
        project_id: cells.text_or_none()?,
        created_by: cells.text_or_none()?,
        created_at: cells.int()?,
        started_at: cells.int_or_none()?,
        completed_at: cells.int_or_none()?,
        result: cells.text_or_none()?,
        skills: cells.json()?.and_then(names),
        max_retries: cells.int_or_none()?,
        session_id: cells.text_or_none()?,
        workflow_template_id: cells.text_or_none()?,
        current_step_key: cells.text_or_none()?,
        claim_lock: cells.text_or_none()?,
        claim_expires: cells.int_or_none()?,
        worker_pid: cells.int_or_none()?,
        current_run_id: cells.int_or_none()?.filter(|id| *id > 0).map(RunId),
        consecutive_failures: cells.int()?,
        last_failure_error: cells.text_or_none()?,
        max_runtime_seconds: cells.int_or_none()?,
        model_override: cells.filled_text()?,
        goal_mode: cells.int()? != 0,
        goal_max_turns: cells.int_or_none()?.filter(|turns| *turns > 0),
        block_kind: cells.filled_text()?,
        block_recurrences: cells.int()?,
        idempotency_key: cells.text_or_none()?,
        last_heartbeat_at: cells.int_or_none()?,
        scheduled_at: cells.int_or_none()?,
        sandbox: cells.filled_text()?,
        filed_within: cells.text_or_none()?,
        host_labels: cells.json()?.and_then(names).unwrap_or_default(),
        host_name: cells.filled_text()?,
        repository: cells.filled_text()?,
    })
}

pub(super) fn run(row: &dyn Row) -> Result<Run> {
    let mut cells = Cells::new(row);
    Ok(Run {
        id: RunId(cells.int()?),
        profile: cells.text_or_none()?,
        step_key: cells.text_or_none()?,
        status: cells.text()?,
        outcome: cells.text_or_none()?,
        summary: cells.text_or_none()?,
        error: cells.text_or_none()?,
        metadata: cells.object()?,
        worker_pid: cells.int_or_none()?,
        started_at: cells.int()?,
        ended_at: cells.int_or_none()?,
        task_id: TaskId::new(cells.text()?),
        claim_lock: cells.text_or_none()?,
        claim_expires: cells.int_or_none()?,
        max_runtime_seconds: cells.int_or_none()?,
        last_heartbeat_at: cells.int_or_none()?,
        host_id: cells.filled_text()?,
        host: cells.filled_text()?,
    })
}

pub(super) fn event(row: &dyn Row) -> Result<Event> {
    event_of(&mut Cells::new(row))
}

/// The event in the next cells.
pub(super) fn event_of(cells: &mut Cells<'_>) -> Result<Event> {
    Ok(Event {
        id: cells.int()?,
        task_id: TaskId::new(cells.text()?),
        run_id: cells.int_or_none()?.map(RunId),
        kind: cells.text()?,
        payload: cells.json()?,
        created_at: cells.int()?,
    })
}

pub(super) fn comment(row: &dyn Row) -> Result<Comment> {
    let mut cells = Cells::new(row);
    Ok(Comment {
        id: cells.int()?,
        task_id: TaskId::new(cells.text()?),
        author: cells.text()?,
        body: cells.text()?,
        created_at: cells.int()?,
    })
}

pub(super) fn attachment(row: &dyn Row) -> Result<Attachment> {
    let mut cells = Cells::new(row);
    Ok(Attachment {
        id: cells.int()?,
        task_id: TaskId::new(cells.text()?),
        filename: cells.text()?,
        stored_path: cells.text()?.into(),
        content_type: cells.text_or_none()?,
        size: u64::try_from(cells.int()?).unwrap_or_default(),
        uploaded_by: cells.text_or_none()?,
        created_at: cells.int()?,
    })
}

pub(super) fn subscription(row: &dyn Row) -> Result<Subscription> {
    let mut cells = Cells::new(row);
    Ok(Subscription {
        task_id: TaskId::new(cells.text()?),
        platform: cells.text()?,
        chat_id: cells.text()?,
        thread_id: cells.text()?,
        user_id: cells.text_or_none()?,
        notifier_profile: cells.filled_text()?,
        created_at: cells.int()?,
        last_event_id: cells.int()?,
    })
}

pub(super) fn state(word: String) -> TaskState {
    TaskState {
        status: Status::from_database(&word),
        word,
    }
}

pub(super) fn names(value: Value) -> Option<Vec<String>> {
    let Value::Array(items) = value else {
        return None;
    };
    let names = items.into_iter().filter_map(|item| match item {
        Value::String(name) => Some(name).filter(|name| !name.is_empty()),
        Value::Null => None,
        other => Some(other.to_string()),
    });
    Some(names.collect())
}
