//! The conversation at a terminal with a screen: what is typed, what is shown, what stays.

mod composer;
mod look;
mod sessions;
mod stream;
mod terminal;
mod tool_calls;
mod turns;

use std::time::Duration;

use hermes_testkit::OnScreen;

use crate::world::{World, messages};

const PAUSE: Duration = Duration::from_millis(30);

/// The interface, with its first prompt on the screen.
fn started(world: &World, args: &[&str]) -> OnScreen {
    let args: Vec<&str> = ["chat"].iter().chain(args).copied().collect();
    let screen = world.hermes(&args).start_on_screen(24, 80);
    screen.wait_for("test-model");
    screen
}

fn last_said(world: &World) -> String {
    let said = world.last_messages();
    let last = said.iter().rev().find(|message| message["role"] == "user");
    last.unwrap()["content"].as_str().unwrap().to_owned()
}

/// What the person has said in the conversation, as the model was last told.
fn all_said(world: &World) -> Vec<String> {
    messages(world.bodies().last().unwrap())
        .iter()
        .filter(|message| message["role"] == "user")
        .map(|message| message["content"].as_str().unwrap().to_owned())
        .collect()
}

/// Nothing that a terminal would answer: no position, no attributes, no colours, no version.
fn assert_asks_nothing(screen: &OnScreen) {
    let text = String::from_utf8_lossy(&screen.bytes()).into_owned();
    for query in [
        "\u{1b}[6n",
        "\u{1b}[5n",
        "\u{1b}[c",
        "\u{1b}[0c",
        "\u{1b}[>c",
        "\u{1b}[>0c",
        "\u{1b}[?u",
        "\u{1b}[>q",
        "\u{1b}Z",
        "]10;?",
        "]11;?",
        "]4;",
        "$p",
        "\u{1b}[18t",
        "\u{1b}[14t",
    ] {
        assert!(!text.contains(query), "asks {query:?}");
    }
}
