//! Giving cards to somebody.

use hermes_store::rusqlite::params;

use crate::model::event_body::EventBody;
use crate::model::{Assignee, Status, TaskId};
use crate::sqlite::SqliteBoard;
use crate::store::Applied;
use crate::{Error, Result};

/// Where a default assignee comes from.
const DEFAULT_SOURCE: &str = "kanban.default_assignee";

impl SqliteBoard {
    pub(super) fn give(&mut self, id: &TaskId, assignee: Option<&Assignee>) -> Result<()> {
        self.write(|session| {
            let standing = session.standing(id)?;
            if standing.status == Status::Running && standing.lock.is_some() {
                return Err(Error::InProgress {
                    id: id.clone(),
                    action: "assign",
                    lock: standing.lock,
                });
            }
            let name = assignee.map(Assignee::as_str);
            // Failures are held against a card and its assignee together.
            if standing.assignee.as_deref() != name {
                session.execute(
                    "UPDATE tasks SET assignee = ?2, consecutive_failures = 0,
                         last_failure_error = NULL WHERE id = ?1",
                    params![id.as_str(), name],
                )?;
            }
            session.append(
                id,
                None,
                &EventBody::Assigned {
                    assignee: name,
                    source: None,
                },
            )?;
            Ok(())
        })
    }

    pub(super) fn give_default(&mut self, id: &TaskId, assignee: &Assignee) -> Result<Applied> {
        self.write(|session| {
            let given = session.execute(
                "UPDATE tasks SET assignee = ?2 WHERE id = ?1 AND status = 'ready'
                 AND (claim_lock IS NULL OR claim_expires < ?3)
                 AND COALESCE(trim(assignee), '') = ''",
                params![id.as_str(), assignee.as_str(), session.now],
            )?;
            if given == 0 {
                return Ok(Applied::LostRace);
            }
            session.append(
                id,
                None,
                &EventBody::Assigned {
                    assignee: Some(assignee.as_str()),
                    source: Some(DEFAULT_SOURCE),
                },
            )?;
            Ok(Applied::Yes)
        })
    }
}
