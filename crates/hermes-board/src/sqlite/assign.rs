//! Assigning cards.

use serde_json::json;

use crate::model::{Assignee, Status, TaskId};
use crate::sqlite::statements::params;
use crate::sqlite::transaction::Transaction;
use crate::store::Applied;
use crate::{Error, Result};

/// Where a default assignee comes from.
const DEFAULT_SOURCE: &str = "kanban.default_assignee";

impl Transaction<'_> {
    pub(super) fn assign(&self, id: &TaskId, assignee: Option<&Assignee>) -> Result<()> {
        let state = self.card_state(id)?;
        if state.status == Status::Running && state.lock.is_some() {
            return Err(Error::InProgress {
                id: id.clone(),
                action: "assign",
                lock: state.lock,
            });
        }
        let name = assignee.map(Assignee::as_str);
        // Failures are held against a card and its assignee together.
        if state.assignee.as_deref() != name {
            self.execute(
                "UPDATE tasks SET assignee = ?2, consecutive_failures = 0,
                     last_failure_error = NULL WHERE id = ?1",
                params![id.as_str(), name],
            )?;
        }
        self.append(id, None, "assigned", json!({"assignee": name}))
    }

    pub(super) fn assign_default(&self, id: &TaskId, assignee: &Assignee) -> Result<Applied> {
        let given = self.execute(
            "UPDATE tasks SET assignee = ?2 WHERE id = ?1 AND status = 'ready'
             AND (claim_lock IS NULL OR claim_expires < ?3)
             AND COALESCE(trim(assignee), '') = ''",
            params![id.as_str(), assignee.as_str(), self.now],
        )?;
        if given == 0 {
            return Ok(Applied::LostRace);
        }
        self.append(
            id,
            None,
            "assigned",
            json!({"assignee": assignee, "source": DEFAULT_SOURCE}),
        )?;
        Ok(Applied::Yes)
    }
}
