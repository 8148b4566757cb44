//! Events: what happened on a board, in order.

use crate::Result;
use crate::model::{Event, TaskId};
use crate::sqlite::StoredBoard;
use crate::sqlite::cells::Cells;
use crate::sqlite::fragments::event_columns;
use crate::sqlite::rows;
use crate::sqlite::statements::{NONE, Row, params};
use crate::sqlite::transaction::Transaction;

/// Filter for events.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EventQuery {
    /// After this number.
    pub after: i64,
    pub task: Option<TaskId>,
    /// Of these kinds; all if empty.
    pub kinds: Vec<String>,
    pub assignee: Option<String>,
    pub tenant: Option<String>,
    pub limit: Option<u32>,
}

/// An event and the assignee of its card.
#[derive(Debug, Clone, PartialEq)]
pub struct BoardEvent {
    pub event: Event,
    pub assignee: Option<String>,
}

impl std::ops::Deref for BoardEvent {
    type Target = Event;

    fn deref(&self) -> &Event {
        &self.event
    }
}

impl StoredBoard {
    /// What happened, in order.
    pub fn events(&self, query: &EventQuery) -> Result<Vec<BoardEvent>> {
        self.read(|tx| tx.events(query))
    }

    /// The number of the newest event; 0 on an empty board.
    pub fn latest_event_id(&self) -> Result<i64> {
        self.read(|tx| {
            Ok(tx
                .one("SELECT max(id) FROM task_events", NONE, |row| {
                    Cells::new(row).int()
                })?
                .unwrap_or(0))
        })
    }
}

impl Transaction<'_> {
    pub(super) fn events_of(&self, id: &TaskId) -> Result<Vec<Event>> {
        self.all(
            concat!(
                "SELECT ",
                event_columns!(),
                " FROM task_events e WHERE e.task_id = ?1 ORDER BY +e.id"
            ),
            [id.as_str()],
            rows::event,
        )
    }

    fn events(&self, query: &EventQuery) -> Result<Vec<BoardEvent>> {
        let kinds = serde_json::Value::from(query.kinds.clone()).to_string();
        let limit = query.limit.map_or(i64::MAX, i64::from);
        if let Some(card) = &query.task {
            return self.all(
                concat!(
                    "SELECT ",
                    event_columns!(),
                    ", t.assignee FROM task_events e LEFT JOIN tasks t ON t.id = e.task_id \
                     WHERE e.task_id = ?4 AND e.id > ?1 \
                     AND (?2 = '[]' OR e.kind IN (SELECT value FROM json_each(?2))) \
                     ORDER BY +e.id LIMIT ?3"
                ),
                params![query.after, kinds, limit, card.as_str()],
                board_event,
            );
        }
        self.all(
            concat!(
                "SELECT ",
                event_columns!(),
                ", t.assignee FROM task_events e LEFT JOIN tasks t ON t.id = e.task_id \
                 WHERE e.id > ?1 \
                 AND (?2 = '[]' OR e.kind IN (SELECT value FROM json_each(?2))) \
                 AND (?3 IS NULL OR t.assignee = ?3) \
                 AND (?4 IS NULL OR t.tenant = ?4) \
                 ORDER BY e.id LIMIT ?5"
            ),
            params![query.after, kinds, query.assignee, query.tenant, limit],
            board_event,
        )
    }
}

fn board_event(row: &dyn Row) -> Result<BoardEvent> {
    let mut cells = Cells::new(row);
    Ok(BoardEvent {
        event: rows::event_of(&mut cells)?,
        assignee: cells.text_or_none()?,
    })
}
