//! Taking back and summarising: nothing is lost, and nothing comes back by itself.

use std::time::Duration;

use hermes_session::{
    Compaction, ConversationStep, Error, LockAttempt, MessageId, MessageRole, SUMMARY_MARK,
    SearchRequest, SessionMessage,
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::test_store::{TestStore, all_ids, all_messages, call};

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
    assert_eq!(all_ids(&test.store, &id).len(), 6);
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

/// Text and calls of all messages but summaries.
fn originals(all: &[Value]) -> Vec<(String, Value)> {
    let text = |message: &Value| message["content"].as_str().unwrap_or_default().to_owned();
    all.iter()
        .filter(|message| !text(message).starts_with(SUMMARY_MARK))
        .map(|message| (text(message), message["tool_calls"].clone()))
        .collect()
}

#[test]
fn compaction_keeps_the_id_and_every_original() {
    let mut test = TestStore::new();
    let id = test.conversation(&["the goal"]);
    for number in 0..12 {
        let name = format!("c{number}");
        let step = ConversationStep {
            assistant: SessionMessage {
                tool_calls: Some(json!([call(&name, "terminal")])),
                ..SessionMessage::new(MessageRole::Assistant)
            },
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
        test.store.try_lock_compaction(&id, "you", None, LEASE).unwrap(),
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
    let all = all_messages(&test.store, &id);
    assert_eq!(all.len(), before.len() + 1);
    let said: Vec<(String, Value)> = before
        .iter()
        .map(|stored| (stored.message.text(), json!(stored.message.tool_calls)))
        .collect();
    assert_eq!(originals(&all), said);
    assert_eq!(all[2]["tool_calls"][0]["id"], "c0");
    let summarised = all
        .iter()
        .filter(|m| m["compacted"] == 1 && m["active"] == 0);
    assert_eq!(summarised.count(), middle.len());
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
        *all_ids(&test.store, &id).last().unwrap()
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
        assistant: SessionMessage {
            tool_calls: Some(json!([call("c", "todo")])),
            ..SessionMessage::new(MessageRole::Assistant)
        },
        results: vec![SessionMessage::tool_result(
            "c",
            "todo",
            format!("{}\n\n[loop guard: a note]", json!({"todos": items})),
        )],
        usage: None,
    };
    test.store.append_step(&id, &step).unwrap();
    let all = all_ids(&test.store, &id);
    let lock = test.lock_compaction(&id);
    let compaction = Compaction {
        replaced: vec![(all[1], SessionMessage::user(format!("{SUMMARY_MARK} x")))],
        summarised: all[2..].to_vec(),
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
    let LockAttempt::Taken(lock) = test
        .store
        .try_lock_compaction(&id, "alive", None, LEASE)
        .unwrap()
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
        let store = &mut test.store;
        let attempt = store.try_lock_compaction(&id, holder, Some(gone), LEASE);
        matches!(attempt.unwrap(), LockAttempt::Taken(_))
    };
    assert!(!take("me", "third"));
    assert!(take("alive", "third"));
    assert!(matches!(
        test.store.refresh_compaction_lock(&lock, LEASE),
        Err(Error::CompactionLost { .. })
    ));
}

#[test]
fn failed_summary_pauses_compaction() {
    let mut test = TestStore::new();
    let id = test.conversation(&["x"]);
    assert!(!test.store.is_compaction_paused(&id).unwrap());
    let pause = (Duration::from_mins(1), "no provider");
    test.store.set_compaction_pause(&id, Some(pause)).unwrap();
    assert!(test.store.is_compaction_paused(&id).unwrap());
    let stored = test.store.export(&id).unwrap();
    let until = stored["compression_failure_cooldown_until"].as_f64();
    assert!((until.unwrap() - hermes_session::now() - 60.0).abs() < 30.0);
    assert_eq!(stored["compression_failure_error"], "no provider");
    test.store.set_compaction_pause(&id, None).unwrap();
    assert!(!test.store.is_compaction_paused(&id).unwrap());
}
