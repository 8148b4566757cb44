//! Putting cards away, deleting them, and the direct changes of the dashboard.

use hermes_store::rusqlite::params;
use serde_json::Value;

use crate::model::event_body::EventBody;
use crate::model::{Object, Outcome, RunId, Status, TaskId};
use crate::shown::first_line;
use crate::sqlite::SqliteBoard;
use crate::sqlite::block::filled;
use crate::sqlite::runs::Ending;
use crate::sqlite::session::Session;
use crate::{Error, Result};

/// Longest line of a summary in an event.
const SUMMARY_LINE: usize = 400;

/// Everything that belongs to a card besides its own row and its links.
const BELONGINGS: [&str; 7] = [
    "DELETE FROM task_comments WHERE task_id = ?1",
    "DELETE FROM task_events WHERE task_id = ?1",
    "DELETE FROM task_runs WHERE task_id = ?1",
    "DELETE FROM task_attachments WHERE task_id = ?1",
    "DELETE FROM kanban_notify_subs WHERE task_id = ?1",
    "DELETE FROM task_checks WHERE task_id = ?1",
    "DELETE FROM task_check_results WHERE session_id IN
         (SELECT id FROM task_check_sessions WHERE task_id = ?1)",
];

/// New words for a card that is done.
#[derive(Debug, Clone, PartialEq)]
pub struct ResultEdit {
    /// Short result.
    pub result: String,
    /// What was handed over; the result if not given.
    pub summary: Option<String>,
    /// Facts for machines; kept as they are if not given.
    pub metadata: Option<Object>,
}

/// Changes to the text of a card.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TextEdit {
    /// New title.
    pub title: Option<String>,
    /// New opening post.
    pub body: Option<String>,
}

impl SqliteBoard {
    pub(super) fn put_away(&mut self, id: &TaskId) -> Result<Vec<TaskId>> {
        self.write(|session| {
            let standing = session.standing(id)?;
            if standing.status == Status::Archived {
                return Err(Error::not_allowed(id, "archive", &standing.word));
            }
            session.free_claim(id)?;
            session.execute(
                "UPDATE tasks SET status = 'archived', scheduled_at = NULL WHERE id = ?1",
                [id.as_str()],
            )?;
            let ending = Ending::new(Outcome::Reclaimed)
                .summary(Some("the card was archived while it was worked on"));
            let run = session.close_run(id, standing.run, &ending)?;
            session.append(id, run, &EventBody::Archived)?;
            session.promote_among(&session.children(id)?)
        })
    }

    /// Deletes an archived card for good. Its files are the caller's business.
    pub fn purge(&mut self, id: &TaskId) -> Result<()> {
        self.write(|session| {
            let standing = session.standing(id)?;
            standing.must_be_one_of(id, "delete", &[Status::Archived])?;
            session.remove(id)?;
            Ok(())
        })
    }

    /// Deletes a card wherever it stands; gives the cards that became ready. A worker that still
    /// runs finds its card gone.
    pub fn delete(&mut self, id: &TaskId) -> Result<Vec<TaskId>> {
        self.write(|session| {
            session.must_exist(id)?;
            let children = session.remove(id)?;
            session.promote_among(&children)
        })
    }

    /// Moves a card to triage, waiting or ready, from wherever it stands.
    pub fn set_status(&mut self, id: &TaskId, status: Status) -> Result<()> {
        if !matches!(status, Status::Triage | Status::Todo | Status::Ready) {
            return Err(Error::not_allowed(id, "move there", status.as_str()));
        }
        self.write(|session| {
            let standing = session.standing(id)?;
            if status == Status::Ready {
                let parents = session.open_parents(id)?;
                if !parents.is_empty() {
                    return Err(Error::OpenParents {
                        id: id.clone(),
                        parents,
                    });
                }
            }
            session.free_claim(id)?;
            session.execute(
                "UPDATE tasks SET status = ?2, scheduled_at = NULL WHERE id = ?1",
                params![id.as_str(), status.as_str()],
            )?;
            let summary = format!("moved to {status} by hand");
            let ending = Ending::new(Outcome::Reclaimed).summary(Some(&summary));
            let run = session.close_run(id, standing.run, &ending)?;
            session.append(id, run, &EventBody::StatusSet { status })?;
            if standing.status.satisfies_children() {
                session.hold_back_children(id)?;
            }
            Ok(())
        })
    }

    /// Changes the priority of a card.
    pub fn reprioritize(&mut self, id: &TaskId, priority: i64) -> Result<()> {
        self.write(|session| {
            session.must_exist(id)?;
            session.execute(
                "UPDATE tasks SET priority = ?2 WHERE id = ?1",
                params![id.as_str(), priority],
            )?;
            session.append(id, None, &EventBody::Reprioritized { priority })?;
            Ok(())
        })
    }

    /// Changes title or opening post of a card.
    pub fn edit_text(&mut self, id: &TaskId, edit: &TextEdit) -> Result<()> {
        if edit
            .title
            .as_deref()
            .is_some_and(|title| title.trim().is_empty())
        {
            return Err(Error::Blank {
                what: "the title of a card",
            });
        }
        self.write(|session| {
            session.must_exist(id)?;
            session.execute(
                "UPDATE tasks SET title = COALESCE(?2, title), body = COALESCE(?3, body)
                 WHERE id = ?1",
                params![id.as_str(), edit.title.as_deref().map(str::trim), edit.body],
            )?;
            session.append(id, None, &EventBody::EditedPlain)?;
            Ok(())
        })
    }

    /// Changes what was handed over with a card that is done; gives the attempt it stands in.
    pub fn edit_result(&mut self, id: &TaskId, edit: &ResultEdit) -> Result<RunId> {
        self.write(|session| {
            let standing = session.standing(id)?;
            standing.must_be_one_of(id, "edit the result of", &[Status::Done])?;
            let result = filled(Some(&edit.result));
            let handoff = filled(edit.summary.as_deref()).or(result);
            session.execute(
                "UPDATE tasks SET result = ?2 WHERE id = ?1",
                params![id.as_str(), result],
            )?;
            let run = session.rewrite_completion(id, handoff, edit.metadata.as_ref())?;
            let mut fields = vec!["result", "summary"];
            if edit.metadata.is_some() {
                fields.push("metadata");
            }
            session.append(
                id,
                Some(run),
                &EventBody::Edited {
                    fields: &fields,
                    result_characters: result.map_or(0, |result| result.chars().count()),
                    summary: handoff.and_then(|text| first_line(text, SUMMARY_LINE)),
                },
            )?;
            Ok(run)
        })
    }
}

impl Session<'_> {
    /// Removes a card with everything that belongs to it; gives the cards that waited for it.
    fn remove(&self, id: &TaskId) -> Result<Vec<TaskId>> {
        let children = self.children(id)?;
        for statement in BELONGINGS {
            self.execute(statement, [id.as_str()])?;
        }
        for statement in [
            "DELETE FROM task_check_sessions WHERE task_id = ?1",
            "DELETE FROM task_links WHERE parent_id = ?1 OR child_id = ?1",
            "DELETE FROM tasks WHERE id = ?1",
        ] {
            self.execute(statement, [id.as_str()])?;
        }
        Ok(children)
    }

    /// A card that is not finished any more holds its ready children back again.
    fn hold_back_children(&self, parent: &TaskId) -> Result<()> {
        let children = self.ids(
            "SELECT c.id FROM task_links l JOIN tasks c ON c.id = l.child_id
             WHERE l.parent_id = ?1 AND c.status = 'ready' ORDER BY c.id",
            [parent.as_str()],
        )?;
        for child in children {
            self.execute(
                "UPDATE tasks SET status = 'todo' WHERE id = ?1",
                [child.as_str()],
            )?;
            self.append(&child, None, &EventBody::ParentReopened { parent })?;
        }
        Ok(())
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
            let ending = Ending::new(Outcome::Completed)
                .summary(handoff)
                .metadata(metadata);
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
