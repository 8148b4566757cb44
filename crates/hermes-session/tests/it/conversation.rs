//! One conversation from its beginning to its end.

use std::os::unix::fs::PermissionsExt;

use hermes_session::{
    ConversationStep, Error, MessageContent, MessageRole, NewSession, SessionEndReason, SessionId,
    SessionMessage, SessionStore, UsageRecord,
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::test_store::{all_messages, call, new_session};

#[test]
fn stored_messages_are_loaded_unchanged() {
    let home = tempfile::tempdir().unwrap();
    let mut store = SessionStore::open(home.path()).unwrap();
    let id = store.create_session(&new_session("cli")).unwrap();
    store
        .append_user(&id, &SessionMessage::user("list files"))
        .unwrap();
    let assistant = SessionMessage {
        reasoning: Some("hm".to_owned()),
        reasoning_details: Some(json!([{"signature": "s"}])),
        finish_reason: Some("tool_calls".to_owned()),
        content: Some(MessageContent::from("looking")),
        tool_calls: Some(json!([call("a", "terminal"), call("b", "todo")])),
        ..SessionMessage::new(MessageRole::Assistant)
    };
    let step = ConversationStep {
        assistant: assistant.clone(),
        results: vec![
            SessionMessage::tool_result("b", "todo", r#"{"todos": [{"id": "1"}]}"#),
            SessionMessage::tool_result(
                "a",
                "terminal",
                MessageContent::Parts(json!([{"type": "text", "text": "x"}])),
            ),
        ],
        usage: Some(UsageRecord {
            api_calls: 1,
            input_tokens: 10,
            output_tokens: 5,
            provider: Some("custom".to_owned()),
            model: Some("other".to_owned()),
            ..UsageRecord::default()
        }),
    };
    store.append_step(&id, &step).unwrap();
    store.set_system_prompt(&id, "exact\n prompt ").unwrap();

    let history = store.load_history(&id).unwrap();
    assert_eq!(history.left_out, []);
    let roles: Vec<&MessageRole> = history.messages.iter().map(|m| &m.message.role).collect();
    assert_eq!(
        roles,
        [
            &MessageRole::User,
            &MessageRole::Assistant,
            &MessageRole::Tool,
            &MessageRole::Tool
        ]
    );
    let stored = &history.messages[1];
    assert_eq!(
        stored.message,
        SessionMessage {
            timestamp: Some(stored.timestamp),
            ..assistant
        }
    );
    assert!(history.messages.is_sorted_by_key(|m| m.timestamp));
    let resumed = store.resume(&id).unwrap();
    assert_eq!(resumed.todos, Some(vec![json!({"id": "1"})]));
    assert_eq!(resumed.history, history);

    let session = store.session(&id).unwrap().unwrap();
    assert_eq!(session.system_prompt.as_deref(), Some("exact\n prompt "));
    assert_eq!(session.counters.message_count, 4);
    assert_eq!(session.counters.tool_call_count, 2);
    assert_eq!(session.counters.api_call_count, 1);
    assert_eq!(session.counters.input_tokens, 10);
    // The first answer says which model the session really has.
    assert_eq!(session.model.as_deref(), Some("other"));

    store
        .end_session(&id, SessionEndReason::AgentClose)
        .unwrap();
    store
        .end_session(&id, SessionEndReason::NewSession)
        .unwrap();
    let ended = store.session(&id).unwrap().unwrap();
    assert_eq!(ended.end_reason.as_deref(), Some("agent_close"));
    assert_eq!(store.resume(&id).unwrap().session.ended_at, None);
}

#[test]
fn database_file_is_private() {
    let home = tempfile::tempdir().unwrap();
    let mut store = SessionStore::open(home.path()).unwrap();
    store.create_session(&new_session("cli")).unwrap();
    for entry in std::fs::read_dir(home.path()).unwrap() {
        let entry = entry.unwrap();
        let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{:?}", entry.path());
    }
    drop(store);
    let path = home.path().join("state.db");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    drop(SessionStore::open(home.path()).unwrap());
    assert_eq!(
        std::fs::metadata(&path).unwrap().permissions().mode() & 0o777,
        0o600
    );
}

#[test]
fn step_without_all_results_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let mut store = SessionStore::open(home.path()).unwrap();
    let id = store.create_session(&new_session("cli")).unwrap();
    let assistant = SessionMessage {
        tool_calls: Some(json!([call("a", "terminal"), call("b", "terminal")])),
        ..SessionMessage::new(MessageRole::Assistant)
    };
    for results in [
        vec![],
        vec![SessionMessage::tool_result("a", "terminal", "x")],
        vec![
            SessionMessage::tool_result("a", "terminal", "x"),
            SessionMessage::tool_result("c", "terminal", "x"),
        ],
        vec![
            SessionMessage::tool_result("a", "terminal", "x"),
            SessionMessage::tool_result("b", "terminal", "x"),
            SessionMessage::tool_result("b", "terminal", "x"),
        ],
    ] {
        let step = ConversationStep {
            assistant: assistant.clone(),
            results,
            usage: None,
        };
        let refused = store.append_step(&id, &step);
        assert!(
            matches!(refused, Err(Error::IncompleteStep { .. })),
            "{refused:?}"
        );
    }
    assert_eq!(all_messages(&store, &id), [] as [Value; 0]);
}

#[test]
fn unanswered_calls_are_left_out_or_get_a_placeholder() {
    let home = tempfile::tempdir().unwrap();
    let mut store = SessionStore::open(home.path()).unwrap();
    let id = store.create_session(&new_session("cli")).unwrap();
    store
        .append(
            &id,
            &[
                SessionMessage::user("one"),
                SessionMessage::tool_result("stray", "terminal", "whose?"),
                SessionMessage {
                    tool_calls: Some(json!([call("a", "terminal"), call("b", "read_file")])),
                    ..SessionMessage::new(MessageRole::Assistant)
                },
                SessionMessage::tool_result("a", "terminal", "done"),
                SessionMessage::user("two"),
                SessionMessage {
                    tool_calls: Some(json!([call("c", "terminal"), call("d", "terminal")])),
                    ..SessionMessage::new(MessageRole::Assistant)
                },
                SessionMessage::tool_result("c", "terminal", "half"),
            ],
        )
        .unwrap();
    let history = store.load_history(&id).unwrap();
    let told: Vec<(String, Option<String>)> = history
        .messages
        .iter()
        .map(|m| {
            (
                m.message.role.as_str().to_owned(),
                m.message.tool_call_id.clone(),
            )
        })
        .collect();
    let tool = |id: &str| ("tool".to_owned(), Some(id.to_owned()));
    assert_eq!(
        told,
        [
            ("user".to_owned(), None),
            ("assistant".to_owned(), None),
            tool("a"),
            tool("b"),
            ("user".to_owned(), None),
        ]
    );
    assert_eq!(
        history.messages[3].message.tool_name.as_deref(),
        Some("read_file")
    );
    assert_eq!(history.left_out.len(), 3);

    // Going on must not bring the open call back into the middle.
    assert_eq!(store.resume(&id).unwrap().session.counters.message_count, 5);
    store
        .append_user(&id, &SessionMessage::user("three"))
        .unwrap();
    let history = store.load_history(&id).unwrap();
    assert_eq!(history.messages.len(), 6);
    assert_eq!(history.messages[5].message.text(), "three");
    assert_eq!(all_messages(&store, &id).len(), 8);
}

#[test]
fn unknown_cost_stays_empty_and_marks_the_sum() {
    let home = tempfile::tempdir().unwrap();
    let mut store = SessionStore::open(home.path()).unwrap();
    let mut session = |costs: &[Option<f64>]| {
        let new = NewSession {
            source: "cli".to_owned(),
            ..NewSession::default()
        };
        let id = store.create_session(&new).unwrap();
        for cost in costs {
            let status = cost.map_or("unknown", |_| "actual");
            let usage = UsageRecord {
                api_calls: 1,
                estimated_cost_usd: *cost,
                cost_status: Some(status.to_owned()),
                ..UsageRecord::default()
            };
            store.record_usage(&id, &usage).unwrap();
        }
        let stored = store.session(&id).unwrap().unwrap();
        (stored.estimated_cost_usd, stored.cost_status)
    };
    let status = |text: &str| Some(text.to_owned());
    assert_eq!(session(&[None, None]), (None, status("unknown")));
    assert_eq!(
        session(&[Some(0.25), Some(0.5)]),
        (Some(0.75), status("actual"))
    );
    assert_eq!(
        session(&[Some(0.25), None, Some(0.5)]),
        (Some(0.75), status("unknown"))
    );
}

#[test]
fn writes_to_an_unknown_session_fail() {
    let home = tempfile::tempdir().unwrap();
    let mut store = SessionStore::open(home.path()).unwrap();
    let id = SessionId::parse("nobody").unwrap();
    assert!(matches!(
        store.append_user(&id, &SessionMessage::user("x")),
        Err(Error::Unknown { .. })
    ));
    assert!(matches!(
        store.record_usage(&id, &UsageRecord::default()),
        Err(Error::Unknown { .. })
    ));
    assert!(matches!(
        store.load_history(&id),
        Err(Error::Unknown { .. })
    ));
    assert!(matches!(store.resume(&id), Err(Error::Unknown { .. })));
    let taken = store.create_session(&new_session("cli")).unwrap();
    let again = NewSession {
        id: Some(taken),
        ..new_session("cli")
    };
    assert!(matches!(
        store.create_session(&again),
        Err(Error::Exists { .. })
    ));
}
