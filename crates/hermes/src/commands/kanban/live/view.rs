//! The position on the board, and where a key moves it. Knows no terminal.

use hermes_board::model::{LinkedTask, Status, TaskId};

use super::columns::{Column, Snapshot};
use super::keys::Key;

/// Narrowest column that still says something; four fit on the usual terminal.
const NARROWEST: usize = 20;
/// Rows of one card, with the empty one below it.
pub(super) const CARD_ROWS: usize = 3;
/// Rows around the cards: title, headings, a line, and the keys below.
pub(super) const FRAME_ROWS: usize = 4;

/// Columns and rows of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) width: usize,
    pub(super) height: usize,
}

/// What a key does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// Only what is shown may have changed.
    Stay,
    Open(TaskId),
    Leave,
}

/// One open card, over the board.
#[derive(Debug, Clone)]
pub(super) struct Details {
    id: TaskId,
    pub(super) lines: Vec<String>,
    pub(super) first: usize,
}

impl Details {
    pub(super) fn new(id: TaskId, text: &str) -> Self {
        Self {
            id,
            lines: text
                .lines()
                .map(|line| line.replace('\t', "    "))
                .collect(),
            first: 0,
        }
    }
}

/// What is shown, and what is selected.
#[derive(Debug, Clone)]
pub(super) struct View {
    pub(super) snapshot: Snapshot,
    /// Column in which the chosen card is.
    status: Status,
    /// The chosen card of that column.
    row: usize,
    /// First column on the screen.
    pub(super) first_column: usize,
    /// First card of each column on the screen; only the chosen column is ever scrolled.
    pub(super) first_row: usize,
    /// Columns and cards that fit.
    pub(super) fitting: (usize, usize),
    pub(super) details: Option<Details>,
}

impl View {
    pub(super) fn of(snapshot: Snapshot) -> Self {
        let fullest = snapshot.shown().find(|column| !column.cards.is_empty());
        let status = fullest.map_or(Status::Ready, |column| column.status);
        Self {
            snapshot,
            status,
            row: 0,
            first_column: 0,
            first_row: 0,
            fitting: (1, 1),
            details: None,
        }
    }

    /// The board has changed; the selected card stays selected wherever it went.
    pub(super) fn replace(&mut self, snapshot: Snapshot) {
        let chosen = self.chosen().map(|card| card.task.id.clone());
        self.snapshot = snapshot;
        let found = chosen.and_then(|id| {
            self.snapshot.columns.iter().find_map(|column| {
                let mut cards = column.cards.iter();
                let row = cards.position(|card| card.task.id == id)?;
                Some((column.status, row))
            })
        });
        if let Some((status, row)) = found {
            (self.status, self.row) = (status, row);
        }
    }

    pub(super) fn columns(&self) -> Vec<&Column> {
        self.snapshot.shown().collect()
    }

    /// Place of the chosen column among those shown.
    pub(super) fn column(&self) -> usize {
        let columns = self.columns();
        columns
            .iter()
            .position(|column| column.status == self.status)
            .unwrap_or(0)
    }

    pub(super) fn row(&self) -> usize {
        self.row
    }

    fn chosen(&self) -> Option<&LinkedTask> {
        let columns = self.columns();
        columns.get(self.column())?.cards.get(self.row)
    }

    pub(super) fn open(&mut self, mut details: Details) {
        if let Some(before) = &self.details
            && before.id == details.id
        {
            details.first = before.first;
        }
        self.details = Some(details);
    }

    /// The card that is open.
    pub(super) fn opened(&self) -> Option<&TaskId> {
        self.details.as_ref().map(|details| &details.id)
    }

    /// Scrolls so that what is chosen is on a screen of this size.
    pub(super) fn fit(&mut self, size: Size) {
        let count = self.columns().len().max(1);
        let columns = (size.width / NARROWEST).clamp(1, count);
        let rows = (size.height.saturating_sub(FRAME_ROWS) / CARD_ROWS).max(1);
        self.fitting = (columns, rows);
        let cards = self
            .columns()
            .get(self.column())
            .map_or(0, |column| column.cards.len());
        self.row = self.row.min(cards.saturating_sub(1));
        self.first_column = scrolled(self.first_column, self.column(), columns, count);
        self.first_row = scrolled(self.first_row, self.row, rows, cards);
        if let Some(details) = &mut self.details {
            let last = details
                .lines
                .len()
                .saturating_sub(size.height.saturating_sub(2));
            details.first = details.first.min(last);
        }
    }

    pub(super) fn press(&mut self, key: Key) -> Step {
        if let Some(details) = &mut self.details {
            let page = self.fitting.1 * CARD_ROWS;
            match key {
                Key::Leave | Key::Back | Key::Open | Key::Left => self.details = None,
                Key::Up => details.first = details.first.saturating_sub(1),
                Key::Down => details.first += 1,
                Key::PageUp => details.first = details.first.saturating_sub(page),
                Key::PageDown => details.first += page,
                Key::First => details.first = 0,
                Key::Last => details.first = details.lines.len(),
                Key::Right | Key::Refresh => {}
            }
            return Step::Stay;
        }
        match key {
            Key::Leave | Key::Back => return Step::Leave,
            Key::Open => {
                if let Some(card) = self.chosen() {
                    return Step::Open(card.task.id.clone());
                }
            }
            Key::Up => self.row = self.row.saturating_sub(1),
            Key::Down => self.row += 1,
            Key::PageUp => self.row = self.row.saturating_sub(self.fitting.1),
            Key::PageDown => self.row += self.fitting.1,
            Key::First => self.row = 0,
            Key::Last => self.row = usize::MAX,
            Key::Left => self.go_to(self.column().saturating_sub(1)),
            Key::Right => self.go_to(self.column() + 1),
            Key::Refresh => {}
        }
        let cards = self
            .columns()
            .get(self.column())
            .map_or(0, |column| column.cards.len());
        self.row = self.row.min(cards.saturating_sub(1));
        Step::Stay
    }

    fn go_to(&mut self, column: usize) {
        let columns = self.columns();
        let Some(target) = columns.get(column).map(|column| column.status) else {
            return;
        };
        // Side by side, as it looks on the screen.
        let height = self.row.saturating_sub(self.first_row);
        self.status = target;
        self.row = height;
        self.first_row = 0;
    }
}

/// The first of `fitting` that are shown, so that `chosen` is among them and no room is left empty.
fn scrolled(first: usize, chosen: usize, fitting: usize, count: usize) -> usize {
    let least = (chosen + 1).saturating_sub(fitting);
    first
        .clamp(least, chosen.max(least))
        .min(count.saturating_sub(fitting))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hermes_board::boards::BoardSlug;
    use pretty_assertions::assert_eq;

    fn snapshot(sizes: &[(Status, usize)]) -> Snapshot {
        Snapshot {
            board: BoardSlug::default_board(),
            now: 0,
            latest_event_id: 0,
            columns: sizes
                .iter()
                .map(|(status, count)| Column {
                    status: *status,
                    total: Some(*count as u64),
                    cards: Vec::new(),
                })
                .collect(),
        }
    }

    #[test]
    fn what_is_chosen_is_on_the_screen() {
        for (first, chosen, fitting, count, expected) in [
            (0, 0, 3, 10, 0),
            (0, 2, 3, 10, 0),
            (0, 3, 3, 10, 1),
            (5, 4, 3, 10, 4),
            (9, 9, 3, 10, 7),
            (4, 1, 5, 3, 0),
            (0, 0, 3, 0, 0),
        ] {
            assert_eq!(
                scrolled(first, chosen, fitting, count),
                expected,
                "{chosen} of {count}"
            );
        }
    }

    #[test]
    fn an_empty_board_has_nothing_to_choose() {
        let mut view = View::of(snapshot(&[(Status::Ready, 0), (Status::Done, 0)]));
        view.fit(Size {
            width: 10,
            height: 2,
        });
        for key in [
            Key::Down,
            Key::Right,
            Key::Last,
            Key::Open,
            Key::PageDown,
            Key::Left,
        ] {
            assert_eq!(view.press(key), Step::Stay);
            view.fit(Size {
                width: 10,
                height: 2,
            });
        }
        assert_eq!(view.press(Key::Leave), Step::Leave);
    }
}
