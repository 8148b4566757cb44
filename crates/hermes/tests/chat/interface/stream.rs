//! Answers while they arrive: streamed, long, resized, wide.

use std::time::Duration;

use hermes_testkit::{ModelServer, ScriptedAnswer};
use pretty_assertions::assert_eq;

use super::{PAUSE, assert_asks_nothing, last_said, started};
use crate::world::World;

#[test]
fn answer_streams_and_stays_and_the_terminal_is_given_back() {
    let answer = ScriptedAnswer::pieces(&["# Title\n\n- a **bold** ", "word\n- two\n\nDone"]);
    let world = World::answering([answer]);
    let mut screen = started(&world, &[]);
    screen.press("hello\r");
    screen.wait_for("Done");
    screen.wait_without("Ctrl-C interrupts");
    let rows = screen.rows();
    assert_eq!(
        rows[..10],
        [
            "❯ hello",
            "",
            "  Title",
            "",
            "  • a bold word",
            "  • two",
            "",
            "  Done",
            "",
            "❯"
        ]
    );
    assert!(rows[10].starts_with("  test-model"), "{rows:?}");
    assert_eq!(screen.cursor(), (9, 2));
    assert_asks_nothing(&screen);
    screen.press("\u{4}");
    let ended = screen.wait();
    ended.succeeds();
    assert!(
        ended.stdout.contains("Go on with: hermes --resume "),
        "{ended}"
    );
}

#[test]
fn text_typed_while_an_answer_streams_is_shown_and_kept() {
    let words: Vec<String> = (0..60).map(|n| format!("word{n} ")).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let long = ScriptedAnswer::pieces(&words).slowly(PAUSE);
    let world = World::configured(
        ModelServer::start([long, ScriptedAnswer::text("second answer")]),
        "display: {busy_input_mode: queue}",
    );
    let mut screen = started(&world, &[]);
    screen.press("first\r");
    screen.wait_for("word3");
    screen.press("typed meanwhile");
    screen.wait_for("❯ typed meanwhile");
    screen.press("\r");
    screen.wait_for("next: typed meanwhile");
    screen.wait_for("second answer");
    let all = screen.all_rows().join("\n");
    assert!(all.contains("word59"), "{all}");
    assert_eq!(last_said(&world), "typed meanwhile");
}

#[test]
fn ten_thousand_lines_arrive_once_each_for_few_bytes() {
    let lines: Vec<String> = (0..10_000)
        .map(|n| format!("this is line {n} of the answer"))
        .collect();
    let text = lines.join("\n");
    let pieces: Vec<&str> = text.split_inclusive(' ').collect();
    let world = World::answering([ScriptedAnswer::pieces(&pieces)]);
    let mut screen = started(&world, &[]);
    screen.press("count\r");
    screen.wait_for("this is line 9999 of the answer");
    screen.wait_without("Ctrl-C interrupts");
    let shown: Vec<String> = screen
        .all_rows()
        .into_iter()
        .filter(|row| row.contains("this is line"))
        .collect();
    let expected: Vec<String> = lines.iter().map(|line| format!("  {line}")).collect();
    assert_eq!(shown, expected);
    let bytes = screen.bytes();
    assert!(
        bytes.len() <= text.len() * 3,
        "{} for {}",
        bytes.len(),
        text.len()
    );
    // The screen is never cleared, and every frame is an update that is shown as a whole.
    let written = String::from_utf8_lossy(&bytes);
    assert!(!written.contains("\u{1b}[2J"));
    assert_eq!(
        written.matches("\u{1b}[?2026h").count(),
        written.matches("\u{1b}[?2026l").count()
    );
}

#[test]
fn resize_in_the_middle_of_a_stream_loses_nothing() {
    let words: Vec<String> = (0..80).map(|n| format!("- item number {n}\n")).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let answer = ScriptedAnswer::pieces(&words).slowly(Duration::from_millis(15));
    let world = World::answering([answer]);
    let mut screen = started(&world, &[]);
    screen.press("go\r");
    screen.wait_for("item number 10");
    screen.resize(24, 40);
    screen.wait_for("item number 30");
    screen.resize(12, 60);
    screen.wait_for("item number 50");
    screen.resize(30, 100);
    screen.wait_for("item number 79");
    screen.wait_without("Ctrl-C interrupts");
    let all = screen.all_rows();
    let items: Vec<&String> = all
        .iter()
        .filter(|row| row.contains("• item number"))
        .collect();
    let expected: Vec<String> = (0..80).map(|n| format!("  • item number {n}")).collect();
    assert_eq!(items, expected.iter().collect::<Vec<_>>());
    let prompts = all.iter().filter(|row| row.starts_with('❯')).count();
    assert_eq!(prompts, 2, "{}", all.join("\n"));
}

#[test]
fn wide_and_combining_characters_stand_where_they_should() {
    let text = "日本語のテキスト e\u{301}a\u{308} family \u{1f468}\u{200d}\u{1f469} heart \u{2764}\u{fe0f} end";
    let world = World::answering([ScriptedAnswer::text(text)]);
    let mut screen = started(&world, &[]);
    screen.press("日本e\u{301}x");
    screen.wait_for("日本e\u{301}x");
    assert_eq!(screen.cursor().1, 2 + 4 + 2);
    screen.press("\u{7f}\u{7f}");
    screen.wait_without("e\u{301}");
    assert_eq!(screen.cursor().1, 2 + 4);
    screen.press("\r");
    screen.wait_for("end");
    let row = screen
        .rows()
        .into_iter()
        .find(|row| row.contains("family"))
        .unwrap();
    assert_eq!(
        row,
        "  日本語のテキスト e\u{301}a\u{308} family \u{1f468}\u{1f469} heart \u{2764} end"
    );
    assert_eq!(last_said(&world), "日本");
}

#[test]
fn whole_reasoning_stays_above_the_answer_where_it_is_wanted() {
    let thoughts: Vec<String> = (1..8).map(|n| format!("thought {n}")).collect();
    let thought = thoughts.join("\n");
    let answer = || ScriptedAnswer::text("concluded").thinking(&thought);
    let world = World::configured(
        ModelServer::start([answer(), answer()]),
        "display: {reasoning_full: true}",
    );
    let mut screen = started(&world, &[]);
    screen.press("think\r");
    screen.wait_for("  concluded");
    let all = screen.all_rows().join("\n");
    assert!(
        all.contains("thought 1") && all.contains("thought 7"),
        "{all}"
    );
    screen.press("/reasoning hide\r");
    screen.wait_for("Reasoning is not shown");
    screen.press("/redraw\r");
    screen.wait_without("thought");
    screen.press("again\r");
    screen.wait_for("  concluded");
    assert!(!screen.rows().join("\n").contains("thought"));
}
