//! The pictures in the README and in `docs/chat.md`, from a scripted run of the program. A picture
//! that is not what the program shows now fails here; with `HERMES_WRITE_PICTURES` set it is written.

use std::path::Path;

use hermes_testkit::{ModelServer, OnScreen, ScriptedAnswer, picture};
use serde_json::json;

use crate::world::World;

const ANSWER: &str = "The total was off by one because the range left the last day out.\n\n\
    1. `days()` now includes its end\n2. a test covers **leap years**\n\n```rust\n\
    fn days(first: u32, last: u32) -> u32 {\n    last - first + 1 // both ends count\n}\n```\n\n\
    | Month | Before | Now |\n|---|---|---|\n| February | 28 | 29 |\n| March | 30 | 31 |\n";

fn started() -> (World, OnScreen) {
    let world = World::configured(
        ModelServer::start([
            ScriptedAnswer::call(
                "patch",
                &json!({"path": "days.rs", "old_string": "last - first", "new_string": "last - first + 1"}),
            )
            .saying("I will look at the range first."),
            ScriptedAnswer::text(ANSWER),
            ScriptedAnswer::call("terminal", &json!({"command": "rm -rf target/old-reports"})),
        ]),
        "approvals: {mode: manual}",
    );
    world.configure("context_length: 1000000", "approvals: {mode: manual}");
    let source = "fn days(first: u32, last: u32) -> u32 {\n    last - first\n}\n";
    std::fs::write(world.home.user_home().join("days.rs"), source).unwrap();
    let screen = world.hermes(&["chat"]).start_on_screen(40, 84);
    screen.wait_for("test-model");
    (world, screen)
}

#[track_caller]
fn compare(screen: &OnScreen, name: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs")
        .join(name);
    let drawn = screen.with_screen(picture);
    if std::env::var_os("HERMES_WRITE_PICTURES").is_some() {
        std::fs::write(&path, &drawn).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == drawn,
        "docs/{name} is not what the program shows; write it anew with \
         `HERMES_WRITE_PICTURES=1 cargo nextest run -p hermes --test chat pictures`"
    );
}

#[test]
fn pictures_are_current() {
    let (_world, mut screen) = started();
    screen.press("Why is the total of days off by one?\r");
    screen.wait_for("March");
    screen.wait_without("Ctrl-C interrupts");
    compare(&screen, "chat.svg");
    screen.press("remove the old reports\r");
    screen.wait_for("[o]nce");
    // Only what does not tick is drawn: the question itself.
    let shown = screen.rows();
    assert!(shown.iter().any(|row| row.contains("Reason:")), "{shown:?}");
    screen.press("d");
    screen.wait_for("Denied");
}

#[test]
fn picture_of_completions_is_current() {
    let (_world, mut screen) = started();
    screen.press("Explain @");
    screen.wait_for("days.rs");
    compare(&screen, "chat-files.svg");
}
