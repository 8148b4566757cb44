use pretty_assertions::assert_eq;

use super::*;

fn shown(source: &str, width: usize) -> String {
    let mut stream = MarkdownStream::new(Palette::plain_theme(true), Glyphs::UNICODE, width);
    let mut lines = Vec::new();
    stream.push(source, &mut lines);
    stream.finish(&mut lines);
    text(&lines)
}

fn text(lines: &[Line]) -> String {
    let lines: Vec<String> = lines
        .iter()
        .map(|line| line.to_string().trim_end().to_owned())
        .collect();
    lines.join("\n")
}

const SOURCE: &str = "# Title\n\nSome *text* with `code`\nand a [link](https://x.y).\n\n- one\n- two\n  - nested\n1. first\n\n> quoted\n\n```rust\nfn main() {}\n```\n| a | b |\n|---|---|\n| 1 | two |\n\ndone";

#[test]
fn blocks_are_laid_out() {
    assert_eq!(
        shown(SOURCE, 60),
        "  Title\n\n  Some text with code\n  and a link (https://x.y).\n\n  • one\n  • two\n    • nested\n  \
         1. first\n\n  ▏ quoted\n\n    fn main() {}\n\n  a │ b\n  ──┼────\n  1 │ two\n\n  done"
    );
}

#[test]
fn pieces_of_any_size_give_the_same_lines() {
    let whole = shown(SOURCE, 30);
    for size in [1, 2, 3, 7, 50] {
        let mut stream = MarkdownStream::new(Palette::plain_theme(true), Glyphs::UNICODE, 30);
        let mut lines = Vec::new();
        let characters: Vec<char> = SOURCE.chars().collect();
        for piece in characters.chunks(size) {
            stream.push(&piece.iter().collect::<String>(), &mut lines);
            // What is shown below never takes back what has gone out.
            drop(stream.preview());
        }
        stream.finish(&mut lines);
        assert_eq!(text(&lines), whole, "pieces of {size}");
    }
}

#[test]
fn code_goes_out_line_by_line() {
    let mut stream = MarkdownStream::new(Palette::plain_theme(true), Glyphs::UNICODE, 60);
    let mut lines = Vec::new();
    stream.push("```py\nx = 1\ny =", &mut lines);
    assert_eq!(text(&lines), "    x = 1");
    assert_eq!(text(&stream.preview()), "    y =");
}

#[test]
fn every_line_of_a_long_paragraph_arrives() {
    let source: Vec<String> = (0..10_000).map(|n| format!("line {n}")).collect();
    let source = source.join("\n");
    let mut stream = MarkdownStream::new(Palette::plain_theme(true), Glyphs::UNICODE, 60);
    let mut lines = Vec::new();
    stream.push(&source, &mut lines);
    assert!(stream.preview().len() <= MOST_LINES);
    stream.finish(&mut lines);
    let expected: Vec<String> = source.lines().map(|line| format!("  {line}")).collect();
    assert_eq!(text(&lines), expected.join("\n"));
}

#[test]
fn endless_line_goes_out_in_parts() {
    let mut stream = MarkdownStream::new(Palette::plain_theme(true), Glyphs::UNICODE, 40);
    let mut lines = Vec::new();
    for _ in 0..1000 {
        stream.push("日本 words ", &mut lines);
        assert!(stream.preview().len() < 120);
    }
    stream.finish(&mut lines);
    let joined: String = lines
        .iter()
        .map(|line| line.to_string().replace(' ', ""))
        .collect();
    assert_eq!(joined, "日本words".repeat(1000));
    assert!(lines.iter().all(|line| line.width() <= 40));
}

#[test]
fn narrow_tables_become_lists() {
    let table = "| name | what it does | more |\n|---|---|---|\n| a | b c d | e |\n";
    assert_eq!(
        shown(table, 12),
        "  name: a\n  what it\n    does: b\n    c d\n  more: e"
    );
    let wide = shown("| a | b |\n|--|--|\n| x | some longer text here |", 20);
    assert_eq!(
        wide,
        "  a │ b\n  ──┼───────────────\n  x │ some longer\n    │ text here"
    );
}

#[test]
fn odd_input_is_kept() {
    for (source, expected) in [
        ("2024. A year", "  2024. A year"),
        ("**open", "  **open"),
        ("```", ""),
        (
            "a\n---\nb",
            "  a\n\n  ────────────────────────────────────\n\n  b",
        ),
        ("#hash", "  #hash"),
        ("<b>x</b>", "  <b>x</b>"),
        ("- [ ] todo\n- [x] done", "  ○ todo\n  ✓ done"),
    ] {
        assert_eq!(shown(source, 40), expected, "{source}");
    }
}
