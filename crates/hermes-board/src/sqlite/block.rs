//! Blocking, parking, and freeing again.

use hermes_store::rusqlite::params;

use crate::Result;
use crate::model::event_body::EventBody;
use crate::model::{BlockKind, Outcome, Status, TaskId};
use crate::sqlite::SqliteBoard;
use crate::sqlite::cells::Cells;
use crate::sqlite::runs::Ending;
use crate::sqlite::session::Session;
use crate::store::{BlockOutcome, BlockRequest, ScheduleRequest};

/// Blocked this often for one reason, a card goes back to triage: whoever unblocks it does not help.
const RECURRENCE_LIMIT: i64 = 2;

impl SqliteBoard {
    pub(super) fn hold(&mut self, request: &BlockRequest) -> Result<BlockOutcome> {
        self.write(|session| session.hold(request))
    }

    pub(super) fn release_hold(&mut self, id: &TaskId) -> Result<Status> {
        self.write(|session| {
            session.standing(id)?.must_be_one_of(
                id,
                "unblock",
                &[Status::Blocked, Status::Scheduled],
            )?;
            session.free(id, None)
        })
    }

    pub(super) fn park(&mut self, request: &ScheduleRequest) -> Result<()> {
        self.write(|session| {
            let id = &request.task;
            let standing = session.standing(id)?;
            let allowed = [
                Status::Todo,
                Status::Ready,
                Status::Running,
                Status::Blocked,
                // Another moment for a card that is parked already.
                Status::Scheduled,
            ];
            standing.must_be_one_of(id, "schedule", &allowed)?;
            standing.must_be_run(id, "schedule", request.expected_run)?;
            session.free_claim(id)?;
            session.execute(
                "UPDATE tasks SET status = 'scheduled', scheduled_at = ?2 WHERE id = ?1",
                params![id.as_str(), request.at],
            )?;
            let reason = filled(request.reason.as_deref());
            let ending = Ending::new(Outcome::Scheduled).summary(reason);
            let run = session.close_or_record(id, standing.run, &ending)?;
            let at = request.at;
            session.append(id, run, &EventBody::Scheduled { reason, at })?;
            Ok(())
        })
    }
}

impl Session<'_> {
    fn hold(&self, request: &BlockRequest) -> Result<BlockOutcome> {
        let id = &request.task;
        let standing = self.standing(id)?;
        standing.must_be_one_of(id, "block", &[Status::Running, Status::Ready])?;
        standing.must_be_run(id, "block", request.expected_run)?;
        let reason = filled(request.reason.as_deref());
        // A wait for other cards without an open one would end at the next look and begin again.
        let waits_for_nothing =
            request.kind == Some(BlockKind::Dependency) && !self.has_open_parent(id)?;
        let kind = if waits_for_nothing {
            Some(BlockKind::NeedsInput)
        } else {
            request.kind
        };
        let (before, times) = self.block_history(id)?;
        let same = before.as_deref() == kind.map(BlockKind::as_str);
        let (landed, recurrences) = match kind {
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
                landed.as_str(),
                kind.map(BlockKind::as_str),
                recurrences
            ],
        )?;
        let ending = Ending::new(Outcome::Blocked).summary(reason);
        let run = self.close_or_record(id, standing.run, &ending)?;
        let body = match landed {
            Status::Todo => EventBody::DependencyWait { reason },
            Status::Triage => EventBody::BlockLoopDetected {
                reason,
                kind,
                recurrences,
                limit: RECURRENCE_LIMIT,
            },
            _ => EventBody::Blocked {
                reason,
                kind,
                recurrences,
                extra: waits_for_nothing
                    .then_some(("requested_kind", BlockKind::Dependency.as_str())),
            },
        };
        self.append(id, run, &body)?;
        Ok(BlockOutcome {
            landed,
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

    /// Frees a blocked or parked card: ready, or waiting if a parent is open. Why it was blocked is
    /// remembered, so that the same reason is recognised.
    pub(super) fn free(&self, id: &TaskId, source: Option<&'static str>) -> Result<Status> {
        let leaked =
            Ending::new(Outcome::Reclaimed).summary(Some("closed when the card was freed"));
        let standing = self.standing(id)?;
        self.close_run(id, standing.run, &leaked)?;
        let waits = self.has_open_parent(id)?;
        let landed = if waits { Status::Todo } else { Status::Ready };
        self.free_claim(id)?;
        self.execute(
            "UPDATE tasks SET status = ?2, consecutive_failures = 0, last_failure_error = NULL,
                 scheduled_at = NULL WHERE id = ?1",
            params![id.as_str(), landed.as_str()],
        )?;
        self.append(id, None, &EventBody::Unblocked { waits, source })?;
        Ok(landed)
    }
}

/// Nothing for a text of blanks.
pub(super) fn filled(text: Option<&str>) -> Option<&str> {
    text.filter(|text| !text.trim().is_empty())
}
