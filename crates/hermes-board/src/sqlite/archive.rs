//! Archiving and deleting cards, and editing results.

use hermes_text::first_line;
use serde_json::{Value, json};

use crate::model::{Object, Outcome, RunId, Status, TaskId};
use crate::sqlite::StoredBoard;
use crate::sqlite::block::filled;
use crate::sqlite::runs::Ending;
use crate::sqlite::statements::params;
use crate::sqlite::transaction::Transaction;
use crate::{Error, Result};

/// Longest line of a summary in an event.
const SUMMARY_LINE: usize = 400;

/// Deletes a card with everything that belongs to it.
const DELETE_CARD: [&str; 13] = [
    "DELETE FROM task_comments WHERE task_id = ?1",
    "DELETE FROM task_events WHERE task_id = ?1",
    "DELETE FROM task_runs WHERE task_id = ?1",
    "DELETE FROM task_attachments WHERE task_id = ?1",
    "DELETE FROM kanban_notify_subs WHERE task_id = ?1",
    "DELETE FROM task_checks WHERE task_id = ?1",
    "DELETE FROM task_check_results WHERE session_id IN
         (SELECT id FROM task_check_sessions WHERE task_id = ?1)",
    "DELETE FROM task_check_sessions WHERE task_id = ?1",
    "DELETE FROM task_reviews WHERE task_id = ?1",
    "DELETE FROM task_review_comments WHERE task_id = ?1",
    "DELETE FROM task_review_replies WHERE task_id = ?1",
    "DELETE FROM task_links WHERE parent_id = ?1 OR child_id = ?1",
    "DELETE FROM tasks WHERE id = ?1",
];

/// A new result for a card that is done.
#[derive(Debug, Clone, PartialEq)]
pub struct ResultEdit {
    pub result: String,
    /// Summary; the result if not given.
    pub summary: Option<String>,
    /// Facts for machines; kept as they are if not given.
    pub metadata: Option<Object>,
}

impl StoredBoard {
    /// Deletes an archived card for good. The caller removes its files.
    pub fn purge(&mut self, id: &TaskId) -> Result<()> {
        self.write(|tx| {
            let state = tx.card_state(id)?;
            state.require_status(id, "delete", &[Status::Archived])?;
            for statement in DELETE_CARD {
                tx.execute(statement, [id.as_str()])?;
            }
            Ok(())
        })
    }

    /// Changes the result of a card that is done; returns the attempt that has it.
    pub fn edit_result(&mut self, id: &TaskId, edit: &ResultEdit) -> Result<RunId> {
        self.write(|tx| {
            let state = tx.card_state(id)?;
            state.require_status(id, "edit the result of", &[Status::Done])?;
            let result = filled(Some(&edit.result));
            let handoff = filled(edit.summary.as_deref()).or(result);
            tx.execute(
                "UPDATE tasks SET result = ?2 WHERE id = ?1",
                params![id.as_str(), result],
            )?;
            let run = tx.rewrite_completion(id, handoff, edit.metadata.as_ref())?;
            let mut fields = vec!["result", "summary"];
            if edit.metadata.is_some() {
                fields.push("metadata");
            }
            tx.append(
                id,
                Some(run),
                "edited",
                json!({
                    "fields": fields,
                    "result_len": result.map_or(0, |result| result.chars().count()),
                    "summary": handoff.and_then(|text| first_line(text, SUMMARY_LINE)),
                }),
            )?;
            Ok(run)
        })
    }
}

impl Transaction<'_> {
    pub(super) fn archive(&self, id: &TaskId) -> Result<Vec<TaskId>> {
        let state = self.card_state(id)?;
        if state.status == Status::Archived {
            return Err(Error::not_allowed(id, "archive", &state.word));
        }
        self.free_claim(id)?;
        self.execute(
            "UPDATE tasks SET status = 'archived', scheduled_at = NULL WHERE id = ?1",
            [id.as_str()],
        )?;
        let ending = Ending::new(
            Outcome::Reclaimed,
            Some("the card was archived while it was worked on"),
            None,
        );
        let run = self.close_run(id, state.run, &ending)?;
        self.append(id, run, "archived", Value::Null)?;
        self.promote_among(&self.children(id)?)
    }

    fn rewrite_completion(
        &self,
        id: &TaskId,
        handoff: Option<&str>,
        metadata: Option<&Object>,
    ) -> Result<RunId> {
        let last = self.one(
            "SELECT r.id FROM task_runs r WHERE r.task_id = ?1 AND r.outcome = 'completed'
             ORDER BY COALESCE(r.ended_at, r.started_at, 0) DESC, +r.id DESC LIMIT 1",
            [id.as_str()],
            |row| row.get(0),
        )?;
        let Some(run) = last.map(RunId) else {
            let ending = Ending::new(Outcome::Completed, handoff, metadata);
            return self.record_instant_run(id, &ending);
        };
        self.execute(
            "UPDATE task_runs SET summary = ?2, metadata = COALESCE(?3, metadata) WHERE id = ?1",
            params![
                run.0,
                handoff,
                metadata.map(|metadata| Value::Object(metadata.clone()).to_string())
            ],
        )?;
        Ok(run)
    }
}
