//! Errors that pass are waited for, as long as was agreed.

use std::time::Duration;

use hermes_testkit::{ModelServer, ScriptedAnswer};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::world::World;

/// What a busy machine may add to a pause.
const SLACK: Duration = Duration::from_secs(5);

/// The pauses between questions.
fn gaps(server: &ModelServer) -> Vec<Duration> {
    let questions = server.questions();
    let times: Vec<_> = questions.iter().map(|question| question.at).collect();
    times.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

#[track_caller]
fn assert_between(gap: Duration, least: Duration, most: Duration) {
    assert!(
        (least..most + SLACK).contains(&gap),
        "{gap:?} is not between {least:?} and {most:?}"
    );
}

#[test]
fn a_server_that_fails_twice_is_asked_with_growing_pauses() {
    let broken = || ScriptedAnswer::status(500, &json!({"error": {"message": "something broke"}}));
    let world = World::answering([broken(), broken(), ScriptedAnswer::text("done")]);
    let outcome = world.ask("hi");
    outcome.succeeds().prints("done\n");
    // A wait without a word looks like a program that hangs.
    assert_eq!(
        outcome.stderr.matches("Retrying in ").count(),
        2,
        "{outcome}"
    );
    let gaps = gaps(&world.server);
    assert_eq!(gaps.len(), 2);
    assert_between(gaps[0], Duration::from_secs(2), Duration::from_secs(3));
    assert_between(gaps[1], Duration::from_secs(4), Duration::from_secs(6));
}

#[test]
fn retry_after_of_the_server_is_honoured() {
    let slow = || {
        ScriptedAnswer::status(429, &json!({"error": {"message": "slow down"}}))
            .header("retry-after", "1")
    };
    let world = World::answering([slow(), slow(), ScriptedAnswer::text("done")]);
    world.ask("hi").succeeds().prints("done\n");
    let gaps = gaps(&world.server);
    assert_eq!(gaps.len(), 2);
    for gap in gaps {
        assert_between(gap, Duration::from_millis(990), Duration::from_secs(2));
    }
}
