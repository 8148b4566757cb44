//! `/undo` and `/retry`: what was taken back is not sent any more, and stays in the store.

use hermes_agent::TurnOutcome;
use pretty_assertions::assert_eq;

use crate::scene::{Scene, say};

const SCRIPT: &str = "turns:\n  - match: {user: fail}\n    error: auth\n  - match: /one/\n    text: first\n  \
    - match: /two/\n    text: second\n  - match: /three/\n    text: third\n";

#[test]
fn what_was_taken_back_is_not_sent_and_stays_in_the_store() {
    let scene = Scene::playing(SCRIPT, |registry| registry);
    let mut agent = scene.agent();
    say(&mut agent, "one");
    say(&mut agent, "two");
    assert_eq!(agent.undo(1).unwrap().as_deref(), Some("two"));
    let id = agent.session_id().clone();
    drop(agent);
    let mut agent = scene.resumed(&id);
    assert_eq!(agent.message_counts(), (2, 1));
    let all = agent.store().export(&id).unwrap();
    let all = all["messages"].as_array().unwrap();
    let active: Vec<bool> = all.iter().map(|stored| stored["active"] == 1).collect();
    assert_eq!(active, [true, true, false, false]);
    assert_eq!(
        say(&mut agent, "three").final_response.as_deref(),
        Some("third")
    );
}

#[test]
fn after_a_turn_that_failed_taking_back_still_works() {
    let scene = Scene::playing(SCRIPT, |registry| registry);
    let mut agent = scene.agent();
    assert_eq!(say(&mut agent, "fail").outcome, TurnOutcome::Failed);
    assert_eq!(say(&mut agent, "two").outcome, TurnOutcome::Completed);
    assert_eq!(agent.undo(2).unwrap().as_deref(), Some("fail"));
    assert_eq!(agent.message_counts(), (0, 0));
    assert_eq!(
        say(&mut agent, "two").final_response.as_deref(),
        Some("second")
    );
    assert_eq!(agent.undo(1).unwrap().as_deref(), Some("two"));
    assert_eq!(agent.undo(1).unwrap(), None);
}
