//! What is typed: pastes, completions, history, the editor.

use hermes_testkit::{ModelServer, ScriptedAnswer};
use pretty_assertions::assert_eq;

use super::{last_said, started};
use crate::world::World;

#[test]
fn paste_of_two_megabytes_is_a_label_and_arrives_whole() {
    let world = World::answering([ScriptedAnswer::text("got it")]);
    let mut screen = started(&world, &[]);
    let big = "0123456789 a line\n".repeat(111_112);
    let (head, tail) = ("look: ", " please");
    screen.press(head);
    // A terminal hands a paste over as fast as it is read.
    for piece in [format!("\u{1b}[200~{big}\u{1b}[201~"), tail.to_owned()] {
        screen.press(&piece);
    }
    screen.wait_for("[pasted 2 MB, 111112 lines] please");
    screen.press("\r");
    screen.wait_for("got it");
    assert_eq!(last_said(&world), format!("{head}{big}{tail}"));
}

#[test]
fn pasted_lines_are_one_message() {
    let world = World::answering([ScriptedAnswer::text("got it")]);
    let mut screen = started(&world, &[]);
    screen.paste("one\r\ntwo\rthree");
    screen.wait_for("three");
    screen.press("\r");
    screen.wait_for("got it");
    assert_eq!(last_said(&world), "one\ntwo\nthree");
}

#[test]
fn commands_and_files_are_completed() {
    let world = World::configured(
        ModelServer::start([ScriptedAnswer::text("read it")]),
        "quick_commands: {greet: {type: exec, command: echo hi}}",
    );
    let skill = "---\nname: haiku\ndescription: poems\n---\nWrite one.\n";
    world.home.put("skills/haiku/SKILL.md", skill);
    std::fs::write(world.home.user_home().join("notes-of-today.txt"), "x").unwrap();
    let mut screen = started(&world, &[]);
    screen.press("/stat");
    screen.wait_for("❯ /status");
    screen.press("\r");
    screen.wait_for("Provider");
    screen.wait_for("Approvals");
    // Skills and quick commands are offered as well.
    screen.press("/hai");
    screen.wait_for("❯ /haiku");
    screen.press("\u{15}/gr");
    screen.wait_for("❯ /greet");
    screen.press("\u{15}see @notes");
    screen.wait_for("notes-of-today.txt");
    screen.press("\t");
    screen.wait_for("see @file:notes-of-today.txt");
}

#[test]
fn history_is_searched_across_sessions() {
    let world = World::with(ModelServer::always(ScriptedAnswer::text("noted")));
    let mut screen = started(&world, &[]);
    screen.press("remember the parser\r");
    screen.wait_for("noted");
    screen.press("\u{4}");
    screen.wait().succeeds();
    let mut screen = started(&world, &[]);
    screen.press("\u{1b}[A");
    screen.wait_for("❯ remember the parser");
    screen.press("\u{3}");
    screen.wait_without("remember the parser");
    screen.press("\u{12}pars");
    screen.wait_for("search: pars");
    screen.press("\r");
    screen.wait_for("❯ remember the parser");
}

#[test]
fn history_search_finds_what_was_typed_elsewhere_once_and_newest_first() {
    let world = World::with(ModelServer::always(ScriptedAnswer::text("noted")));
    // None of these is in the history file of the terminal.
    for text in [
        "parse the dates",
        "parse the logs",
        "parse the dates",
        "unrelated",
    ] {
        world.ask(text).succeeds();
    }
    let mut screen = started(&world, &[]);
    screen.press("\u{12}");
    screen.wait_for("unrelated");
    screen.press("parse");
    screen.wait_without("unrelated");
    screen.wait_for("parse the logs");
    let rows = screen.rows();
    let found: Vec<&String> = rows
        .iter()
        .filter(|row| row.contains("parse the"))
        .collect();
    assert_eq!(found, ["❯ parse the dates", "  parse the logs"]);
    screen.press("\u{1b}[B\r");
    screen.wait_for("❯ parse the logs");
    screen.press("\u{15}\u{12}never typed");
    screen.wait_for("nothing found");
}

#[test]
fn editor_changes_the_text() {
    let world = World::answering([ScriptedAnswer::text("fine")]);
    let script = "#!/bin/sh\nprintf ' and\\nmore' >> \"$1\"\n";
    let editor = world.home.put_outside("editor.sh", script, 0o755);
    let call = world.hermes(&["chat"]).env("EDITOR", &editor);
    let mut screen = call.start_on_screen(24, 80);
    screen.wait_for("test-model");
    screen.press("begin\u{7}");
    screen.wait_for("begin and");
    screen.press("\r");
    screen.wait_for("  fine");
    assert_eq!(last_said(&world), "begin and\nmore");
}

#[test]
fn prompt_is_written_in_the_editor_and_sent() {
    let world = World::answering([ScriptedAnswer::text("fine")]);
    let script = "#!/bin/sh\nprintf ' and more' >> \"$1\"\n";
    let editor = world.home.put_outside("editor.sh", script, 0o755);
    let call = world.hermes(&["chat"]).env("EDITOR", &editor);
    let mut screen = call.start_on_screen(24, 80);
    screen.wait_for("test-model");
    screen.press("/prompt begin\r");
    screen.wait_for("  fine");
    assert_eq!(last_said(&world), "begin and more");
}
