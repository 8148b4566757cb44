//! Promoting cards whose parents are finished, waking scheduled ones. One query finds the cards,
//! however many there are; nothing is written if there are none.

use serde_json::json;

use crate::model::{Status, TaskId};
use crate::sqlite::fragments::{has_open_parent, is_sticky};
use crate::sqlite::statements::params;
use crate::sqlite::transaction::{Transaction, json_list};
use crate::store::PromoteRequest;
use crate::{Error, Result};

impl Transaction<'_> {
    pub(super) fn has_open_parent(&self, id: &TaskId) -> Result<bool> {
        self.holds(
            "SELECT EXISTS (SELECT 1 FROM task_links l JOIN tasks p ON p.id = l.parent_id
             WHERE l.child_id = ?1 AND p.status NOT IN ('done', 'archived'))",
            [id.as_str()],
        )
    }

    /// Cards that can be promoted, among `within` or on the whole board.
    pub(super) fn satisfied(
        &self,
        failure_limit: i64,
        within: Option<&[TaskId]>,
    ) -> Result<Vec<TaskId>> {
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

    /// Promotes what can be, among `within` or on the whole board.
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
            params![list, self.now, "promoted"],
        )?;
        Ok(ids)
    }

    /// As [`Self::promote_satisfied`], for cards that were just changed.
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

    /// Scheduled cards whose time has come.
    pub(super) fn due_ids(&self) -> Result<Vec<TaskId>> {
        self.ids(
            "SELECT id FROM tasks
             WHERE status = 'scheduled' AND scheduled_at IS NOT NULL AND scheduled_at <= ?1
             ORDER BY scheduled_at, id",
            [self.now],
        )
    }

    pub(super) fn wake_due(&self) -> Result<Vec<(TaskId, Status)>> {
        let mut woken = Vec::new();
        for id in self.due_ids()? {
            let status = self.release(&id, Some("scheduled_at"))?;
            woken.push((id, status));
        }
        Ok(woken)
    }

    /// Refuses a card that cannot be promoted by hand.
    pub(super) fn may_promote(&self, request: &PromoteRequest) -> Result<()> {
        let id = &request.task;
        let allowed = [Status::Todo, Status::Blocked];
        self.card_state(id)?
            .require_status(id, "promote", &allowed)?;
        if request.force {
            return Ok(());
        }
        self.require_no_open_parents(id)
    }

    pub(super) fn require_no_open_parents(&self, id: &TaskId) -> Result<()> {
        let parents = self.ids(
            "SELECT p.id FROM task_links l JOIN tasks p ON p.id = l.parent_id
             WHERE l.child_id = ?1 AND p.status NOT IN ('done', 'archived') ORDER BY p.id",
            [id.as_str()],
        )?;
        if parents.is_empty() {
            return Ok(());
        }
        Err(Error::OpenParents {
            id: id.clone(),
            parents,
        })
    }

    pub(super) fn promote(&self, request: &PromoteRequest) -> Result<()> {
        self.may_promote(request)?;
        self.execute(
            "UPDATE tasks SET status = 'ready' WHERE id = ?1",
            [request.task.as_str()],
        )?;
        self.append(
            &request.task,
            None,
            "promoted_manual",
            json!({
                "actor": request.actor,
                "reason": request.reason.as_deref(),
                "forced": request.force,
            }),
        )
    }
}
