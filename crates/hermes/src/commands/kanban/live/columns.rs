//! The cards of a board by status, up to a limit per column.

use hermes_board::boards::BoardSlug;
use hermes_board::model::{LinkedTask, Status};
use hermes_board::store::BoardStore;
use hermes_board::{Counts, ListQuery, SortOrder};
use serde::Serialize;

use super::super::cards::{NAME, TITLE, assignee, padded};
use super::super::session::BoardSession;
use crate::error::Result;
use crate::ui::one_line;

/// Most cards of a column that are loaded; its number counts all.
const MOST: u32 = 200;

/// Statuses with a column of their own, from left to right.
const COLUMNS: [Status; 8] = [
    Status::Triage,
    Status::Todo,
    Status::Scheduled,
    Status::Ready,
    Status::Running,
    Status::Blocked,
    Status::Review,
    Status::Done,
];

/// Columns that are shown even when they are empty.
const ALWAYS: [Status; 4] = [Status::Todo, Status::Ready, Status::Running, Status::Done];

/// Which cards are shown.
#[derive(Debug, Clone, Default)]
pub(super) struct Choice {
    pub(super) assignee: Option<String>,
    pub(super) tenant: Option<String>,
}

/// The cards of one status.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Column {
    #[serde(rename = "name")]
    pub(super) status: Status,
    /// How many there are; unknown if only some were loaded.
    pub(super) total: Option<u64>,
    #[serde(rename = "tasks")]
    pub(super) cards: Vec<LinkedTask>,
}

/// The board at one moment.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Snapshot {
    pub(super) board: BoardSlug,
    pub(super) columns: Vec<Column>,
    pub(super) latest_event_id: i64,
    pub(super) now: i64,
}

impl Snapshot {
    pub(super) fn take(session: &BoardSession<'_>, choice: &Choice) -> Result<Self> {
        let store = &session.store;
        let latest_event_id = store.latest_event_id()?;
        let counts = (choice.assignee.is_none() && choice.tenant.is_none())
            .then(|| store.counts())
            .transpose()?;
        let mut columns = Vec::new();
        for status in COLUMNS {
            let total = counts.as_ref().map(|counts| number(counts, status));
            let mut cards = Vec::new();
            if total != Some(0) {
                let query = query(choice, status);
                store.each_task(&query, &mut |card| {
                    cards.push(card);
                    Ok(())
                })?;
            }
            columns.push(Column {
                status,
                total,
                cards,
            });
        }
        Ok(Self {
            board: store.board().slug.clone(),
            now: store.now(),
            latest_event_id,
            columns,
        })
    }

    /// Columns that are worth showing.
    pub(super) fn shown(&self) -> impl Iterator<Item = &Column> {
        self.columns
            .iter()
            .filter(|column| !column.cards.is_empty() || ALWAYS.contains(&column.status))
    }

    /// The same columns with the cards that contain this text, however it is written.
    pub(super) fn containing(&self, text: &str) -> Vec<Column> {
        let wanted = text.trim().to_lowercase();
        if wanted.is_empty() {
            return self.shown().cloned().collect();
        }
        let matches = |card: &&LinkedTask| {
            let task = &card.task;
            let who = format!("@{}", assignee(task, ""));
            [task.id.as_str(), task.title.as_str(), who.as_str()]
                .iter()
                .any(|field| field.to_lowercase().contains(&wanted))
        };
        self.shown()
            .map(|column| Column {
                status: column.status,
                total: column.total,
                cards: column.cards.iter().filter(matches).cloned().collect(),
            })
            .collect()
    }

    /// The board as text, for pipes and files: one heading a column, one line a card.
    pub(super) fn text(&self) -> String {
        let mut out = format!("Board: {}\n", self.board);
        for column in self.shown() {
            out.push_str(&format!("\n{}\n", column.heading()));
            for card in &column.cards {
                let task = &card.task;
                out.push_str(&format!(
                    "  {}  {}  {}\n",
                    one_line(task.id.as_str(), NAME),
                    padded(&one_line(assignee(task, "(unassigned)"), NAME), 20),
                    one_line(&task.title, TITLE)
                ));
            }
            let left_out = column.total.unwrap_or_default();
            let left_out = left_out.saturating_sub(column.cards.len() as u64);
            if left_out > 0 {
                out.push_str(&format!("  … and {left_out} more\n"));
            }
        }
        out
    }
}

impl Column {
    /// `READY 12`, or `READY 200+` if there are more than were loaded.
    pub(super) fn heading(&self) -> String {
        let name = self.status.as_str().to_uppercase();
        let looked_at = self.cards.len();
        match self.total {
            Some(total) => format!("{name} {total}"),
            None if looked_at >= MOST as usize => format!("{name} {looked_at}+"),
            None => format!("{name} {looked_at}"),
        }
    }
}

fn number(counts: &Counts, status: Status) -> u64 {
    counts.get(status.as_str()).copied().unwrap_or_default()
}

fn query(choice: &Choice, status: Status) -> ListQuery {
    ListQuery {
        assignee: choice.assignee.clone(),
        tenant: choice.tenant.clone(),
        status: Some(status),
        sort: Some(match status {
            // The newest is what people look for there.
            Status::Done => SortOrder::Updated,
            _ => SortOrder::Priority,
        }),
        limit: Some(MOST),
        ..ListQuery::default()
    }
}
