//! Completing cards: the gates before, the record, and what it sets free.

use std::path::PathBuf;
use std::sync::LazyLock;

use hermes_text::first_line;
use regex::Regex;
use serde_json::json;

use crate::model::{Outcome, RunId, Status, Task, TaskId};
use crate::sqlite::block::filled;
use crate::sqlite::cells::Cells;
use crate::sqlite::rows;
use crate::sqlite::runs::Ending;
use crate::sqlite::statements::params;
use crate::sqlite::transaction::{CardState, Transaction, json_list, with};
use crate::store::{CompleteOutcome, Completed, Completion};
use crate::{Error, Result};

/// Longest line of a summary in an event.
const SUMMARY_LINE: usize = 400;
/// Longest line of a summary in a refusal.
const PREVIEW_LINE: usize = 200;

/// What stands around a card that becomes done.
#[derive(Default)]
struct Surroundings {
    /// Commands that its attempt was refused.
    denied_commands: i64,
    has_pending_checks: bool,
    has_links: bool,
}

impl Transaction<'_> {
    /// Completes a card without checks. A refusal because of phantom cards is recorded, so the
    /// transaction commits and the refusal is the inner result.
    pub(super) fn complete(
        &self,
        id: &TaskId,
        completion: &Completion,
    ) -> Result<Result<CompleteOutcome>> {
        let task = self.may_complete(id, completion)?;
        let checks = self.checks(id)?;
        if !checks.is_empty() {
            return Ok(Ok(CompleteOutcome::NeedsChecks(checks)));
        }
        match self.verify_created_cards(id, completion)? {
            Ok(verified) => self
                .mark_done(task, completion, &verified)
                .map(|done| Ok(CompleteOutcome::Done(Box::new(done)))),
            Err(refusal) => Ok(Err(refusal)),
        }
    }

    /// Checks that the card can be completed, and by this attempt; returns the card.
    pub(super) fn may_complete(&self, id: &TaskId, completion: &Completion) -> Result<Task> {
        let task = self.known_task(id)?;
        let state = CardState::of(&task);
        // A card in review is completed by an approval, or by whoever claims it to review it.
        let is_reviewed = completion.is_approval && state.status == Status::Review;
        if !is_reviewed {
            let allowed = [Status::Running, Status::Ready, Status::Blocked];
            state.require_status(id, "complete", &allowed)?;
        }
        state.require_run(id, "complete", completion.expected_run)?;
        Ok(task)
    }

    /// Verifies that the worker really created the cards it names; a completion that names others is
    /// recorded and refused.
    pub(super) fn verify_created_cards(
        &self,
        id: &TaskId,
        completion: &Completion,
    ) -> Result<Result<Vec<TaskId>>> {
        let (verified, phantom) = self.split_created(id, &completion.created_cards)?;
        if phantom.is_empty() {
            return Ok(Ok(verified));
        }
        let handoff = completion.handoff();
        let preview = handoff.and_then(|text| first_line(text, PREVIEW_LINE));
        self.append(
            id,
            None,
            "completion_blocked_hallucination",
            json!({
                "phantom_cards": phantom,
                "verified_cards": verified,
                "summary_preview": preview,
            }),
        )?;
        Ok(Err(Error::PhantomCards {
            id: id.clone(),
            phantom,
        }))
    }

    /// Whether the worker of a card created another one, as [`Self::split_created`] tells.
    pub(super) fn is_created_by_worker(&self, own: &TaskId, card: &TaskId) -> Result<bool> {
        let (created, _) = self.split_created(own, std::slice::from_ref(card))?;
        Ok(!created.is_empty())
    }

    /// Splits the named cards into those the worker created (by its profile, by the card itself, or
    /// linked as children) and others.
    pub(super) fn split_created(
        &self,
        id: &TaskId,
        claimed: &[TaskId],
    ) -> Result<(Vec<TaskId>, Vec<TaskId>)> {
        let claimed: Vec<TaskId> = claimed
            .iter()
            .map(|card| TaskId::new(card.as_str().trim()))
            .filter(|card| !card.as_str().is_empty())
            .collect();
        if claimed.is_empty() {
            return Ok((Vec::new(), Vec::new()));
        }
        let real = self.ids(
            "SELECT c.id FROM json_each(?2) j JOIN tasks c ON c.id = j.value
             JOIN tasks t ON t.id = ?1
             WHERE (t.assignee <> '' AND c.created_by = t.assignee) OR c.created_by = t.id
                OR EXISTS (SELECT 1 FROM task_links l
                           WHERE l.parent_id = t.id AND l.child_id = c.id)",
            params![id.as_str(), json_list(&claimed)],
        )?;
        let mut verified = Vec::new();
        let mut phantom = Vec::new();
        for card in claimed {
            let side = if real.contains(&card) {
                &mut verified
            } else {
                &mut phantom
            };
            if !side.contains(&card) {
                side.push(card);
            }
        }
        Ok((verified, phantom))
    }

    /// Makes the card done. Checks and created cards have been verified.
    pub(super) fn mark_done(
        &self,
        task: Task,
        completion: &Completion,
        verified: &[TaskId],
    ) -> Result<Completed> {
        let (id, run) = (&task.id, task.current_run_id);
        let around = self.surroundings(id, run)?;
        let result = filled(completion.result.as_deref());
        let handoff = completion.handoff();
        let metadata = completion
            .metadata
            .as_ref()
            .filter(|metadata| !metadata.is_empty());
        self.execute(
            "UPDATE tasks SET status = 'done', result = ?2, completed_at = ?3, claim_lock = NULL,
                 claim_expires = NULL, worker_pid = NULL, current_run_id = NULL, block_kind = NULL,
                 block_recurrences = 0, consecutive_failures = 0, last_failure_error = NULL,
                 scheduled_at = NULL
             WHERE id = ?1",
            params![id.as_str(), result, self.now],
        )?;
        for attachment in &completion.attachments {
            self.insert_attachment(id, attachment)?;
        }
        let denied = around.denied_commands;
        let with_denied = (denied > 0).then(|| {
            let mut metadata = metadata.cloned().unwrap_or_default();
            metadata.insert("denied_commands".to_owned(), json!(denied));
            metadata
        });
        let ending = Ending::new(
            Outcome::Completed,
            handoff,
            with_denied.as_ref().or(metadata),
        );
        let run = match run {
            Some(run) => {
                self.end_run(run, &ending)?;
                if around.has_pending_checks {
                    self.void_checks(id)?;
                }
                Some(run)
            }
            None => self.close_or_record(id, None, &ending)?,
        };
        let artifacts = completion.artifacts();
        self.append(
            id,
            run,
            "completed",
            with(
                with(
                    with(
                        json!({
                            "result_len": result.map_or(0, |result| result.chars().count()),
                            "summary": handoff.and_then(|text| first_line(text, SUMMARY_LINE)),
                        }),
                        "verified_cards",
                        (!verified.is_empty()).then(|| json!(verified)),
                    ),
                    "artifacts",
                    (!artifacts.is_empty()).then(|| json!(artifacts)),
                ),
                "denied_commands",
                (denied > 0).then_some(denied),
            ),
        )?;
        if let Some(approval) = &completion.approval {
            self.write_approval(id, approval)?;
        }
        let phantom_references = self.phantom_references(completion)?;
        if !phantom_references.is_empty() {
            let phantom = &phantom_references;
            self.append(
                id,
                run,
                "suspected_hallucinated_references",
                json!({"phantom_refs": phantom, "source": "completion_summary"}),
            )?;
        }
        let promoted = if around.has_links {
            self.promote_among(&self.children(id)?)?
        } else {
            Vec::new()
        };
        let finished_workspaces = if around.has_links || task.workspace_path.is_some() {
            self.finished_workspaces(id)?
        } else {
            Vec::new()
        };
        Ok(Completed {
            run,
            promoted,
            phantom_references,
            finished_workspaces,
            task: self.completed(task, result),
        })
    }

    /// The card as [`Self::mark_done`] leaves it.
    fn completed(&self, task: Task, result: Option<&str>) -> Task {
        Task {
            state: rows::state(Status::Done.as_str().to_owned()),
            result: result.map(str::to_owned),
            completed_at: Some(self.now),
            claim_lock: None,
            claim_expires: None,
            worker_pid: None,
            current_run_id: None,
            block_kind: None,
            block_recurrences: 0,
            consecutive_failures: 0,
            last_failure_error: None,
            scheduled_at: None,
            ..task
        }
    }

    /// What has to be looked after when a card becomes done. Most cards have none of it, so one
    /// question spares four.
    fn surroundings(&self, id: &TaskId, run: Option<RunId>) -> Result<Surroundings> {
        let found = self.one(
            "SELECT
                 (SELECT count(*) FROM task_events WHERE run_id = ?2 AND kind = 'command_denied'),
                 EXISTS (SELECT 1 FROM task_check_sessions
                         WHERE task_id = ?1 AND state = 'pending'),
                 EXISTS (SELECT 1 FROM task_links WHERE parent_id = ?1)
                     OR EXISTS (SELECT 1 FROM task_links WHERE child_id = ?1)",
            params![id.as_str(), run.map(|run| run.0)],
            |row| {
                Ok(Surroundings {
                    denied_commands: row.get(0)?,
                    has_pending_checks: row.get(1)?,
                    has_links: row.get(2)?,
                })
            },
        )?;
        Ok(found.unwrap_or_default())
    }

    /// Card ids in summary and result that no card has.
    fn phantom_references(&self, completion: &Completion) -> Result<Vec<TaskId>> {
        static NAME: LazyLock<Option<Regex>> =
            LazyLock::new(|| Regex::new(r"\bt_[a-f0-9]{8,}\b").ok());
        let Some(name) = NAME.as_ref() else {
            return Ok(Vec::new());
        };
        let mut named: Vec<TaskId> = Vec::new();
        for text in [&completion.summary, &completion.result]
            .into_iter()
            .flatten()
        {
            for found in name.find_iter(text) {
                let id = TaskId::new(found.as_str());
                if !named.contains(&id) {
                    named.push(id);
                }
            }
        }
        if named.is_empty() {
            return Ok(named);
        }
        self.missing(&named)
    }

    /// Scratch workspaces that nobody reads after this completion: the card's own, unless it has open
    /// children, and those of finished parents whose last child this was.
    fn finished_workspaces(&self, id: &TaskId) -> Result<Vec<(TaskId, PathBuf)>> {
        self.all(
            "SELECT t.id, t.workspace_path
             FROM (SELECT ?1 AS id UNION SELECT parent_id FROM task_links WHERE child_id = ?1) w
             JOIN tasks t ON t.id = w.id
             WHERE +t.status IN ('done', 'archived') AND t.workspace_kind = 'scratch'
               AND COALESCE(t.workspace_path, '') <> ''
               AND NOT EXISTS (SELECT 1 FROM task_links l JOIN tasks c ON c.id = l.child_id
                   WHERE l.parent_id = t.id AND c.status NOT IN ('done', 'archived'))",
            [id.as_str()],
            |row| {
                let mut cells = Cells::new(row);
                Ok((TaskId::new(cells.text()?), PathBuf::from(cells.text()?)))
            },
        )
    }
}
