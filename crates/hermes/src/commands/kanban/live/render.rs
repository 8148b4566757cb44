//! What the screen shows: lines of text with an emphasis and a tone each. Knows no terminal.

use hermes_board::model::{LinkedTask, Status};
use unicode_width::UnicodeWidthStr;

use super::super::cards::{TITLE, assignee, icon};
use super::super::times::elapsed;
use super::columns::Column;
use super::reading::{Reading, Subject};
use super::view::{CARD_ROWS, FRAME_ROWS, Size, Typing, View, Wanted};
use crate::ui::{cut, one_line};

/// How a piece of text is emphasised; the text alone says the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Emphasis {
    Plain,
    Strong,
    Faint,
    Chosen,
}

/// What a colour means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tone {
    Good,
    Busy,
    Bad,
    /// It can begin.
    Next,
    /// Somebody has to look at it.
    Asking,
}

/// A piece of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) text: String,
    pub(super) emphasis: Emphasis,
    pub(super) tone: Option<Tone>,
}

/// A line of the screen.
pub(super) type Line = Vec<Piece>;

/// The screen, one line a row, none wider than it is.
pub(super) fn of(view: &View, size: Size) -> Vec<Line> {
    let mut lines = match &view.reading {
        Some(reading) => opened(reading, size),
        None => board(view, size),
    };
    lines.truncate(size.height);
    lines
}

fn board(view: &View, size: Size) -> Vec<Line> {
    let (fitting, rows) = view.fitting;
    let shown: Vec<(usize, &Column)> = view
        .columns
        .iter()
        .enumerate()
        .skip(view.first_column)
        .take(fitting)
        .collect();
    let width = size.width / shown.len().max(1);
    let mut lines = vec![vec![piece(
        &title(view, shown.len()),
        size.width,
        Emphasis::Strong,
    )]];
    lines.push(
        shown
            .iter()
            .map(|(_, column)| {
                let heading = heading(column, !view.search.is_empty());
                piece(&heading, width, Emphasis::Strong).toned(tone(column.status))
            })
            .collect(),
    );
    let rule = "─".repeat(width.saturating_sub(2));
    lines.push(
        shown
            .iter()
            .map(|_| piece(&rule, width, Emphasis::Faint))
            .collect(),
    );
    let mut hidden = Line::new();
    for (index, column) in &shown {
        let first = first_of(view, *index);
        hidden.push(piece(
            &left_out(column, first, rows),
            width,
            Emphasis::Faint,
        ));
    }
    for row in 0..rows {
        let mut block = vec![Line::new(); CARD_ROWS];
        for (index, column) in &shown {
            let place = first_of(view, *index) + row;
            let is_chosen = *index == view.column() && place == view.row();
            let card = column.cards.get(place);
            put_card(&mut block, card, view.now(), width, is_chosen);
        }
        lines.extend(block);
    }
    let below = FRAME_ROWS - 3 + view.story_rows();
    lines.truncate(size.height.saturating_sub(below).max(3));
    while lines.len() + below < size.height {
        lines.push(Line::new());
    }
    lines.push(hidden);
    for told in view.story.iter().rev().take(view.story_rows()).rev() {
        let sign = told.chars().find(|sign| ['✗', '⊘', '✓'].contains(sign));
        let tone = match sign {
            Some('✗' | '⊘') => Some(Tone::Bad),
            Some('✓') => Some(Tone::Good),
            _ => None,
        };
        lines.push(vec![piece(told, size.width, Emphasis::Plain).toned(tone)]);
    }
    lines.push(vec![remark(view, size.width)]);
    let keys = "? help  Enter open  / search  l log  a assign  c comment  u unblock  q quit";
    lines.push(vec![piece(keys, size.width, Emphasis::Faint)]);
    lines
}

fn title(view: &View, shown: usize) -> String {
    let more = match view.columns.len() - shown {
        0 => String::new(),
        1 => "  (1 more column: ← →)".to_owned(),
        hidden => format!("  ({hidden} more columns: ← →)"),
    };
    let search = match view.search.as_str() {
        "" => String::new(),
        text => format!("  with “{}”", one_line(text, TITLE)),
    };
    format!("Board {}{search}{more}", view.board())
}

/// First card of a column on the screen.
fn first_of(view: &View, column: usize) -> usize {
    if column == view.column() {
        view.first_row
    } else {
        0
    }
}

/// `READY 12`; with a search, `READY 3 of 12`.
fn heading(column: &Column, is_search: bool) -> String {
    let all = column.heading();
    match (is_search, all.rsplit_once(' ')) {
        (true, Some((name, total))) => format!("{name} {} of {total}", column.cards.len()),
        _ => all,
    }
}

/// How many cards of a column are not on the screen.
fn left_out(column: &Column, first: usize, rows: usize) -> String {
    let below = column.cards.len().saturating_sub(first + rows);
    match (first, below) {
        (0, 0) => String::new(),
        (0, below) => format!("↓ {below} more"),
        (above, 0) => format!("↑ {above} more"),
        (above, below) => format!("↑ {above} ↓ {below} more"),
    }
}

fn tone(status: Status) -> Option<Tone> {
    match status {
        Status::Ready => Some(Tone::Next),
        Status::Running => Some(Tone::Busy),
        Status::Blocked => Some(Tone::Bad),
        Status::Review | Status::Triage => Some(Tone::Asking),
        Status::Done => Some(Tone::Good),
        Status::Todo | Status::Scheduled | Status::Archived | Status::Unknown => None,
    }
}

/// Adds a card to the rows of its place: what, who, nothing.
fn put_card(
    block: &mut [Line],
    card: Option<&LinkedTask>,
    now: i64,
    width: usize,
    is_chosen: bool,
) {
    let [what, who, gap] = block else {
        return;
    };
    gap.push(piece("", width, Emphasis::Plain));
    let Some(card) = card else {
        what.push(piece("", width, Emphasis::Plain));
        who.push(piece("", width, Emphasis::Plain));
        return;
    };
    let task = &card.task;
    let choose = |emphasis| {
        if is_chosen {
            Emphasis::Chosen
        } else {
            emphasis
        }
    };
    let sign = 2.min(width);
    let status = task.status();
    what.push(whole(icon(status), sign, choose(Emphasis::Plain)).toned(tone(status)));
    let title = one_line(&task.title, TITLE);
    what.push(piece(&title, width - sign, choose(Emphasis::Plain)));
    let state = match status {
        Status::Running => task.started_at.map(|since| elapsed(now - since)),
        Status::Blocked => task.block_kind.clone(),
        _ => None,
    };
    let state = state.map(|state| format!(" {state}")).unwrap_or_default();
    let priority = match task.priority {
        0 => String::new(),
        priority => format!(" p{priority}"),
    };
    let line = format!("{} @{}{priority}{state}", task.id, assignee(task, "-"));
    let line = format!("  {}", one_line(&line, TITLE));
    let kind = tone(status).filter(|tone| matches!(tone, Tone::Bad | Tone::Busy));
    who.push(piece(&line, width, choose(Emphasis::Faint)).toned(kind));
}

/// The line above the keys: what is typed, what came of an action, or the whole title.
fn remark(view: &View, width: usize) -> Piece {
    if let Some(Typing { what, text }) = &view.typing {
        let question = match what {
            Wanted::Search => "search: ".to_owned(),
            Wanted::Assignee(id) => format!("assign {id} to (- for nobody): "),
            Wanted::Comment(id) => format!("comment on {id}: "),
            Wanted::Reclaim(id) => format!("end the worker of {id} and make it ready? y or n: "),
        };
        return piece(
            &end_of(&format!("{question}{text}_"), width),
            width,
            Emphasis::Strong,
        );
    }
    if let Some(notice) = &view.notice {
        let tone = if notice.is_failure {
            Tone::Bad
        } else {
            Tone::Good
        };
        return piece(&one_line(&notice.text, TITLE * 2), width, Emphasis::Plain).toned(Some(tone));
    }
    let title = view.chosen().map(|card| one_line(&card.task.title, TITLE));
    piece(&title.unwrap_or_default(), width, Emphasis::Plain)
}

/// The end of what is being typed, where not all of it fits.
fn end_of(text: &str, width: usize) -> String {
    let mut from = text;
    while from.width() >= width.max(2) {
        let mut rest = from.chars();
        rest.next();
        from = rest.as_str();
    }
    from.to_owned()
}

fn opened(reading: &Reading, size: Size) -> Vec<Line> {
    let room = size.height.saturating_sub(2);
    let mut lines: Vec<Line> = reading
        .lines
        .iter()
        .skip(reading.first)
        .take(room)
        .map(|line| vec![whole(line, size.width, Emphasis::Plain)])
        .collect();
    while lines.len() < room {
        lines.push(Line::new());
    }
    let below = reading.lines.len().saturating_sub(reading.first + room);
    let more = match below {
        0 => String::new(),
        1 => "1 more line  ".to_owned(),
        below => format!("{below} more lines  "),
    };
    let follows = match reading.subject {
        Subject::Log(_) => "follows its end  ",
        Subject::Card(_) | Subject::Session(_) | Subject::Help => "",
    };
    lines.push(Line::new());
    let keys = format!("{more}{follows}↓↑ scroll  Enter back  q back");
    lines.push(vec![piece(&keys, size.width, Emphasis::Faint)]);
    lines
}

/// A text in a field of this width, with a blank at its end.
fn piece(text: &str, width: usize, emphasis: Emphasis) -> Piece {
    whole_in(&cut(text, width.saturating_sub(1)), width, emphasis)
}

/// A text that may fill its field.
fn whole(text: &str, width: usize, emphasis: Emphasis) -> Piece {
    whole_in(&cut(text, width), width, emphasis)
}

fn whole_in(kept: &str, width: usize, emphasis: Emphasis) -> Piece {
    let blanks = width.saturating_sub(kept.width());
    Piece {
        text: format!("{kept}{}", " ".repeat(blanks)),
        emphasis,
        tone: None,
    }
}

impl Piece {
    fn toned(self, tone: Option<Tone>) -> Self {
        Self { tone, ..self }
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
    use hermes_board::{BoardOptions, ListQuery, StoredBoard};
    use pretty_assertions::assert_eq;

    /// A board with cards of these titles, all ready.
    fn view(titles: &[&str]) -> View {
        let home = tempfile::tempdir().unwrap();
        let board = Board::below(home.path(), &BoardSlug::default_board());
        let mut store = StoredBoard::open(&board, &BoardOptions::default()).unwrap();
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
        let chosen = chosen.map(|piece| piece.text.trim().to_owned());
        chosen.filter(|text| text != "▶").collect()
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
            height: 10,
        };
        let mut view = view(&["a", "b", "c"]);
        let shown = rows(&mut view, size);
        assert_eq!(shown[0], "Board default  (3 more colum…");
        assert_eq!(shown[1], "READY 3");
        assert_eq!(shown[7], "↓ 2 more");
        assert_eq!(view.press(Key::Down), Step::Stay);
        assert_eq!(rows(&mut view, size)[7], "↑ 1 ↓ 1 more");
        assert_eq!(view.press(Key::Last), Step::Stay);
        let shown = rows(&mut view, size);
        assert_eq!((shown[3].as_str(), shown[7].as_str()), ("▶ c", "↑ 2 more"));
        assert_eq!(shown[8], "c", "the whole title of what is chosen");
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
        let Step::Open(subject) = view.press(Key::Enter) else {
            panic!("nothing to open");
        };
        let text: Vec<String> = (0..10).map(|number| format!("line {number}")).collect();
        view.reading = Some(Reading::new(subject, &text.join("\n")));
        assert_eq!(rows(&mut view, size)[0], "line 0");
        assert!(rows(&mut view, size)[5].starts_with("6 more lines"));
        view.press(Key::Last);
        assert_eq!(
            rows(&mut view, size)[..4],
            ["line 6", "line 7", "line 8", "line 9"]
        );
        view.press(Key::Up);
        assert_eq!(rows(&mut view, size)[0], "line 5");
        let back = view.press(Key::Char('q'));
        assert_eq!(back, Step::Stay, "back to the board first");
        assert!(rows(&mut view, size)[0].starts_with("Board default"));
        assert_eq!(view.press(Key::Char('q')), Step::Leave);
    }

    #[test]
    fn a_search_shows_what_contains_the_text() {
        let size = Size {
            width: 100,
            height: 16,
        };
        let mut view = view(&["alpha", "beta", "alphabet"]);
        view.fit(size);
        for key in "/PHAB".chars() {
            view.press(Key::Char(key));
        }
        let shown = rows(&mut view, size);
        assert!(shown[1].contains("READY 1 of 3"), "{shown:?}");
        assert!(shown.iter().any(|row| row == "search: PHAB_"), "{shown:?}");
        view.press(Key::Enter);
        assert!(rows(&mut view, size)[0].contains("with “PHAB”"));
        assert_eq!(chosen(&view, size)[0], "alphabet");
        assert_eq!(view.press(Key::Escape), Step::Stay, "ends the search first");
        assert!(rows(&mut view, size)[1].contains("READY 3"));
        assert_eq!(view.press(Key::Escape), Step::Leave);
    }

    #[test]
    fn actions_name_their_card_and_ask_for_what_they_need() {
        use crate::commands::kanban::live::view::Action;
        let mut view = view(&["a"]);
        let id = view.chosen().unwrap().task.id.clone();
        let typed = |view: &mut View, keys: &str| {
            let mut step = Step::Stay;
            for key in keys.chars() {
                let key = if key == '\r' {
                    Key::Enter
                } else {
                    Key::Char(key)
                };
                step = view.press(key);
            }
            step
        };
        for (keys, action) in [
            ("u", Action::Unblock),
            ("+", Action::Prioritize(1)),
            ("-", Action::Prioritize(-1)),
            ("acoder\r", Action::Assign("coder".to_owned())),
            ("c so what? \r", Action::Comment("so what?".to_owned())),
            ("xy\r", Action::Reclaim),
        ] {
            let step = typed(&mut view, keys);
            assert_eq!(step, Step::Act(id.clone(), action), "{keys:?}");
        }
        for keys in ["xn\r", "a\r", "c  \r"] {
            assert_eq!(typed(&mut view, keys), Step::Stay, "{keys:?}");
        }
    }
}
