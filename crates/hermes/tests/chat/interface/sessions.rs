//! Leaving a session for another one, or for a copy of it.

use hermes_testkit::{ModelServer, ScriptedAnswer};
use pretty_assertions::assert_eq;

use super::{all_said, started};
use crate::world::World;

#[test]
fn escape_twice_edits_a_message_in_a_fork_and_the_session_stays() {
    let world = World::answering(["one", "two", "three", "four"].map(ScriptedAnswer::text));
    let mut screen = started(&world, &[]);
    for (text, answer) in [("first", "  one"), ("second", "  two")] {
        screen.press(&format!("{text}\r"));
        screen.wait_for(answer);
        screen.wait_without("Ctrl-C interrupts");
    }
    screen.press("\u{1b}\u{1b}");
    screen.wait_for("Edit an earlier message");
    screen.press("\r");
    screen.wait_for("Now in ");
    screen.press(" again\r");
    screen.wait_for("  three");
    assert_eq!(all_said(&world), ["first", "second again"]);
    screen.press("\u{4}");
    screen.wait().succeeds();
    let listed = world.home.run(["sessions", "list", "--json"]);
    let sessions = listed.succeeds().json();
    let sessions = sessions.as_array().unwrap();
    assert_eq!(sessions.len(), 2, "{sessions:?}");
    let old = sessions
        .iter()
        .map(|session| session["id"].as_str().unwrap())
        .find(|id| {
            let stored = world.stored(id);
            stored.len() == 4 && stored.iter().all(|row| row["content"] != "second again")
        });
    let old = old.unwrap_or_else(|| panic!("the session is not whole: {sessions:?}"));
    let mut screen = started(&world, &["--resume", old]);
    screen.press("third\r");
    screen.wait_for("  four");
    assert_eq!(all_said(&world), ["first", "second", "third"]);
}

#[test]
fn first_message_is_edited_in_an_empty_fork() {
    let world = World::answering(["one", "two"].map(ScriptedAnswer::text));
    let mut screen = started(&world, &[]);
    screen.press("\u{1b}\u{1b}");
    screen.wait_for("There are no messages to edit yet");
    screen.press("first\r");
    screen.wait_for("  one");
    screen.wait_without("Ctrl-C interrupts");
    screen.press("\u{1b}\u{1b}");
    screen.wait_for("Edit an earlier message");
    screen.press("\r");
    screen.wait_for("Now in ");
    screen.press(" anew\r");
    screen.wait_for("  two");
    assert_eq!(all_said(&world), ["first anew"]);
}

#[test]
fn session_is_chosen_from_a_list_and_goes_on() {
    let world = World::with(ModelServer::always(ScriptedAnswer::text("noted")));
    for text in ["about the parser", "about the weather"] {
        world.ask(text).succeeds();
    }
    for args in [&["chat", "-r"][..], &["-r"], &["sessions", "browse"]] {
        let mut screen = world.hermes(args).start_on_screen(24, 80);
        screen.wait_for("about the weather");
        screen.press("parser");
        screen.wait_without("about the weather");
        screen.press("\r");
        screen.wait_for("Resumed");
        screen.press("more\r");
        screen.wait_for("  noted");
        let said = world.last_messages();
        let first = said
            .iter()
            .find(|message| message["role"] == "user")
            .unwrap();
        assert_eq!(first["content"], "about the parser");
        screen.press("\u{4}");
        screen.wait().succeeds();
    }
    let mut screen = world.hermes(&["-r"]).start_on_screen(24, 80);
    screen.wait_for("about the weather");
    screen.press("\u{1b}");
    screen.wait().succeeds();
    let refused = world.hermes(&["sessions", "browse"]).run();
    refused.exits(1).says_part("needs a terminal");
}
