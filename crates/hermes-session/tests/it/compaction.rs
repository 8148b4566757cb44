//! Taking back and summarising: nothing is lost, and nothing comes back by itself.

use std::time::Duration;

use hermes_session::{
    Compaction, ConversationStep, Error, LockAttempt, MessageId, SUMMARY_MARK, SearchRequest,
    SessionMessage,
};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::test_store::{TestStore, call};

const LEASE: Duration = Duration::from_mins(5);

#[test]
fn undone_turns_stay_in_the_file_and_leave_the_conversation() {
    let mut test = TestStore::new();
    let id = test.conversation(&["one", "two", "three"]);
    let taken = test.store.undo_turns(&id, 1).unwrap().unwrap();
    assert_eq!(
        (taken.message.message.text().as_str(), taken.count),
        ("three", 2)
    );
    assert_eq!(
        test.texts(&id),
        ["one", "answer to one", "two", "answer to two"]
    );
    assert_eq!(
        test.store
            .resume(&id)
            .unwrap()
            .session
            .counters
            .message_count,
        4
    );
    assert_eq!(test.store.all_messages(&id).unwrap().len(), 6);
    let found = |test: &TestStore, query: &str| {
        let query = query.to_owned();
        test.store
            .search(&SearchRequest {
                query,
                ..SearchRequest::default()
            })
            .unwrap()
            .len()
    };
    assert_eq!((found(&test, "three"), found(&test, "two")), (0, 2));

    let taken = test.store.undo_turns(&id, 5).unwrap().unwrap();
    assert_eq!(
        (taken.message.message.text().as_str(), taken.count),
        ("one", 4)
    );
    assert_eq!(test.store.undo_turns(&id, 1).unwrap(), None);
    assert_eq!(test.store.session(&id).unwrap().unwrap().rewind_count, 2);
}

#[test]
fn turn_without_an_answer_can_be_undone() {
    // hermes-agent#115493
    let mut test = TestStore::new();
    let id = test.conversation(&["one"]);
    test.store
        .append_user(&id, &SessionMessage::user("refused by the provider"))
        .unwrap();
    test.store
        .append_user(&id, &SessionMessage::user("again"))
        .unwrap();
    let taken = test.store.undo_turns(&id, 1).unwrap().unwrap();
    assert_eq!(
        (taken.message.message.text().as_str(), taken.count),
        ("again", 1)
    );
    assert_eq!(
        test.texts(&id),
        ["one", "answer to one", "refused by the provider"]
    );
    assert_eq!(test.store.undo_turns(&id, 1).unwrap().unwrap().count, 1);
}

#[test]
fn compaction_keeps_the_id_and_every_original() {
    let mut test = TestStore::new();
    let id = test.conversation(&["the goal"]);
    for number in 0..12 {
        let name = format!("c{number}");
        let step = ConversationStep {
            assistant: SessionMessage::calls(None, json!([call(&name, "terminal")])),
            results: vec![SessionMessage::tool_result(
                name,
                "terminal",
                format!("output number{number} x"),
            )],
            usage: None,
        };
        test.store.append_step(&id, &step).unwrap();
    }
    test.store
        .append_user(&id, &SessionMessage::user("last question"))
        .unwrap();
    let before = test.store.load_history(&id).unwrap().messages;
    let tail = before.last().unwrap();

    let lock = test.lock_compaction(&id);
    assert!(matches!(
        test.store.try_lock_compaction(&id, "you", LEASE).unwrap(),
        LockAttempt::Held { holder, .. } if holder == "me"
    ));
    let middle: Vec<MessageId> = before[2..before.len() - 1].iter().map(|m| m.id).collect();
    let summary = SessionMessage::user(format!("{SUMMARY_MARK} twelve commands ran"));
    let compaction = Compaction {
        replaced: vec![(middle[0], summary)],
        summarised: middle[1..].to_vec(),
        system_prompt: Some("rebuilt".to_owned()),
    };
    test.store.compact(&lock, &compaction).unwrap();

    let texts = test.texts(&id);
    assert_eq!(texts.len(), 4);
    assert_eq!(texts[0], "the goal");
    assert!(texts[2].starts_with(SUMMARY_MARK));
    assert_eq!(texts[3], "last question");
    let session = test.store.session(&id).unwrap().unwrap();
    assert_eq!(session.counters.message_count, 4);
    assert_eq!(session.system_prompt.as_deref(), Some("rebuilt"));
    // What was not summarised is the same row as before.
    let after = test.store.load_history(&id).unwrap().messages;
    assert_eq!(&after[3], tail);
    assert_eq!(after[0], before[0]);
    let all = test.store.all_messages(&id).unwrap();
    assert_eq!(all.len(), before.len() + 1);
    let originals: Vec<&SessionMessage> = all
        .iter()
        .filter(|stored| !stored.message.is_summary())
        .map(|stored| &stored.message)
        .collect();
    let said: Vec<&SessionMessage> = before.iter().map(|stored| &stored.message).collect();
    assert_eq!(originals, said);
    let exported = test.store.export(&id).unwrap();
    assert_eq!(exported["messages"][2]["tool_calls"][0]["id"], "c0");
    assert_eq!(
        all.iter().filter(|m| m.compacted && !m.active).count(),
        middle.len()
    );
    // Who remembers the messages that were summarised cannot summarise them again.
    assert!(matches!(
        test.store.compact(&lock, &compaction),
        Err(Error::CompactionStale { .. })
    ));
    test.store.unlock_compaction(lock.clone()).unwrap();
    for number in 0..12 {
        let request = SearchRequest {
            query: format!("number{number}"),
            ..SearchRequest::default()
        };
        let hits = test.store.search(&request).unwrap();
        assert_eq!(hits.len(), 1, "number{number}");
        assert!(hits[0].compacted);
    }
    // The summary is nothing a person said.
    assert_eq!(
        test.store
            .undo_turns(&id, 1)
            .unwrap()
            .unwrap()
            .message
            .message
            .text(),
        "last question"
    );
    assert_eq!(
        test.store
            .undo_turns(&id, 1)
            .unwrap()
            .unwrap()
            .message
            .message
            .text(),
        "the goal"
    );
    // Without the right nothing happens.
    assert!(matches!(
        test.store.compact(&lock, &compaction),
        Err(Error::CompactionLost { holder: None, .. })
    ));
}

#[test]
fn search_index_follows_replaced_messages() {
    let mut test = TestStore::new();
    let id = test.conversation(&["albatross", "pelican"]);
    let lock = test.lock_compaction(&id);
    for round in 0..2 {
        let first = test.store.load_history(&id).unwrap().messages[0].id;
        let summary = SessionMessage::user(format!("{SUMMARY_MARK} stork{round}"));
        let compaction = Compaction {
            replaced: vec![(first, summary)],
            ..Compaction::default()
        };
        test.store.compact(&lock, &compaction).unwrap();
    }
    let found = |query: &str| {
        let query = query.to_owned();
        let request = SearchRequest {
            query,
            ..SearchRequest::default()
        };
        let hits = test.store.search(&request).unwrap();
        hits.iter().map(|hit| hit.compacted).collect::<Vec<_>>()
    };
    assert_eq!(found("stork1"), [false]);
    assert_eq!(found("stork0"), [true]);
    assert_eq!(found("albatross"), [true, false]);
    assert_eq!(
        test.store
            .append_user(&id, &SessionMessage::user("next"))
            .unwrap(),
        test.store.all_messages(&id).unwrap().last().unwrap().id
    );
    assert_eq!(test.texts(&id).last().unwrap(), "next");
}

#[test]
fn messages_of_another_process_survive_compaction() {
    let mut test = TestStore::new();
    let id = test.conversation(&["one", "two"]);
    let known = test.store.load_history(&id).unwrap().messages;
    let mut other = hermes_session::SessionStore::open(test.home.path()).unwrap();
    other
        .append_user(&id, &SessionMessage::user("from beside"))
        .unwrap();
    let lock = test.lock_compaction(&id);
    let compaction = Compaction {
        replaced: vec![(
            known[0].id,
            SessionMessage::user(format!("{SUMMARY_MARK} x")),
        )],
        summarised: vec![known[1].id],
        ..Compaction::default()
    };
    test.store.compact(&lock, &compaction).unwrap();
    assert_eq!(
        test.texts(&id)[1..],
        ["two", "answer to two", "from beside"]
    );
}

#[test]
fn todo_list_outlives_the_summary_of_its_result() {
    let mut test = TestStore::new();
    let id = test.conversation(&["plan it"]);
    let items = json!([{"id": "1", "content": "x", "status": "pending"}]);
    let step = ConversationStep {
        assistant: SessionMessage::calls(None, json!([call("c", "todo")])),
        results: vec![SessionMessage::tool_result(
            "c",
            "todo",
            format!("{}\n\n[loop guard: a note]", json!({"todos": items})),
        )],
        usage: None,
    };
    test.store.append_step(&id, &step).unwrap();
    let all = test.store.all_messages(&id).unwrap();
    let lock = test.lock_compaction(&id);
    let compaction = Compaction {
        replaced: vec![(all[1].id, SessionMessage::user(format!("{SUMMARY_MARK} x")))],
        summarised: all[2..].iter().map(|m| m.id).collect(),
        ..Compaction::default()
    };
    test.store.compact(&lock, &compaction).unwrap();
    let resumed = test.store.resume(&id).unwrap();
    assert_eq!(resumed.history.messages.len(), 2);
    assert_eq!(
        resumed.todos.as_deref(),
        items.as_array().map(Vec::as_slice)
    );
    // What was taken back is no plan any more.
    test.store.undo_turns(&id, 1).unwrap();
    test.sql("UPDATE messages SET compacted = 0");
    assert_eq!(test.store.resume(&id).unwrap().todos, None);
}

#[test]
fn expired_or_orphaned_compaction_lock_is_taken_over() {
    let mut test = TestStore::new();
    let id = test.conversation(&["x"]);
    let dead = test.lock_compaction(&id);
    test.sql("UPDATE compression_locks SET expires_at = 1");
    let LockAttempt::Taken(lock) = test.store.try_lock_compaction(&id, "alive", LEASE).unwrap()
    else {
        panic!("an expired right was not taken over");
    };
    test.store.refresh_compaction_lock(&lock, LEASE).unwrap();
    assert!(matches!(
        test.store.refresh_compaction_lock(&dead, LEASE),
        Err(Error::CompactionLost { holder: Some(holder), .. }) if holder == "alive"
    ));
    // Who comes late must not take the right from its owner.
    test.store.unlock_compaction(dead).unwrap();
    test.store.refresh_compaction_lock(&lock, LEASE).unwrap();
    let mut take = |gone: &str, holder: &str| {
        test.store
            .take_over_compaction_lock(&id, gone, holder, LEASE)
            .unwrap()
    };
    assert_eq!(take("me", "third"), None);
    assert!(take("alive", "third").is_some());
    assert!(matches!(
        test.store.refresh_compaction_lock(&lock, LEASE),
        Err(Error::CompactionLost { .. })
    ));
}

#[test]
fn failed_summary_pauses_compaction() {
    let mut test = TestStore::new();
    let id = test.conversation(&["x"]);
    assert_eq!(test.store.compaction_pause(&id).unwrap(), None);
    let pause = (Duration::from_mins(1), "no provider");
    test.store.set_compaction_pause(&id, Some(pause)).unwrap();
    let stored = test.store.compaction_pause(&id).unwrap().unwrap();
    assert!((stored.until - hermes_session::now() - 60.0).abs() < 30.0);
    assert_eq!(stored.error.as_deref(), Some("no provider"));
    test.store.set_compaction_pause(&id, None).unwrap();
    assert_eq!(test.store.compaction_pause(&id).unwrap(), None);
}
