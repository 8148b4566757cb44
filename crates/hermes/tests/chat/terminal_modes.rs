//! Whatever ends or pauses the program, the terminal is left as it was found.

use hermes_testkit::{ModelServer, OnScreen, ProgramCall, ScriptedAnswer, eventually};
use pretty_assertions::assert_eq;
use rustix::process::Signal;
use serde_json::json;

use crate::world::World;

/// A screen that takes the terminal over: the call, and what it shows.
struct Taking {
    call: fn(&World) -> ProgramCall,
    shows: &'static str,
}

const SCREENS: [Taking; 6] = [
    Taking {
        call: |world| world.hermes(&["chat"]),
        shows: "test-model",
    },
    Taking {
        call: |world| world.hermes(&["-r"]),
        shows: "Enter chooses",
    },
    Taking {
        call: |world| world.hermes(&["sessions", "browse"]),
        shows: "Enter chooses",
    },
    Taking {
        call: |world| world.hermes(&["model"]),
        shows: "Arrows move",
    },
    Taking {
        call: |world| world.hermes(&["setup"]),
        shows: "Arrows move",
    },
    Taking {
        call: |world| world.hermes(&["kanban", "board"]),
        shows: "? help",
    },
];

fn world() -> World {
    let list = json!({"data": [{"id": "test-model"}, {"id": "m-2"}]});
    let server = ModelServer::always(ScriptedAnswer::text("noted"))
        .with("/v1/models", ScriptedAnswer::status(200, &list));
    let world = World::with(server);
    world.ask("about the parser").succeeds();
    world
}

/// The screen, and the modes of the terminal before the program touched them: its first output
/// comes after that.
fn taken(taking: &Taking, world: &World) -> OnScreen {
    let screen = (taking.call)(world).start_on_screen(24, 80);
    screen.wait_for(taking.shows);
    screen
}

/// The modes of a terminal that nobody has changed.
fn untouched(world: &World) -> String {
    let screen = world.hermes(&["version"]).start_on_screen(24, 80);
    screen.wait_for("ermes");
    screen.modes()
}

/// What is left on the terminal beside its modes.
fn is_given_back(screen: &OnScreen) -> bool {
    screen.with_screen(|model| {
        !model.alternate_screen() && !model.hide_cursor() && !model.bracketed_paste()
    })
}

#[test]
fn signals_that_end_the_program_leave_the_terminal_as_it_was() {
    let world = world();
    let usual = untouched(&world);
    for taking in &SCREENS {
        for signal in [Signal::TERM, Signal::HUP] {
            let screen = taken(taking, &world);
            assert_ne!(screen.modes(), usual, "{}", taking.shows);
            screen.signal(signal);
            eventually("the terminal is given back", || screen.modes() == usual);
            eventually("the screen is given back", || is_given_back(&screen));
            let ended = screen.wait();
            let number = signal.as_raw();
            let is_told = ended.signal == Some(number) || ended.code == Some(128 + number);
            assert!(is_told, "{ended}");
        }
    }
}

#[test]
fn paused_program_has_given_the_terminal_back() {
    let world = world();
    let usual = untouched(&world);
    for taking in &SCREENS {
        for key in [None, Some("\u{1a}")] {
            let mut screen = taken(taking, &world);
            match key {
                Some(key) => screen.press(key),
                None => screen.signal(Signal::TSTP),
            }
            eventually("the terminal is given back", || screen.modes() == usual);
            eventually("the program is stopped", || is_stopped(&screen));
            eventually("the screen is given back", || is_given_back(&screen));
            screen.signal(Signal::CONT);
            eventually("the terminal is taken again", || screen.modes() != usual);
            screen.wait_for(taking.shows);
            screen.signal(Signal::TERM);
            drop(screen.wait());
        }
    }
}

fn is_stopped(screen: &OnScreen) -> bool {
    let status = format!("/proc/{}/status", screen.pid());
    let text = std::fs::read_to_string(status).unwrap_or_default();
    text.lines()
        .any(|line| line.starts_with("State:") && line.contains('T'))
}

#[test]
fn end_of_a_conversation_leaves_the_terminal_as_it_was() {
    let world = world();
    let usual = untouched(&world);
    let mut screen = taken(&SCREENS[0], &world);
    screen.press("\u{4}");
    eventually("the terminal is given back", || screen.modes() == usual);
    assert_eq!(screen.wait().code, Some(0));
}
