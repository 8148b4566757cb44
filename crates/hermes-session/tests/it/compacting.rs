//! Taking back and summarising: nothing is lost, and nothing comes back by itself.

use std::time::Duration;

use hermes_session::{
    Compaction, CompactionPause, Error, Message, MessageId, SUMMARY_MARK, SearchRequest, Step,
};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::world::{World, call};

const LEASE: Duration = Duration::from_mins(5);

#[test]
fn what_was_taken_back_stays_in_the_file_and_out_of_the_conversation() {
    let mut world = World::new();
    let id = world.talk(&["one", "two", "three"]);
    let taken = world.store.take_back(&id, 1).unwrap().unwrap();
    assert_eq!(
        (taken.message.message.text().as_str(), taken.count),
        ("three", 2)
    );
    assert_eq!(
        world.texts(&id),
        ["one", "answer to one", "two", "answer to two"]
    );
    assert_eq!(
        world
            .store
            .reopen_session(&id)
            .unwrap()
            .counters
            .message_count,
        4
    );
    assert_eq!(world.store.all_messages(&id).unwrap().len(), 6);
    let found = |world: &World, query: &str| {
        let query = query.to_owned();
        world
            .store
            .search(&SearchRequest {
                query,
                ..SearchRequest::default()
            })
            .unwrap()
            .len()
    };
    assert_eq!((found(&world, "three"), found(&world, "two")), (0, 2));

    let taken = world.store.take_back(&id, 5).unwrap().unwrap();
    assert_eq!(
        (taken.message.message.text().as_str(), taken.count),
        ("one", 4)
    );
    assert_eq!(world.store.take_back(&id, 1).unwrap(), None);
    assert_eq!(world.store.session(&id).unwrap().unwrap().rewind_count, 2);
}

#[test]
fn a_turn_that_failed_without_an_answer_can_be_taken_back() {
    // hermes-agent#115493
    let mut world = World::new();
    let id = world.talk(&["one"]);
    world
        .store
        .append_user(&id, &Message::user("refused by the provider"))
        .unwrap();
    world
        .store
        .append_user(&id, &Message::user("again"))
        .unwrap();
    let taken = world.store.take_back(&id, 1).unwrap().unwrap();
    assert_eq!(
        (taken.message.message.text().as_str(), taken.count),
        ("again", 1)
    );
    assert_eq!(
        world.texts(&id),
        ["one", "answer to one", "refused by the provider"]
    );
    let from = world.store.load_history(&id).unwrap().messages[2].id;
    assert_eq!(world.store.take_back_from(&id, from).unwrap().count, 1);
    assert!(matches!(
        world.store.take_back_from(&id, MessageId(99)),
        Err(Error::UnknownMessage { .. })
    ));
}

#[test]
fn compaction_keeps_the_id_and_every_original() {
    let mut world = World::new();
    let id = world.talk(&["the goal"]);
    for number in 0..12 {
        let name = format!("c{number}");
        let step = Step {
            assistant: Message::calls(None, json!([call(&name, "terminal")])),
            results: vec![Message::tool_result(
                name,
                "terminal",
                format!("output number{number} x"),
            )],
            usage: None,
        };
        world.store.append_step(&id, &step).unwrap();
    }
    world
        .store
        .append_user(&id, &Message::user("last question"))
        .unwrap();
    let before = world.store.load_history(&id).unwrap().messages;
    let tail = before.last().unwrap();

    let lock = world
        .store
        .try_lock_compaction(&id, "me", LEASE)
        .unwrap()
        .unwrap();
    assert_eq!(
        world.store.try_lock_compaction(&id, "you", LEASE).unwrap(),
        None
    );
    let compaction = Compaction {
        keep_through: Some(before[1].id),
        messages: vec![
            Message::user(format!("{SUMMARY_MARK} twelve commands ran")),
            Message::assistant("understood"),
            tail.message.clone(),
        ],
        system_prompt: Some("rebuilt".to_owned()),
        usage: None,
    };
    world.store.compact(&lock, &compaction).unwrap();
    world.store.unlock_compaction(lock.clone()).unwrap();

    let texts = world.texts(&id);
    assert_eq!(texts.len(), 5);
    assert_eq!(texts[0], "the goal");
    assert_eq!(texts[4], "last question");
    let session = world.store.session(&id).unwrap().unwrap();
    assert_eq!(session.counters.message_count, 5);
    assert_eq!(session.system_prompt.as_deref(), Some("rebuilt"));
    // The repeated message keeps its time.
    let after = world.store.load_history(&id).unwrap().messages;
    assert!((after[4].timestamp - tail.timestamp).abs() < 1e-9);
    let all = world.store.all_messages(&id).unwrap();
    assert_eq!(all.len(), before.len() + 3);
    assert_eq!(
        all.iter().filter(|m| m.compacted && !m.active).count(),
        before.len() - 2
    );
    for number in 0..12 {
        let request = SearchRequest {
            query: format!("number{number}"),
            ..SearchRequest::default()
        };
        let hits = world.store.search(&request).unwrap();
        assert_eq!(hits.len(), 1, "number{number}");
        assert!(hits[0].compacted);
    }
    // The summary is nothing a person said.
    assert_eq!(
        world
            .store
            .take_back(&id, 1)
            .unwrap()
            .unwrap()
            .message
            .message
            .text(),
        "last question"
    );
    assert_eq!(
        world
            .store
            .take_back(&id, 1)
            .unwrap()
            .unwrap()
            .message
            .message
            .text(),
        "the goal"
    );
    // Without the right nothing happens.
    assert!(matches!(
        world.store.compact(&lock, &compaction),
        Err(Error::CompactionLost { holder: None, .. })
    ));
}

#[test]
fn a_right_that_expired_is_taken_over() {
    let mut world = World::new();
    let id = world.talk(&["x"]);
    let dead = world
        .store
        .try_lock_compaction(&id, "dead", LEASE)
        .unwrap()
        .unwrap();
    world.sql("UPDATE compression_locks SET expires_at = 1");
    let lock = world
        .store
        .try_lock_compaction(&id, "alive", LEASE)
        .unwrap()
        .unwrap();
    world.store.refresh_compaction_lock(&lock, LEASE).unwrap();
    assert!(matches!(
        world.store.refresh_compaction_lock(&dead, LEASE),
        Err(Error::CompactionLost { holder: Some(holder), .. }) if holder == "alive"
    ));
    // Who comes late must not take the right from its owner.
    world.store.unlock_compaction(dead).unwrap();
    world.store.refresh_compaction_lock(&lock, LEASE).unwrap();
}

#[test]
fn a_failed_summary_makes_a_pause() {
    let mut world = World::new();
    let id = world.talk(&["x"]);
    assert_eq!(world.store.compaction_pause(&id).unwrap(), None);
    let pause = CompactionPause {
        until: world.store.now() + 60.0,
        error: Some("no provider".to_owned()),
    };
    world.store.set_compaction_pause(&id, Some(&pause)).unwrap();
    assert_eq!(world.store.compaction_pause(&id).unwrap(), Some(pause));
    world.store.set_compaction_pause(&id, None).unwrap();
    assert_eq!(world.store.compaction_pause(&id).unwrap(), None);
}
