//! The facts of the worker context, from one state of the board.

use crate::Result;
use crate::model::{Attachment, Check, Comment, Object, ReviewComment, Run, Task, TaskId};
use crate::sqlite::StoredBoard;
use crate::sqlite::cells::Cells;
use crate::sqlite::fragments::run_columns;
use crate::sqlite::rows;
use crate::sqlite::statements::params;
use crate::sqlite::transaction::Transaction;

/// What is known of a card for its worker.
#[derive(Debug)]
pub(crate) struct ContextFacts {
    pub(crate) now: i64,
    pub(crate) task: Task,
    pub(crate) attachments: Vec<Attachment>,
    pub(crate) checks: Vec<Check>,
    /// Review comments that are not resolved, in order.
    pub(crate) review: Vec<ReviewComment>,
    /// How many attempts ended.
    pub(crate) closed_runs: usize,
    /// The last of them, oldest first.
    pub(crate) last_runs: Vec<Run>,
    pub(crate) parents: Vec<ParentResult>,
    pub(crate) recent_work: Vec<RecentWork>,
    /// How many comments there are.
    pub(crate) comments: usize,
    /// The last of them, oldest first.
    pub(crate) last_comments: Vec<Comment>,
}

/// The result of a finished parent.
#[derive(Debug)]
pub(crate) struct ParentResult {
    pub(crate) id: TaskId,
    pub(crate) handoff: Option<String>,
    pub(crate) metadata: Option<Object>,
    pub(crate) completed_at: Option<i64>,
}

/// A card the same assignee finished.
#[derive(Debug)]
pub(crate) struct RecentWork {
    pub(crate) id: TaskId,
    pub(crate) title: String,
    pub(crate) ended_at: Option<i64>,
    pub(crate) summary: String,
}

impl StoredBoard {
    pub(crate) fn context_facts(
        &self,
        id: &TaskId,
        most_runs: i64,
        most_comments: i64,
    ) -> Result<ContextFacts> {
        let mut facts = self.read(|tx| {
            let task = tx.known_task(id)?;
            let recent_work = match task.assignee.as_deref() {
                Some(assignee) => tx.recent_work(assignee, id)?,
                None => Vec::new(),
            };
            Ok(ContextFacts {
                now: tx.now,
                attachments: tx.attachments(id)?,
                checks: tx.checks(id)?,
                review: tx.open_review_comments(id)?,
                closed_runs: tx.number(
                    "SELECT count(*) FROM task_runs WHERE task_id = ?1 AND ended_at IS NOT NULL",
                    id,
                )?,
                last_runs: tx.last_closed_runs(id, most_runs)?,
                parents: tx.parent_results(id)?,
                recent_work,
                comments: tx.number("SELECT count(*) FROM task_comments WHERE task_id = ?1", id)?,
                last_comments: tx.last_comments(id, most_comments)?,
                task,
            })
        })?;
        let attachments = facts.attachments.into_iter();
        facts.attachments = attachments.map(|one| self.here(one)).collect();
        Ok(facts)
    }
}

impl Transaction<'_> {
    fn number(&self, sql: &str, id: &TaskId) -> Result<usize> {
        let number = self
            .one(sql, [id.as_str()], |row| Cells::new(row).int())?
            .unwrap_or(0);
        Ok(usize::try_from(number).unwrap_or(0))
    }

    fn last_closed_runs(&self, id: &TaskId, most: i64) -> Result<Vec<Run>> {
        let mut runs = self.all(
            concat!(
                "SELECT ",
                run_columns!(),
                " FROM task_runs r WHERE r.task_id = ?1 AND r.ended_at IS NOT NULL \
                 ORDER BY r.started_at DESC, r.id DESC LIMIT ?2"
            ),
            params![id.as_str(), most],
            rows::run,
        )?;
        runs.reverse();
        Ok(runs)
    }

    fn last_comments(&self, id: &TaskId, most: i64) -> Result<Vec<Comment>> {
        let mut comments = self.all(
            "SELECT id, task_id, author, body, created_at FROM task_comments
             WHERE task_id = ?1 ORDER BY created_at DESC, id DESC LIMIT ?2",
            params![id.as_str(), most],
            rows::comment,
        )?;
        comments.reverse();
        Ok(comments)
    }

    /// Results of finished parents: the newest attempt that completed each.
    fn parent_results(&self, id: &TaskId) -> Result<Vec<ParentResult>> {
        self.all(
            "SELECT p.id, p.result, p.completed_at, r.summary, r.metadata, r.ended_at
             FROM task_links l JOIN tasks p ON p.id = l.parent_id
             LEFT JOIN task_runs r ON r.id = (
                 SELECT d.id FROM task_runs d WHERE d.task_id = p.id AND d.outcome = 'completed'
                 ORDER BY d.started_at DESC, d.id DESC LIMIT 1)
             WHERE l.child_id = ?1 AND (p.status = 'done'
                 OR (p.status = 'archived' AND p.completed_at IS NOT NULL))
             ORDER BY p.id",
            [id.as_str()],
            |row| {
                let mut cells = Cells::new(row);
                let id = TaskId::new(cells.text()?);
                let result = cells.filled_text()?;
                let completed_at = cells.int_or_none()?;
                Ok(ParentResult {
                    id,
                    handoff: cells
                        .filled_text()?
                        .filter(|summary| !summary.trim().is_empty())
                        .or(result),
                    metadata: cells.object()?,
                    completed_at: cells.int_or_none()?.or(completed_at),
                })
            },
        )
    }

    /// What an assignee finished lately on other cards, among the newest attempts of all: those are
    /// found at the end of the table, without an index that every completion would have to write.
    fn recent_work(&self, assignee: &str, id: &TaskId) -> Result<Vec<RecentWork>> {
        self.all(
            "SELECT t.id, t.title, w.ended_at, w.summary
             FROM (SELECT task_id, ended_at, summary FROM task_runs
                   WHERE id > (SELECT max(id) FROM task_runs) - 10000
                     AND profile = ?1 AND outcome = 'completed' AND +task_id <> ?2
                   ORDER BY id DESC LIMIT 50) w
             JOIN tasks t ON t.id = w.task_id
             ORDER BY w.ended_at DESC LIMIT 5",
            params![assignee, id.as_str()],
            |row| {
                let mut cells = Cells::new(row);
                Ok(RecentWork {
                    id: TaskId::new(cells.text()?),
                    title: cells.text()?,
                    ended_at: cells.int_or_none()?,
                    summary: cells.text()?,
                })
            },
        )
    }
}
