//! Blocking and scheduling cards, and unblocking them again.

use serde_json::{Value, json};

use crate::Result;
use crate::model::{BlockKind, Outcome, Status, TaskId};
use crate::sqlite::cells::Cells;
use crate::sqlite::runs::Ending;
use crate::sqlite::statements::params;
use crate::sqlite::transaction::{Transaction, with};
use crate::store::{BlockOutcome, BlockRequest, ScheduleRequest};

/// A card that is blocked this often for one reason goes back to triage: unblocking it does not help.
const RECURRENCE_LIMIT: i64 = 2;

impl Transaction<'_> {
    pub(super) fn unblock(&self, id: &TaskId) -> Result<Status> {
        self.card_state(id)?.require_status(
            id,
            "unblock",
            &[Status::Blocked, Status::Scheduled],
        )?;
        self.release(id, None)
    }

    pub(super) fn schedule(&self, request: &ScheduleRequest) -> Result<()> {
        let id = &request.task;
        let state = self.card_state(id)?;
        let allowed = [
            Status::Todo,
            Status::Ready,
            Status::Running,
            Status::Blocked,
            // Another time for a card that is scheduled already.
            Status::Scheduled,
        ];
        state.require_status(id, "schedule", &allowed)?;
        state.require_run(id, "schedule", request.expected_run)?;
        self.free_claim(id)?;
        self.execute(
            "UPDATE tasks SET status = 'scheduled', scheduled_at = ?2 WHERE id = ?1",
            params![id.as_str(), request.at],
        )?;
        let reason = filled(request.reason.as_deref());
        let ending = Ending::new(Outcome::Scheduled, reason, None);
        let run = self.close_or_record(id, state.run, &ending)?;
        let payload = with(json!({"reason": reason}), "at", request.at);
        self.append(id, run, "scheduled", payload)
    }

    pub(super) fn block(&self, request: &BlockRequest) -> Result<BlockOutcome> {
        let id = &request.task;
        let state = self.card_state(id)?;
        state.require_status(id, "block", &[Status::Running, Status::Ready])?;
        state.require_run(id, "block", request.expected_run)?;
        let reason = filled(request.reason.as_deref());
        // Waiting for other cards when none is open would end at the next tick and begin again.
        let waits_for_nothing =
            request.kind == Some(BlockKind::Dependency) && !self.has_open_parent(id)?;
        let kind = if waits_for_nothing {
            Some(BlockKind::NeedsInput)
        } else {
            request.kind
        };
        let (before, times) = self.block_history(id)?;
        let same = before.as_deref() == kind.map(BlockKind::as_str);
        let (status, recurrences) = match kind {
            Some(BlockKind::Dependency) => (Status::Todo, times),
            _ if same && times + 1 >= RECURRENCE_LIMIT => (Status::Triage, times + 1),
            _ if same => (Status::Blocked, times + 1),
            _ => (Status::Blocked, 1),
        };
        self.free_claim(id)?;
        self.execute(
            "UPDATE tasks SET status = ?2, block_kind = ?3, block_recurrences = ?4 WHERE id = ?1",
            params![
                id.as_str(),
                status.as_str(),
                kind.map(BlockKind::as_str),
                recurrences
            ],
        )?;
        let ending = Ending::new(Outcome::Blocked, reason, None);
        let run = self.close_or_record(id, state.run, &ending)?;
        let (event, payload) = match status {
            Status::Todo => (
                "dependency_wait",
                json!({"reason": reason, "kind": BlockKind::Dependency}),
            ),
            Status::Triage => (
                "block_loop_detected",
                json!({
                    "reason": reason,
                    "kind": kind,
                    "recurrences": recurrences,
                    "limit": RECURRENCE_LIMIT,
                }),
            ),
            _ => (
                "blocked",
                with(
                    json!({"reason": reason, "kind": kind, "recurrences": recurrences}),
                    "requested_kind",
                    waits_for_nothing.then_some(BlockKind::Dependency.as_str()),
                ),
            ),
        };
        self.append(id, run, event, payload)?;
        Ok(BlockOutcome {
            status,
            kind,
            recurrences,
            run,
        })
    }

    /// Why and how often a card was blocked.
    fn block_history(&self, id: &TaskId) -> Result<(Option<String>, i64)> {
        let history = self.one(
            "SELECT block_kind, block_recurrences FROM tasks WHERE id = ?1",
            [id.as_str()],
            |row| {
                let mut cells = Cells::new(row);
                Ok((cells.filled_text()?, cells.int()?))
            },
        )?;
        Ok(history.unwrap_or_default())
    }

    /// Makes a blocked or scheduled card ready, or waiting if a parent is open. The block reason is
    /// kept, so that a repetition is recognised.
    pub(super) fn release(&self, id: &TaskId, source: Option<&'static str>) -> Result<Status> {
        let leaked = Ending::new(
            Outcome::Reclaimed,
            Some("closed when the card was freed"),
            None,
        );
        let state = self.card_state(id)?;
        self.close_run(id, state.run, &leaked)?;
        let waits = self.has_open_parent(id)?;
        let status = if waits { Status::Todo } else { Status::Ready };
        self.free_claim(id)?;
        self.execute(
            "UPDATE tasks SET status = ?2, consecutive_failures = 0, last_failure_error = NULL,
                 scheduled_at = NULL WHERE id = ?1",
            params![id.as_str(), status.as_str()],
        )?;
        let payload = if waits || source.is_some() {
            let status = waits.then_some(Status::Todo.as_str());
            with(with(json!({}), "status", status), "source", source)
        } else {
            Value::Null
        };
        self.append(id, None, "unblocked", payload)?;
        Ok(status)
    }
}

/// Nothing for a text of blanks.
pub(super) fn filled(text: Option<&str>) -> Option<&str> {
    text.filter(|text| !text.trim().is_empty())
}
