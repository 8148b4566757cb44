//! What a view of the whole board shows beside the cards, and the texts of cards changed by hand.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::model::{Status, TaskId};
use crate::sqlite::StoredBoard;
use crate::sqlite::cells::Cells;
use crate::sqlite::statements::{NONE, params};
use crate::sqlite::transaction::Transaction;
use crate::{Error, Result};

/// Numbers and names of a board.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BoardOverview {
    /// Comments by card; cards without any are left out.
    pub comments: BTreeMap<String, i64>,
    /// Finished children and all children by card; cards without any are left out.
    pub progress: BTreeMap<String, (i64, i64)>,
    pub tenants: Vec<String>,
    /// Assignees of cards that are not archived.
    pub assignees: Vec<String>,
    pub latest_event_id: i64,
}

impl StoredBoard {
    /// The board beside its cards, from one moment.
    pub fn overview(&self) -> Result<BoardOverview> {
        self.read(overview)
    }

    /// Changes the title or the body of a card that is not archived.
    pub fn edit_text(
        &mut self,
        id: &TaskId,
        title: Option<&str>,
        body: Option<&str>,
    ) -> Result<()> {
        self.write(|tx| tx.edit_text(id, title, body))
    }
}

impl Transaction<'_> {
    fn edit_text(&self, id: &TaskId, title: Option<&str>, body: Option<&str>) -> Result<()> {
        let open = [
            Status::Triage,
            Status::Todo,
            Status::Scheduled,
            Status::Ready,
            Status::Running,
            Status::Blocked,
            Status::Review,
            Status::Done,
        ];
        self.card_state(id)?.require_status(id, "edit", &open)?;
        let title = title.map(str::trim);
        if title.is_some_and(str::is_empty) {
            return Err(Error::Blank { what: "the title" });
        }
        self.execute(
            "UPDATE tasks SET title = COALESCE(?2, title), body = COALESCE(?3, body) WHERE id = ?1",
            params![id.as_str(), title, body],
        )?;
        self.append(id, None, "edited", Value::Null)?;
        Ok(())
    }
}

/// Everything of an overview, from one moment.
fn overview(tx: &Transaction<'_>) -> Result<BoardOverview> {
    let comments = tx.all(
        "SELECT task_id, count(*) FROM task_comments GROUP BY task_id",
        NONE,
        |row| {
            let mut cells = Cells::new(row);
            Ok((cells.text()?, cells.int()?))
        },
    )?;
    let progress = tx.all(
        "SELECT l.parent_id, count(CASE WHEN t.status = 'done' THEN 1 END), count(*)
         FROM task_links l JOIN tasks t ON t.id = l.child_id GROUP BY l.parent_id",
        NONE,
        |row| {
            let mut cells = Cells::new(row);
            Ok((cells.text()?, (cells.int()?, cells.int()?)))
        },
    )?;
    let names = |sql: &str| tx.all(sql, NONE, |row| Cells::new(row).text());
    let latest = tx.one("SELECT max(id) FROM task_events", NONE, |row| {
        Cells::new(row).int_or_none()
    })?;
    Ok(BoardOverview {
        comments: comments.into_iter().collect(),
        progress: progress.into_iter().collect(),
        tenants: names(
            "SELECT DISTINCT tenant FROM tasks WHERE tenant IS NOT NULL ORDER BY tenant",
        )?,
        assignees: names(
            "SELECT DISTINCT assignee FROM tasks
             WHERE assignee IS NOT NULL AND status <> 'archived' ORDER BY assignee",
        )?,
        latest_event_id: latest.flatten().unwrap_or(0),
    })
}
