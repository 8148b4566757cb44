//! Conversations as a program other than `hermes` opens them.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test fails by panicking, and looks at files directly"
)]

mod conversations;
#[allow(dead_code, reason = "the test calls what `main` of the example calls")]
#[path = "../../examples/conversation.rs"]
mod example;
mod workers;
mod world;

use std::sync::{Arc, Mutex};

use pretty_assertions::assert_eq;

#[test]
fn example_streams_a_conversation_and_approves_a_command() {
    let output = Arc::new(Mutex::new(Vec::new()));
    let shown: example::Output = output.clone();
    example::converse(&shown).unwrap();
    let text = String::from_utf8(output.lock().unwrap().clone()).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "I clear the scratch directory.");
    assert!(lines[1].starts_with("[approved: "), "{text}");
    assert!(lines[2].starts_with("[terminal: "), "{text}");
    assert!(lines[2].contains("cleared"), "{text}");
    assert_eq!(lines[3..], ["It is gone.", "[2 requests]"]);
}
