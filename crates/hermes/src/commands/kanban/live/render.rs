//! What the screen shows: lines of text with an emphasis each. Knows no terminal.

use hermes_board::model::{LinkedTask, Status};
use unicode_width::UnicodeWidthStr;

use super::super::cards::{TITLE, assignee, icon};
use super::super::times::elapsed;
use super::columns::Column;
use super::view::{CARD_ROWS, Details, FRAME_ROWS, Size, View};
use crate::ui::{cut, one_line};

/// How a piece of text is emphasised; the text alone says the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Emphasis {
    Plain,
    Strong,
    Faint,
    Chosen,
}

/// A piece of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) text: String,
    pub(super) emphasis: Emphasis,
}

/// A line of the screen.
pub(super) type Line = Vec<Piece>;

/// The screen, one line a row, none wider than it is.
pub(super) fn of(view: &View, size: Size) -> Vec<Line> {
    let mut lines = match &view.details {
        Some(details) => opened(details, size),
        None => board(view, size),
    };
    lines.truncate(size.height);
    lines
}

fn board(view: &View, size: Size) -> Vec<Line> {
    let columns = view.columns();
    let (fitting, rows) = view.fitting;
    let shown: Vec<(usize, &Column)> = columns
        .iter()
        .copied()
        .enumerate()
        .skip(view.first_column)
        .take(fitting)
        .collect();
    let width = size.width / shown.len().max(1);
    let hidden = columns.len() - shown.len();
    let more = match hidden {
        0 => String::new(),
        1 => "  (1 more column: ← →)".to_owned(),
        hidden => format!("  ({hidden} more columns: ← →)"),
    };
    let title = format!("Board {}{more}", view.snapshot.board);
    let mut lines = vec![vec![piece(&title, size.width, Emphasis::Strong)]];
    lines.push(
        shown
            .iter()
            .map(|(_, column)| piece(&column.heading(), width, Emphasis::Strong))
            .collect(),
    );
    let rule = "─".repeat(width.saturating_sub(2));
    lines.push(
        shown
            .iter()
            .map(|_| piece(&rule, width, Emphasis::Faint))
            .collect(),
    );
    for row in 0..rows {
        let mut block = vec![Line::new(); CARD_ROWS];
        for (index, column) in &shown {
            let is_current = *index == view.column();
            let first = if is_current { view.first_row } else { 0 };
            let card = column.cards.get(first + row);
            let chosen = is_current && first + row == view.row();
            for (line, part) in block.iter_mut().zip(card_parts(card, view.snapshot.now)) {
                line.push(card_piece(&part, width, chosen));
            }
        }
        lines.extend(block);
    }
    lines.truncate(size.height.saturating_sub(1).max(FRAME_ROWS));
    while lines.len() + 1 < size.height {
        lines.push(Line::new());
    }
    let keys = "←↓↑→ move  Enter open  r refresh  q quit";
    lines.push(vec![piece(keys, size.width, Emphasis::Faint)]);
    lines
}

/// The rows of a card: what, who, nothing.
fn card_parts(card: Option<&LinkedTask>, now: i64) -> [(String, Emphasis); CARD_ROWS] {
    let Some(card) = card else {
        return std::array::from_fn(|_| (String::new(), Emphasis::Plain));
    };
    let task = &card.task;
    let who = format!("{} @{}", task.id, assignee(task, "-"));
    let state = match task.status() {
        Status::Running => task
            .started_at
            .map(|since| format!(" {}", elapsed(now - since)))
            .unwrap_or_default(),
        Status::Blocked => task
            .block_kind
            .as_deref()
            .map(|kind| format!(" {kind}"))
            .unwrap_or_default(),
        _ => String::new(),
    };
    [
        (
            format!("{} {}", icon(task.status()), one_line(&task.title, TITLE)),
            Emphasis::Plain,
        ),
        (
            format!("  {}", one_line(&format!("{who}{state}"), TITLE)),
            Emphasis::Faint,
        ),
        (String::new(), Emphasis::Plain),
    ]
}

fn card_piece(part: &(String, Emphasis), width: usize, chosen: bool) -> Piece {
    let (text, emphasis) = part;
    let emphasis = if chosen && !text.is_empty() {
        Emphasis::Chosen
    } else {
        *emphasis
    };
    piece(text, width, emphasis)
}

fn opened(details: &Details, size: Size) -> Vec<Line> {
    let room = size.height.saturating_sub(2);
    let mut lines: Vec<Line> = details
        .lines
        .iter()
        .skip(details.first)
        .take(room)
        .map(|line| vec![piece(line, size.width, Emphasis::Plain)])
        .collect();
    while lines.len() < room {
        lines.push(Line::new());
    }
    let below = details.lines.len().saturating_sub(details.first + room);
    let more = match below {
        0 => String::new(),
        below => format!("{below} more lines  "),
    };
    lines.push(Line::new());
    let keys = format!("{more}↓↑ scroll  Enter back  q back");
    lines.push(vec![piece(&keys, size.width, Emphasis::Faint)]);
    lines
}

/// A text in a field of this width, with a blank at its end.
fn piece(text: &str, width: usize, emphasis: Emphasis) -> Piece {
    let kept = cut(text, width.saturating_sub(1));
    let blanks = width.saturating_sub(kept.width());
    Piece {
        text: format!("{kept}{}", " ".repeat(blanks)),
        emphasis,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::kanban::live::columns::Snapshot;
    use crate::commands::kanban::live::keys::Key;
    use crate::commands::kanban::live::view::Step;
    use hermes_board::boards::{Board, BoardSlug};
    use hermes_board::store::{BoardStore, NewTask};
    use hermes_board::{BoardOptions, ListQuery, SqliteBoard};
    use pretty_assertions::assert_eq;

    /// A board with cards of these titles, all ready.
    fn view(titles: &[&str]) -> View {
        let home = tempfile::tempdir().unwrap();
        let board = Board::below(home.path(), &BoardSlug::default_board());
        let mut store = SqliteBoard::open(&board, &BoardOptions::default()).unwrap();
        for title in titles {
            store.create(&NewTask::titled(*title)).unwrap();
        }
        let mut cards = Vec::new();
        let query = ListQuery {
            sort: Some(hermes_board::SortOrder::Title),
            ..ListQuery::default()
        };
        store
            .each_task(&query, &mut |card| {
                cards.push(card);
                Ok(())
            })
            .unwrap();
        let column = |status, cards: Vec<LinkedTask>| Column {
            status,
            total: Some(cards.len() as u64),
            cards,
        };
        View::of(Snapshot {
            board: BoardSlug::default_board(),
            now: 0,
            latest_event_id: 0,
            columns: vec![
                column(Status::Todo, Vec::new()),
                column(Status::Ready, cards),
                column(Status::Running, Vec::new()),
                column(Status::Done, Vec::new()),
            ],
        })
    }

    fn rows(view: &mut View, size: Size) -> Vec<String> {
        view.fit(size);
        let lines = of(view, size);
        assert_eq!(lines.len(), size.height);
        let text = |line: &Line| {
            line.iter()
                .map(|piece| piece.text.as_str())
                .collect::<String>()
        };
        let rows: Vec<String> = lines.iter().map(text).collect();
        for row in &rows {
            assert!(row.width() <= size.width, "{row:?}");
        }
        rows.iter().map(|row| row.trim_end().to_owned()).collect()
    }

    fn chosen(view: &View, size: Size) -> Vec<String> {
        let pieces = of(view, size).into_iter().flatten();
        let chosen = pieces.filter(|piece| piece.emphasis == Emphasis::Chosen);
        chosen.map(|piece| piece.text.trim().to_owned()).collect()
    }

    #[test]
    fn columns_stand_side_by_side_where_there_is_room() {
        let size = Size {
            width: 100,
            height: 12,
        };
        let mut view = view(&["a first", "b 日本\u{202e}"]);
        let rows = rows(&mut view, size);
        assert_eq!(rows[0], "Board default");
        assert_eq!(
            rows[1],
            "TODO 0                   READY 2                  RUNNING 0                DONE 0"
        );
        assert_eq!(rows[3].trim(), "▶ a first");
        assert_eq!(rows[6].trim(), "▶ b 日本\\u{202e}");
        assert!(rows[11].contains("q quit"));
        assert!(chosen(&view, size)[0].contains("a first"));
    }

    #[test]
    fn a_narrow_screen_shows_the_column_that_is_chosen() {
        let size = Size {
            width: 30,
            height: 8,
        };
        let mut view = view(&["a", "b", "c"]);
        let shown = rows(&mut view, size);
        assert_eq!(shown[0], "Board default  (3 more colum…");
        assert_eq!(shown[1], "READY 3");
        assert_eq!(view.press(Key::Last), Step::Stay);
        let shown = rows(&mut view, size);
        assert_eq!(shown[3], "▶ c");
        view.press(Key::Right);
        assert_eq!(rows(&mut view, size)[1], "RUNNING 0");
        assert_eq!(chosen(&view, size), Vec::<String>::new());
    }

    #[test]
    fn no_size_is_too_small() {
        let mut view = view(&["a", "b"]);
        for width in 0..12 {
            for height in 0..10 {
                let size = Size { width, height };
                view.fit(size);
                assert!(of(&view, size).len() <= height, "{size:?}");
            }
        }
    }

    #[test]
    fn an_open_card_can_be_scrolled() {
        let size = Size {
            width: 40,
            height: 6,
        };
        let mut view = view(&["a"]);
        view.fit(size);
        let Step::Open(id) = view.press(Key::Open) else {
            panic!("nothing to open");
        };
        let text: Vec<String> = (0..10).map(|number| format!("line {number}")).collect();
        view.open(Details::new(id, &text.join("\n")));
        assert_eq!(rows(&mut view, size)[0], "line 0");
        assert!(rows(&mut view, size)[5].starts_with("6 more lines"));
        view.press(Key::Last);
        assert_eq!(
            rows(&mut view, size)[..4],
            ["line 6", "line 7", "line 8", "line 9"]
        );
        view.press(Key::Up);
        assert_eq!(rows(&mut view, size)[0], "line 5");
        assert_eq!(
            view.press(Key::Leave),
            Step::Stay,
            "back to the board first"
        );
        assert!(rows(&mut view, size)[0].starts_with("Board default"));
        assert_eq!(view.press(Key::Leave), Step::Leave);
    }
}
