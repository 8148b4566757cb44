//! Links: which card waits for which.

use serde_json::json;

use crate::model::TaskId;
use crate::sqlite::statements::params;
use crate::sqlite::transaction::Transaction;
use crate::{Error, Result};

impl Transaction<'_> {
    pub(super) fn link(&self, parent: &TaskId, child: &TaskId) -> Result<bool> {
        if parent == child {
            return Err(Error::SelfLink { id: parent.clone() });
        }
        let missing = self.missing(&[parent.clone(), child.clone()])?;
        if !missing.is_empty() {
            return Err(Error::UnknownParents { ids: missing });
        }
        if self.leads_to(child, parent)? {
            return Err(Error::Cycle {
                parent: parent.clone(),
                child: child.clone(),
            });
        }
        self.insert_link(parent, child)?;
        let demoted = self.execute(
            "UPDATE tasks SET status = 'todo' WHERE id = ?2 AND status = 'ready'
             AND EXISTS (SELECT 1 FROM tasks p
                 WHERE p.id = ?1 AND p.status NOT IN ('done', 'archived'))",
            params![parent.as_str(), child.as_str()],
        )?;
        self.append(
            child,
            None,
            "linked",
            json!({"parent": parent, "child": child}),
        )?;
        Ok(demoted > 0)
    }

    pub(super) fn unlink(&self, parent: &TaskId, child: &TaskId) -> Result<Option<Vec<TaskId>>> {
        let removed = self.execute(
            "DELETE FROM task_links WHERE parent_id = ?1 AND child_id = ?2",
            params![parent.as_str(), child.as_str()],
        )?;
        if removed == 0 {
            return Ok(None);
        }
        self.append(
            child,
            None,
            "unlinked",
            json!({"parent": parent, "child": child}),
        )?;
        self.promote_among(std::slice::from_ref(child)).map(Some)
    }

    pub(super) fn insert_link(&self, parent: &TaskId, child: &TaskId) -> Result<()> {
        self.execute(
            "INSERT INTO task_links (parent_id, child_id) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
            params![parent.as_str(), child.as_str()],
        )?;
        Ok(())
    }

    /// Whether following the links from `from` downwards reaches `to`.
    fn leads_to(&self, from: &TaskId, to: &TaskId) -> Result<bool> {
        self.holds(
            "WITH RECURSIVE below(id) AS (
                 SELECT t.id FROM tasks t WHERE t.id = ?1
                 UNION SELECT l.child_id FROM below b JOIN task_links l ON l.parent_id = b.id)
             SELECT EXISTS (SELECT 1 FROM below WHERE id = ?2)",
            params![from.as_str(), to.as_str()],
        )
    }
}
