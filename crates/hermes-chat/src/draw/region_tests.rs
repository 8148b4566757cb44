use pretty_assertions::assert_eq;

use super::*;
use crate::draw::Span;

const SIZE: Size = Size {
    columns: 20,
    rows: 6,
};

/// A terminal with its scrollback.
struct Model {
    parser: vt100::Parser,
    region: Region,
    bytes: usize,
}

impl Model {
    fn new() -> Self {
        Self {
            parser: vt100::Parser::new(
                SIZE.rows.try_into().unwrap(),
                SIZE.columns.try_into().unwrap(),
                1000,
            ),
            region: Region::new(false),
            bytes: 0,
        }
    }

    fn show(&mut self, finished: &[&str], live: &[&str], cursor: Option<(u16, u16)>) {
        let lines = |texts: &[&str]| -> Vec<Line> {
            texts
                .iter()
                .map(|text| Line::from((*text).to_owned()))
                .collect()
        };
        let frame = Frame {
            finished: lines(finished),
            live: lines(live),
            cursor: cursor.map(|(row, column)| Cursor { row, column }),
        };
        let (rows, columns) = self.parser.screen().size();
        let bytes = self.region.frame(
            &frame,
            Size {
                columns: columns.get(),
                rows: rows.get(),
            },
        );
        self.bytes += bytes.len();
        assert!(
            !bytes.windows(3).any(|w| w == b"\x1b[6"),
            "asks the terminal"
        );
        self.parser.process(&bytes);
    }

    fn rows(&self) -> Vec<String> {
        let screen = self.parser.screen();
        screen.rows(0, screen.size().1.get()).collect()
    }
}

#[test]
fn finished_lines_go_above_the_region_and_stay() {
    let mut model = Model::new();
    model.show(&[], &["> ", "status"], Some((0, 2)));
    model.show(&["one", "two"], &["> a", "status"], Some((0, 3)));
    assert_eq!(model.rows(), ["one", "two", "> a", "status", "", ""]);
    assert_eq!(model.parser.screen().cursor_position(), (2, 3));
    model.show(&["three"], &["> ab", "second", "status"], Some((1, 6)));
    assert_eq!(
        model.rows(),
        ["one", "two", "three", "> ab", "second", "status"]
    );
    model.show(&["four"], &["> ", "status"], Some((0, 2)));
    assert_eq!(model.rows(), ["one", "two", "three", "four", ">", "status"]);
}

#[test]
fn unchanged_frame_costs_nothing_and_a_letter_costs_little() {
    let mut model = Model::new();
    model.show(&[], &["> hell", "status line here"], Some((0, 6)));
    let before = model.bytes;
    model.show(&[], &["> hell", "status line here"], Some((0, 6)));
    assert_eq!(model.bytes, before);
    model.show(&[], &["> hello", "status line here"], Some((0, 7)));
    assert!(model.bytes - before < 50, "{}", model.bytes - before);
    assert_eq!(model.rows()[..2], ["> hello", "status line here"]);
}

#[test]
fn shorter_line_leaves_nothing_behind() {
    let mut model = Model::new();
    model.show(&[], &["日本語 text", "abc"], None);
    model.show(&[], &["a本", ""], None);
    assert_eq!(model.rows()[..2], ["a本", ""]);
    model.show(&[], &["日本", "x"], None);
    assert_eq!(model.rows()[..2], ["日本", "x"]);
}

#[test]
fn full_rows_do_not_wrap() {
    let mut model = Model::new();
    let full = "x".repeat(20);
    model.show(&[&full, "b"], &[&full, "status"], Some((0, 19)));
    model.show(&["c"], &[&full, "status"], Some((1, 0)));
    assert_eq!(model.rows(), [&full, "b", "c", &full, "status", ""]);
}

#[test]
fn region_taller_than_the_screen_shows_its_end() {
    let mut model = Model::new();
    let lines: Vec<String> = (0..9).map(|n| format!("l{n}")).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    model.show(&["done"], &lines, Some((8, 1)));
    assert_eq!(model.rows(), ["done", "l4", "l5", "l6", "l7", "l8"]);
    model.show(&[], &["> "], Some((0, 2)));
    assert_eq!(model.rows()[..2], ["done", ">"]);
}

#[test]
fn many_lines_arrive_once_each_in_order() {
    let mut model = Model::new();
    let mut text = 0;
    for n in 0..500 {
        let lines: Vec<String> = (0..20).map(|k| format!("line {}", n * 20 + k)).collect();
        text += lines.iter().map(|line| line.len() + 1).sum::<usize>();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        model.show(&lines, &["> ", "status"], Some((0, 2)));
    }
    let mut seen = Vec::new();
    for back in (1..=1000).rev() {
        model.parser.screen_mut().set_scrollback(back);
        seen.push(model.rows()[0].clone());
    }
    let first: usize = seen[0].trim_start_matches("line ").parse().unwrap();
    for (offset, line) in seen.iter().enumerate() {
        assert_eq!(*line, format!("line {}", first + offset));
    }
    assert!(model.bytes <= text * 3, "{} for {text}", model.bytes);
}

#[test]
fn narrower_screen_that_reflows_keeps_the_lines_above() {
    // The region had rows of 12 columns; at 6 each takes two, and the cursor is in the second.
    let mut region = Region::new(true);
    let frame = Frame {
        finished: Vec::new(),
        live: vec![
            Line::from("abcdefghijkl".to_owned()),
            Line::from("mnopqrstuvwx".to_owned()),
        ],
        cursor: Some(Cursor { row: 1, column: 8 }),
    };
    drop(region.frame(&frame, SIZE));
    let narrow = Size {
        columns: 6,
        rows: 6,
    };
    let bytes = region.frame(&frame, narrow);
    let text = String::from_utf8(bytes).unwrap();
    assert!(
        text.starts_with("\x1b[?2026h\x1b[?25l\x1b[3A\r"),
        "{text:?}"
    );
}

#[test]
fn styles_are_reset_at_the_end_of_a_line() {
    let mut out = Vec::new();
    let line = Line::from(vec![
        Span::styled("a".to_owned(), Style::new().bold()),
        Span::from("b".to_owned()),
    ]);
    write_line(&mut out, &line, 80);
    assert_eq!(String::from_utf8(out).unwrap(), "\x1b[0;1ma\x1b[0mb");
}
