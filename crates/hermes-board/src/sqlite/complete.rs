//! Completing cards: the gates before, the record, and what it sets free.

use std::path::PathBuf;
use std::sync::LazyLock;

use hermes_store::rusqlite::params;
use regex::Regex;
use serde_json::Value;

use crate::model::event_body::EventBody;
use crate::model::{Object, Outcome, RunId, Status, TaskId};
use crate::shown::first_line;
use crate::sqlite::SqliteBoard;
use crate::sqlite::block::filled;
use crate::sqlite::cells::Cells;
use crate::sqlite::runs::Ending;
use crate::sqlite::session::{Session, json_list};
use crate::store::{CompleteOutcome, Completed, Completion};
use crate::{Error, Result};

/// Longest line of a summary in an event.
const SUMMARY_LINE: usize = 400;
/// Longest line of a summary in a refusal.
const PREVIEW_LINE: usize = 200;

impl SqliteBoard {
    pub(super) fn finish(
        &mut self,
        id: &TaskId,
        completion: &Completion,
    ) -> Result<CompleteOutcome> {
        self.write(|session| {
            let run = session.may_complete(id, completion)?;
            let checks = session.checks(id)?;
            if !checks.is_empty() {
                return Ok(Ok(CompleteOutcome::NeedsChecks(checks)));
            }
            match session.pass_gate(id, completion)? {
                Ok(verified) => session
                    .complete(id, run, completion, &verified)
                    .map(|done| Ok(CompleteOutcome::Done(Box::new(done)))),
                // The refusal is recorded, so it is committed like a success.
                Err(refusal) => Ok(Err(refusal)),
            }
        })?
    }
}

impl Session<'_> {
    /// Whether the card stands where it can be completed and the speaker may do it; gives the
    /// attempt in progress.
    pub(super) fn may_complete(
        &self,
        id: &TaskId,
        completion: &Completion,
    ) -> Result<Option<RunId>> {
        let standing = self.standing(id)?;
        let allowed = [Status::Running, Status::Ready, Status::Blocked];
        standing.must_be_one_of(id, "complete", &allowed)?;
        standing.must_be_run(id, "complete", completion.expected_run)?;
        Ok(standing.run)
    }

    /// Lets a completion pass whose created cards are real, and records one whose are not.
    pub(super) fn pass_gate(
        &self,
        id: &TaskId,
        completion: &Completion,
    ) -> Result<std::result::Result<Vec<TaskId>, Error>> {
        let (verified, phantom) = self.verify_created(id, &completion.created_cards)?;
        if phantom.is_empty() {
            return Ok(Ok(verified));
        }
        self.append(
            id,
            None,
            &EventBody::CompletionBlockedHallucination {
                phantom: &phantom,
                verified: &verified,
                summary_preview: completion
                    .handoff()
                    .and_then(|text| first_line(text, PREVIEW_LINE)),
            },
        )?;
        Ok(Err(Error::PhantomCards {
            id: id.clone(),
            phantom,
        }))
    }

    /// Of the cards a worker says it made, those it did.
    pub(super) fn verified_cards(
        &self,
        id: &TaskId,
        completion: &Completion,
    ) -> Result<Vec<TaskId>> {
        let (verified, _) = self.verify_created(id, &completion.created_cards)?;
        Ok(verified)
    }

    /// Tells cards the worker really made from others: made by its profile, by the card itself, or
    /// linked as children.
    fn verify_created(
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

    /// Makes the card done. The gates have been passed.
    pub(super) fn complete(
        &self,
        id: &TaskId,
        run: Option<RunId>,
        completion: &Completion,
        verified: &[TaskId],
    ) -> Result<Completed> {
        let result = filled(completion.result.as_deref());
        let handoff = completion.handoff();
        let metadata = completion
            .metadata
            .as_ref()
            .filter(|metadata| !metadata.is_empty());
        self.execute(
            "UPDATE tasks SET status = 'done', result = ?2, completed_at = ?3, claim_lock = NULL,
                 claim_expires = NULL, worker_pid = NULL, block_kind = NULL,
                 block_recurrences = 0, consecutive_failures = 0, last_failure_error = NULL,
                 scheduled_at = NULL
             WHERE id = ?1",
            params![id.as_str(), result, self.now],
        )?;
        for attachment in &completion.attachments {
            self.insert_attachment(id, attachment)?;
        }
        let ending = Ending::new(Outcome::Completed)
            .summary(handoff)
            .metadata(metadata);
        let run = self.close_or_record(id, run, &ending)?;
        self.append(
            id,
            run,
            &EventBody::Completed {
                result_characters: result.map_or(0, |result| result.chars().count()),
                summary: handoff.and_then(|text| first_line(text, SUMMARY_LINE)),
                verified_cards: verified,
                artifacts: &artifacts(metadata),
            },
        )?;
        let phantom_references = self.phantom_references(completion)?;
        if !phantom_references.is_empty() {
            let phantom = &phantom_references;
            self.append(
                id,
                run,
                &EventBody::SuspectedHallucinatedReferences { phantom },
            )?;
        }
        let promoted = self.promote_among(&self.children(id)?)?;
        Ok(Completed {
            task: self.known_task(id)?,
            run,
            promoted,
            phantom_references,
            finished_workspaces: self.finished_workspaces(id)?,
        })
    }

    /// Names of cards in what was handed over that no card has.
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

    /// Scratch workspaces that this completion leaves without a reader: the card's own, unless
    /// children still want to look at it, and those of finished parents whose last child this was.
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

/// The deliverables that the facts for machines name.
fn artifacts(metadata: Option<&Object>) -> Vec<String> {
    let Some(Value::Array(items)) = metadata.and_then(|metadata| metadata.get("artifacts")) else {
        return Vec::new();
    };
    items
        .iter()
        .filter_map(Value::as_str)
        .map(|path| path.trim().to_owned())
        .filter(|path| !path.is_empty())
        .collect()
}
