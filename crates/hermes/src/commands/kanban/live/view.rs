//! What is on the screen and what is chosen, and what a key does to it. Knows no terminal.

use hermes_board::model::{LinkedTask, Status, TaskId};

use super::columns::{Column, Snapshot};
use super::keys::Key;
use super::reading::{Reading, Subject};

/// Narrowest column that still says something; four fit on the usual terminal.
const NARROWEST: usize = 20;
/// Rows of one card, with the empty one below it.
pub(super) const CARD_ROWS: usize = 3;
/// Rows around the cards: title, headings, a line; below what does not fit, the chosen title, and
/// the keys.
pub(super) const FRAME_ROWS: usize = 6;
/// Latest lines of a story that are shown.
pub(super) const STORY_ROWS: usize = 3;

/// Columns and rows of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) width: usize,
    pub(super) height: usize,
}

/// Something to do to a card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Action {
    Unblock,
    Assign(String),
    Comment(String),
    Reclaim,
    /// Changes its priority by so much.
    Prioritize(i64),
}

/// What a key does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// Only what is shown may have changed.
    Stay,
    Open(Subject),
    Act(TaskId, Action),
    Refresh,
    Suspend,
    Leave,
}

/// What is being typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Typing {
    pub(super) what: Wanted,
    pub(super) text: String,
}

/// What a typed line is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Wanted {
    Search,
    Assignee(TaskId),
    Comment(TaskId),
    /// `y` to end the card's worker.
    Reclaim(TaskId),
}

/// What is shown, and what is selected.
#[derive(Debug, Clone)]
pub(super) struct View {
    snapshot: Snapshot,
    /// The columns with the cards that match the search.
    pub(super) columns: Vec<Column>,
    /// What cards must contain.
    pub(super) search: String,
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
    pub(super) reading: Option<Reading>,
    pub(super) typing: Option<Typing>,
    /// What came of the last action.
    pub(super) notice: Option<Notice>,
    /// What happens behind the board, the latest at the end.
    pub(super) story: Vec<String>,
}

/// A sentence about an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Notice {
    pub(super) text: String,
    pub(super) is_failure: bool,
}

impl View {
    pub(super) fn of(snapshot: Snapshot) -> Self {
        let fullest = snapshot.shown().find(|column| !column.cards.is_empty());
        let status = fullest.map_or(Status::Ready, |column| column.status);
        let mut view = Self {
            snapshot,
            columns: Vec::new(),
            search: String::new(),
            status,
            row: 0,
            first_column: 0,
            first_row: 0,
            fitting: (1, 1),
            reading: None,
            typing: None,
            notice: None,
            story: Vec::new(),
        };
        view.filter();
        view
    }

    pub(super) fn now(&self) -> i64 {
        self.snapshot.now
    }

    pub(super) fn board(&self) -> String {
        self.snapshot.board.to_string()
    }

    /// The board has changed; the selected card stays selected wherever it went.
    pub(super) fn replace(&mut self, snapshot: Snapshot) {
        let chosen = self.chosen().map(|card| card.task.id.clone());
        self.snapshot = snapshot;
        self.filter();
        let found = chosen.and_then(|id| {
            self.columns.iter().find_map(|column| {
                let mut cards = column.cards.iter();
                let row = cards.position(|card| card.task.id == id)?;
                Some((column.status, row))
            })
        });
        if let Some((status, row)) = found {
            (self.status, self.row) = (status, row);
        }
    }

    fn filter(&mut self) {
        self.columns = self.snapshot.containing(&self.search);
    }

    /// Place of the chosen column among those shown.
    pub(super) fn column(&self) -> usize {
        self.columns
            .iter()
            .position(|column| column.status == self.status)
            .unwrap_or(0)
    }

    pub(super) fn row(&self) -> usize {
        self.row
    }

    pub(super) fn chosen(&self) -> Option<&LinkedTask> {
        self.columns.get(self.column())?.cards.get(self.row)
    }

    fn cards(&self) -> usize {
        let column = self.columns.get(self.column());
        column.map_or(0, |column| column.cards.len())
    }

    /// Rows of the story that are shown.
    pub(super) fn story_rows(&self) -> usize {
        self.story.len().min(STORY_ROWS)
    }

    /// Scrolls so that what is chosen is on a screen of this size.
    pub(super) fn fit(&mut self, size: Size) {
        let count = self.columns.len().max(1);
        let columns = (size.width / NARROWEST).clamp(1, count);
        let frame = FRAME_ROWS + self.story_rows();
        let rows = (size.height.saturating_sub(frame) / CARD_ROWS).max(1);
        self.fitting = (columns, rows);
        let cards = self.cards();
        self.row = self.row.min(cards.saturating_sub(1));
        self.first_column = scrolled(self.first_column, self.column(), columns, count);
        self.first_row = scrolled(self.first_row, self.row, rows, cards);
        if let Some(reading) = &mut self.reading {
            reading.fit(size.width, size.height.saturating_sub(2));
        }
    }

    pub(super) fn press(&mut self, key: Key) -> Step {
        if key == Key::Suspend {
            return Step::Suspend;
        }
        self.notice = None;
        if self.typing.is_some() {
            return self.typed(key);
        }
        if let Some(reading) = &mut self.reading {
            if reading.press(key) {
                self.reading = None;
            }
            return Step::Stay;
        }
        match key {
            Key::Char('q') | Key::Interrupt => return Step::Leave,
            Key::Escape | Key::Backspace if self.search.is_empty() => return Step::Leave,
            Key::Escape | Key::Backspace => self.look_for(String::new()),
            Key::Char('?') => return Step::Open(Subject::Help),
            Key::Char('r') => return Step::Refresh,
            Key::Char('/') => {
                let text = self.search.clone();
                self.type_in(Wanted::Search, text);
            }
            Key::Up | Key::Char('k') => self.row = self.row.saturating_sub(1),
            Key::Down | Key::Char('j') => self.row += 1,
            Key::PageUp | Key::Char('b') => self.row = self.row.saturating_sub(self.fitting.1),
            Key::PageDown | Key::Char('f') => self.row += self.fitting.1,
            Key::First | Key::Char('g') => self.row = 0,
            Key::Last | Key::Char('G') => self.row = usize::MAX,
            Key::Left | Key::Char('h') => self.go_to(self.column().saturating_sub(1)),
            Key::Right | Key::Char('\t') => self.go_to(self.column() + 1),
            _ => return self.of_card(key),
        }
        self.row = self.row.min(self.cards().saturating_sub(1));
        Step::Stay
    }

    /// Keys that do something with the chosen card.
    fn of_card(&mut self, key: Key) -> Step {
        let Some(card) = self.chosen() else {
            return Step::Stay;
        };
        let id = card.task.id.clone();
        match key {
            Key::Enter | Key::Char(' ') => Step::Open(Subject::Card(id)),
            Key::Char('l') => Step::Open(Subject::Log(id)),
            Key::Char('s') => Step::Open(Subject::Session(id)),
            Key::Char('u') => Step::Act(id, Action::Unblock),
            Key::Char('+') => Step::Act(id, Action::Prioritize(1)),
            Key::Char('-') => Step::Act(id, Action::Prioritize(-1)),
            Key::Char('a') => self.type_in(Wanted::Assignee(id), String::new()),
            Key::Char('c') => self.type_in(Wanted::Comment(id), String::new()),
            Key::Char('x') => self.type_in(Wanted::Reclaim(id), String::new()),
            _ => Step::Stay,
        }
    }

    fn type_in(&mut self, what: Wanted, text: String) -> Step {
        self.typing = Some(Typing { what, text });
        Step::Stay
    }

    fn typed(&mut self, key: Key) -> Step {
        let Some(mut typing) = self.typing.take() else {
            return Step::Stay;
        };
        match key {
            Key::Escape | Key::Interrupt => {
                if typing.what == Wanted::Search {
                    self.look_for(String::new());
                }
                return Step::Stay;
            }
            Key::Enter => return self.finish(typing),
            Key::Backspace => {
                typing.text.pop();
            }
            Key::Char('\t') => {}
            Key::Char(character) => typing.text.push(character),
            _ => {}
        }
        if typing.what == Wanted::Search {
            self.look_for(typing.text.clone());
        }
        self.typing = Some(typing);
        Step::Stay
    }

    fn finish(&mut self, typing: Typing) -> Step {
        let text = typing.text.trim().to_owned();
        match typing.what {
            Wanted::Search => Step::Stay,
            Wanted::Reclaim(id) if text.eq_ignore_ascii_case("y") => Step::Act(id, Action::Reclaim),
            Wanted::Assignee(id) if !text.is_empty() => Step::Act(id, Action::Assign(text)),
            Wanted::Comment(id) if !text.is_empty() => Step::Act(id, Action::Comment(text)),
            Wanted::Reclaim(_) | Wanted::Assignee(_) | Wanted::Comment(_) => {
                self.tell("nothing done".to_owned(), false);
                Step::Stay
            }
        }
    }

    fn look_for(&mut self, text: String) {
        self.search = text;
        self.filter();
        if self.cards() == 0
            && let Some(column) = self.columns.iter().find(|column| !column.cards.is_empty())
        {
            self.status = column.status;
        }
        self.row = self.row.min(self.cards().saturating_sub(1));
    }

    /// Says what came of an action.
    pub(super) fn tell(&mut self, text: String, is_failure: bool) {
        self.notice = Some(Notice { text, is_failure });
    }

    fn go_to(&mut self, column: usize) {
        let Some(target) = self.columns.get(column).map(|column| column.status) else {
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
        let size = Size {
            width: 10,
            height: 2,
        };
        view.fit(size);
        for key in [Key::Down, Key::Right, Key::Last, Key::Enter, Key::PageDown] {
            assert_eq!(view.press(key), Step::Stay);
            view.fit(size);
        }
        for action in "aculsx+-".chars() {
            assert_eq!(view.press(Key::Char(action)), Step::Stay, "{action}");
            assert_eq!(view.typing, None, "{action}");
        }
        assert_eq!(view.press(Key::Char('q')), Step::Leave);
    }
}
