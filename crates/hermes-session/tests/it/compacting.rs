//! Taking back and summarising: nothing is lost, and nothing comes back by itself.

use std::time::Duration;

use hermes_session::{
    Compaction, CompactionPause, Error, LockAttempt, Message, MessageId, SUMMARY_MARK,
    SearchRequest, Step,
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

    let lock = world.lock_compaction(&id);
    assert!(matches!(
        world.store.try_lock_compaction(&id, "you", LEASE).unwrap(),
        LockAttempt::Held { holder, .. } if holder == "me"
    ));
    let middle: Vec<MessageId> = before[2..before.len() - 1].iter().map(|m| m.id).collect();
    let summary = Message::user(format!("{SUMMARY_MARK} twelve commands ran"));
    let compaction = Compaction {
        replaced: vec![(middle[0], summary)],
        put_aside: middle[1..].to_vec(),
        system_prompt: Some("rebuilt".to_owned()),
    };
    world.store.compact(&lock, &compaction).unwrap();

    let texts = world.texts(&id);
    assert_eq!(texts.len(), 4);
    assert_eq!(texts[0], "the goal");
    assert!(texts[2].starts_with(SUMMARY_MARK));
    assert_eq!(texts[3], "last question");
    let session = world.store.session(&id).unwrap().unwrap();
    assert_eq!(session.counters.message_count, 4);
    assert_eq!(session.system_prompt.as_deref(), Some("rebuilt"));
    // What was not summarised is the same row as before.
    let after = world.store.load_history(&id).unwrap().messages;
    assert_eq!(&after[3], tail);
    assert_eq!(after[0], before[0]);
    let all = world.store.all_messages(&id).unwrap();
    assert_eq!(all.len(), before.len() + 1);
    let originals: Vec<&Message> = all
        .iter()
        .filter(|stored| !stored.message.is_summary())
        .map(|stored| &stored.message)
        .collect();
    let said: Vec<&Message> = before.iter().map(|stored| &stored.message).collect();
    assert_eq!(originals, said);
    let exported = world.store.export(&id).unwrap();
    assert_eq!(exported["messages"][2]["tool_calls"][0]["id"], "c0");
    assert_eq!(
        all.iter().filter(|m| m.compacted && !m.active).count(),
        middle.len()
    );
    // Who remembers the messages that were summarised cannot summarise them again.
    assert!(matches!(
        world.store.compact(&lock, &compaction),
        Err(Error::CompactionStale { .. })
    ));
    world.store.unlock_compaction(lock.clone()).unwrap();
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
fn the_index_follows_what_was_replaced() {
    let mut world = World::new();
    let id = world.talk(&["albatross", "pelican"]);
    let lock = world.lock_compaction(&id);
    for round in 0..2 {
        let first = world.store.load_history(&id).unwrap().messages[0].id;
        let summary = Message::user(format!("{SUMMARY_MARK} stork{round}"));
        let compaction = Compaction {
            replaced: vec![(first, summary)],
            ..Compaction::default()
        };
        world.store.compact(&lock, &compaction).unwrap();
    }
    let found = |query: &str| {
        let query = query.to_owned();
        let request = SearchRequest {
            query,
            ..SearchRequest::default()
        };
        let hits = world.store.search(&request).unwrap();
        hits.iter().map(|hit| hit.compacted).collect::<Vec<_>>()
    };
    assert_eq!(found("stork1"), [false]);
    assert_eq!(found("stork0"), [true]);
    assert_eq!(found("albatross"), [true, false]);
    assert_eq!(
        world
            .store
            .append_user(&id, &Message::user("next"))
            .unwrap(),
        world.store.all_messages(&id).unwrap().last().unwrap().id
    );
    assert_eq!(world.texts(&id).last().unwrap(), "next");
}

#[test]
fn what_another_process_said_meanwhile_stays_in_the_conversation() {
    let mut world = World::new();
    let id = world.talk(&["one", "two"]);
    let known = world.store.load_history(&id).unwrap().messages;
    let mut other = hermes_session::SessionStore::open(world.home.path()).unwrap();
    other
        .append_user(&id, &Message::user("from beside"))
        .unwrap();
    let lock = world.lock_compaction(&id);
    let compaction = Compaction {
        replaced: vec![(known[0].id, Message::user(format!("{SUMMARY_MARK} x")))],
        put_aside: vec![known[1].id],
        ..Compaction::default()
    };
    world.store.compact(&lock, &compaction).unwrap();
    assert_eq!(
        world.texts(&id)[1..],
        ["two", "answer to two", "from beside"]
    );
}

#[test]
fn a_list_of_things_to_do_outlives_the_summary_of_its_answer() {
    let mut world = World::new();
    let id = world.talk(&["plan it"]);
    let items = json!([{"id": "1", "content": "x", "status": "pending"}]);
    let step = Step {
        assistant: Message::calls(None, json!([call("c", "todo")])),
        results: vec![Message::tool_result(
            "c",
            "todo",
            format!("{}\n\n[loop guard: a note]", json!({"todos": items})),
        )],
        usage: None,
    };
    world.store.append_step(&id, &step).unwrap();
    let all = world.store.all_messages(&id).unwrap();
    let lock = world.lock_compaction(&id);
    let compaction = Compaction {
        replaced: vec![(all[1].id, Message::user(format!("{SUMMARY_MARK} x")))],
        put_aside: all[2..].iter().map(|m| m.id).collect(),
        ..Compaction::default()
    };
    world.store.compact(&lock, &compaction).unwrap();
    let resumed = world.store.resume(&id).unwrap();
    assert_eq!(resumed.history.messages.len(), 2);
    assert_eq!(
        resumed.todos.as_deref(),
        items.as_array().map(Vec::as_slice)
    );
    // What was taken back is no plan any more.
    world.store.take_back(&id, 1).unwrap();
    world.sql("UPDATE messages SET compacted = 0");
    assert_eq!(world.store.resume(&id).unwrap().todos, None);
}

#[test]
fn a_right_that_expired_or_whose_holder_is_gone_is_taken_over() {
    let mut world = World::new();
    let id = world.talk(&["x"]);
    let dead = world.lock_compaction(&id);
    world.sql("UPDATE compression_locks SET expires_at = 1");
    let LockAttempt::Taken(lock) = world
        .store
        .try_lock_compaction(&id, "alive", LEASE)
        .unwrap()
    else {
        panic!("an expired right was not taken over");
    };
    world.store.refresh_compaction_lock(&lock, LEASE).unwrap();
    assert!(matches!(
        world.store.refresh_compaction_lock(&dead, LEASE),
        Err(Error::CompactionLost { holder: Some(holder), .. }) if holder == "alive"
    ));
    // Who comes late must not take the right from its owner.
    world.store.unlock_compaction(dead).unwrap();
    world.store.refresh_compaction_lock(&lock, LEASE).unwrap();
    let mut take = |gone: &str, holder: &str| {
        world
            .store
            .take_over_compaction_lock(&id, gone, holder, LEASE)
            .unwrap()
    };
    assert_eq!(take("me", "third"), None);
    assert!(take("alive", "third").is_some());
    assert!(matches!(
        world.store.refresh_compaction_lock(&lock, LEASE),
        Err(Error::CompactionLost { .. })
    ));
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
