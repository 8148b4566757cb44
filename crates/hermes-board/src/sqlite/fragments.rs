//! Parts of statements that several of them share. Macros, so that a statement is one constant text
//! and can be prepared once.

/// True for cards `t` that have a parent which is not finished.
macro_rules! has_open_parent {
    () => {
        "EXISTS (SELECT 1 FROM task_links l JOIN tasks p ON p.id = l.parent_id \
         WHERE l.child_id = t.id AND p.status NOT IN ('done', 'archived'))"
    };
}

/// True for cards `t` that somebody blocked and nobody unblocked: they stay. The plus keeps SQLite
/// from walking the whole table backwards for the newest event.
macro_rules! is_sticky {
    () => {
        "COALESCE((SELECT e.kind FROM task_events e \
         WHERE e.task_id = t.id AND e.kind IN ('blocked', 'unblocked') \
         ORDER BY +e.id DESC LIMIT 1), '') = 'blocked'"
    };
}

/// Columns of a card `t`, as [`super::rows::task`] reads them.
macro_rules! task_columns {
    () => {
        "t.id, t.title, t.body, t.assignee, t.status, t.priority, t.tenant, t.workspace_kind, \
         t.workspace_path, t.branch_name, t.project_id, t.created_by, t.created_at, t.started_at, \
         t.completed_at, t.result, t.skills, t.max_retries, t.session_id, t.workflow_template_id, \
         t.current_step_key, t.claim_lock, t.claim_expires, t.worker_pid, t.current_run_id, \
         t.consecutive_failures, t.last_failure_error, t.max_runtime_seconds, t.model_override, \
         t.goal_mode, t.goal_max_turns, t.block_kind, t.block_recurrences, t.idempotency_key, \
         t.last_heartbeat_at, t.scheduled_at, t.sandbox, t.filed_within, t.host_labels, \
         t.host_name, t.repository"
    };
}

/// Columns of an attempt `r`, as [`super::rows::run`] reads them.
macro_rules! run_columns {
    () => {
        "r.id, r.profile, r.step_key, r.status, r.outcome, r.summary, r.error, r.metadata, \
         r.worker_pid, r.started_at, r.ended_at, r.task_id, r.claim_lock, r.claim_expires, \
         r.max_runtime_seconds, r.last_heartbeat_at, r.host_id, r.host_name"
    };
}

/// Columns of an event `e`, as [`super::rows::event`] reads them.
macro_rules! event_columns {
    () => {
        "e.id, e.task_id, e.run_id, e.kind, e.payload, e.created_at"
    };
}

pub(super) use {event_columns, has_open_parent, is_sticky, run_columns, task_columns};
