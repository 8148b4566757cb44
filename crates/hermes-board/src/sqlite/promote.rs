//! Making ready what waits for nothing any more. One query finds the cards, however many there are;
//! nothing is written unless something must be.

use hermes_store::rusqlite::params;

use crate::model::event_body::EventBody;
use crate::model::{Status, TaskId};
use crate::sqlite::SqliteBoard;
use crate::sqlite::fragments::{has_open_parent, is_sticky};
use crate::sqlite::session::{Session, json_list};
use crate::store::PromoteRequest;
use crate::{Error, Result};

impl Session<'_> {
    pub(super) fn has_open_parent(&self, id: &TaskId) -> Result<bool> {
        self.holds(
            "SELECT EXISTS (SELECT 1 FROM task_links l JOIN tasks p ON p.id = l.parent_id
             WHERE l.child_id = ?1 AND p.status NOT IN ('done', 'archived'))",
            [id.as_str()],
        )
    }

    pub(super) fn open_parents(&self, id: &TaskId) -> Result<Vec<TaskId>> {
        self.ids(
            "SELECT p.id FROM task_links l JOIN tasks p ON p.id = l.parent_id
             WHERE l.child_id = ?1 AND p.status NOT IN ('done', 'archived') ORDER BY p.id",
            [id.as_str()],
        )
    }

    /// Cards that wait for nothing any more, among `within` or on the whole board.
    fn satisfied(&self, failure_limit: i64, within: Option<&[TaskId]>) -> Result<Vec<TaskId>> {
        match within {
            None => self.ids(
                concat!(
                    "SELECT t.id FROM tasks t WHERE t.status = 'todo' AND NOT ",
                    has_open_parent!(),
                    " UNION ALL SELECT t.id FROM tasks t WHERE t.status = 'blocked' \
                     AND t.consecutive_failures < COALESCE(t.max_retries, ?1) AND NOT ",
                    has_open_parent!(),
                    " AND NOT ",
                    is_sticky!()
                ),
                [failure_limit],
            ),
            Some([]) => Ok(Vec::new()),
            Some(ids) => self.ids(
                concat!(
                    "SELECT t.id FROM json_each(?2) j JOIN tasks t ON t.id = j.value \
                     WHERE (t.status = 'todo' OR (t.status = 'blocked' \
                     AND t.consecutive_failures < COALESCE(t.max_retries, ?1) AND NOT ",
                    is_sticky!(),
                    ")) AND NOT ",
                    has_open_parent!()
                ),
                params![failure_limit, json_list(ids)],
            ),
        }
    }

    /// Makes ready what can be, among `within` or on the whole board.
    pub(super) fn promote_satisfied(
        &self,
        failure_limit: i64,
        within: Option<&[TaskId]>,
    ) -> Result<Vec<TaskId>> {
        let ids = self.satisfied(failure_limit, within)?;
        if ids.is_empty() {
            return Ok(ids);
        }
        let list = json_list(&ids);
        self.execute(
            "UPDATE tasks SET status = 'ready' WHERE id IN (SELECT value FROM json_each(?1))",
            [&list],
        )?;
        self.execute(
            "INSERT INTO task_events (task_id, kind, created_at)
             SELECT value, ?3, ?2 FROM json_each(?1)",
            params![list, self.now, EventBody::Promoted.kind()],
        )?;
        Ok(ids)
    }

    /// As [`Self::promote_satisfied`], for cards that something just happened to.
    pub(super) fn promote_among(&self, ids: &[TaskId]) -> Result<Vec<TaskId>> {
        self.promote_satisfied(self.failure_limit, Some(ids))
    }

    /// Cards that wait for this one.
    pub(super) fn children(&self, id: &TaskId) -> Result<Vec<TaskId>> {
        self.ids(
            "SELECT child_id FROM task_links WHERE parent_id = ?1 ORDER BY child_id",
            [id.as_str()],
        )
    }
}

impl SqliteBoard {
    pub(super) fn promote_all(&mut self, failure_limit: i64) -> Result<Vec<TaskId>> {
        let waiting = self.read(|session| session.satisfied(failure_limit, None))?;
        if waiting.is_empty() {
            return Ok(waiting);
        }
        self.write(|session| session.promote_satisfied(failure_limit, None))
    }

    pub(super) fn wake(&mut self) -> Result<Vec<(TaskId, Status)>> {
        const DUE: &str = "SELECT id FROM tasks
            WHERE status = 'scheduled' AND scheduled_at IS NOT NULL AND scheduled_at <= ?1
            ORDER BY scheduled_at, id";
        let due = self.read(|session| session.ids(DUE, [session.now]))?;
        if due.is_empty() {
            return Ok(Vec::new());
        }
        self.write(|session| {
            let mut woken = Vec::new();
            for id in session.ids(DUE, [session.now])? {
                woken.push((id.clone(), session.free(&id, Some("scheduled_at"))?));
            }
            Ok(woken)
        })
    }

    pub(super) fn promote_by_hand(&mut self, request: &PromoteRequest) -> Result<()> {
        let allowed = |session: &Session<'_>| {
            let id = &request.task;
            session.standing(id)?.must_be_one_of(
                id,
                "promote",
                &[Status::Todo, Status::Blocked],
            )?;
            let parents = if request.force {
                Vec::new()
            } else {
                session.open_parents(id)?
            };
            if parents.is_empty() {
                Ok(())
            } else {
                Err(Error::OpenParents {
                    id: id.clone(),
                    parents,
                })
            }
        };
        if request.dry_run {
            return self.read(allowed);
        }
        self.write(|session| {
            allowed(session)?;
            session.execute(
                "UPDATE tasks SET status = 'ready' WHERE id = ?1",
                [request.task.as_str()],
            )?;
            session.append(
                &request.task,
                None,
                &EventBody::PromotedManual {
                    actor: &request.actor,
                    reason: request.reason.as_deref(),
                    forced: request.force,
                },
            )?;
            Ok(())
        })
    }
}
