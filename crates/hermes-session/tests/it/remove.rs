//! Deleting, pruning, putting away, exporting.

use std::time::Duration;

use hermes_session::{
    AutoPrune, ConversationStep, Error, ListRequest, MessageRole, NewSession, SessionEndReason,
    SessionFilter, SessionId, SessionMessage, UsageRecord,
};
use hermes_store::rusqlite::Connection;
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::test_store::{TestStore, call, id, new_session};

fn all(test: &TestStore) -> Vec<SessionId> {
    let sessions = test.store.matching(&SessionFilter::default()).unwrap();
    sessions.into_iter().map(|session| session.id).collect()
}

#[test]
fn deleting_a_session_deletes_its_subagents_and_files_but_no_branches() {
    let mut test = TestStore::new();
    let parent = test.conversation(&["doomed words"]);
    let child = |mark: Option<&str>, test: &mut TestStore, parent: &SessionId| {
        let new = NewSession {
            parent: Some(parent.clone()),
            model_config: mark.map(|mark| json!({mark: parent})),
            ..new_session("cli")
        };
        let id = test.store.create_session(&new).unwrap();
        test.store
            .append_user(&id, &SessionMessage::user("doomed child"))
            .unwrap();
        id
    };
    let delegate = child(Some("_delegate_from"), &mut test, &parent);
    let nested = child(Some("_delegate_from"), &mut test, &delegate);
    let branch = child(Some("_branched_from"), &mut test, &parent);
    let plain = child(None, &mut test, &parent);
    test.store
        .record_usage(
            &parent,
            &UsageRecord {
                api_calls: 1,
                ..UsageRecord::default()
            },
        )
        .unwrap();
    let folder = test.home.path().join("sessions");
    std::fs::create_dir(&folder).unwrap();
    let file = |name: String| {
        let path = folder.join(name);
        std::fs::write(&path, "{}").unwrap();
        path
    };
    let mine = [
        file(format!("{parent}.json")),
        file(format!("{parent}.jsonl")),
        file(format!("request_dump_{parent}_1.json")),
    ];
    let others = [
        file(format!("{branch}.json")),
        file(format!("request_dump_{branch}_1.json")),
    ];

    let mut removed = test.store.delete_session(&parent).unwrap();
    removed.sort();
    let mut expected = vec![parent.clone(), delegate, nested];
    expected.sort();
    assert_eq!(removed, expected);
    let mut left = all(&test);
    left.sort();
    let mut kept = vec![branch.clone(), plain];
    kept.sort();
    assert_eq!(left, kept);
    assert_eq!(test.store.session(&branch).unwrap().unwrap().parent, None);
    assert!(mine.iter().all(|path| !path.exists()));
    assert!(others.iter().all(|path| path.exists()));
    let search = hermes_session::SearchRequest {
        query: "doomed".to_owned(),
        ..Default::default()
    };
    assert_eq!(test.store.search(&search).unwrap().len(), 2);
    assert!(matches!(
        test.store.delete_session(&parent),
        Err(Error::Unknown { .. })
    ));
    assert_eq!(
        hermes_session::check(test.home.path()).unwrap(),
        hermes_session::Health::Sound
    );
}

/// Sessions of known age: `old` and `new` are over, `open` is not.
fn aged() -> TestStore {
    let test = TestStore::new();
    let now = hermes_session::now();
    let old = now - 100.0 * 86_400.0;
    test.sql(&format!(
        "INSERT INTO sessions (id, source, started_at, ended_at, end_reason, title, cwd, model,
             billing_provider, input_tokens, output_tokens, message_count, tool_call_count)
         VALUES ('old', 'cli', {old}, {old}, 'agent_close', 'Big 100% job', '/srv/a', 'x/sonnet-4', 'OpenRouter', 10, 5, 7, 2),
                ('new', 'telegram', {old}, {now}, 'new_session', NULL, '/srv/ab', 'gpt', NULL, 0, 0, 0, 0),
                ('open', 'cli', {old}, NULL, NULL, NULL, '/srv/a/deep', NULL, NULL, 0, 0, 1, 0)"
    ));
    test.sql(&format!(
        "INSERT INTO messages (session_id, role, content, timestamp) VALUES ('open', 'user', 'x', {now})"
    ));
    test
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of filters")]
fn filters_select_matching_sessions() {
    let test = aged();
    let chosen = |filter: SessionFilter| -> Vec<String> {
        let sessions = test.store.matching(&filter).unwrap();
        sessions
            .into_iter()
            .map(|session| session.id.to_string())
            .collect()
    };
    let none = SessionFilter::default;
    let text = |text: &str| Some(text.to_owned());
    let month_ago = Some(hermes_session::now() - 30.0 * 86_400.0);
    for (filter, expected) in [
        (none(), vec!["new", "old", "open"]),
        (
            SessionFilter {
                ended: true,
                ..none()
            },
            vec!["new", "old"],
        ),
        (
            SessionFilter {
                ended_before: month_ago,
                ..none()
            },
            vec!["old"],
        ),
        (
            SessionFilter {
                started_before: month_ago,
                ..none()
            },
            vec!["new", "old", "open"],
        ),
        (
            SessionFilter {
                started_after: month_ago,
                ..none()
            },
            vec![],
        ),
        (
            SessionFilter {
                source: text("telegram"),
                ..none()
            },
            vec!["new"],
        ),
        (
            SessionFilter {
                title: text("100%"),
                ..none()
            },
            vec!["old"],
        ),
        (
            SessionFilter {
                title: text("100_"),
                ..none()
            },
            vec![],
        ),
        (
            SessionFilter {
                end_reason: text("new_session"),
                ..none()
            },
            vec!["new"],
        ),
        (
            SessionFilter {
                cwd: text("/srv/a/"),
                ..none()
            },
            vec!["old", "open"],
        ),
        (
            SessionFilter {
                cwd: text("/"),
                ..none()
            },
            vec!["new", "old", "open"],
        ),
        (
            SessionFilter {
                model: text("SONNET"),
                ..none()
            },
            vec!["old"],
        ),
        (
            SessionFilter {
                provider: text("openrouter"),
                ..none()
            },
            vec!["old"],
        ),
        (
            SessionFilter {
                min_messages: Some(1),
                ..none()
            },
            vec!["old", "open"],
        ),
        (
            SessionFilter {
                max_messages: Some(0),
                ..none()
            },
            vec!["new"],
        ),
        (
            SessionFilter {
                min_tokens: Some(15),
                ..none()
            },
            vec!["old"],
        ),
        (
            SessionFilter {
                max_tokens: Some(14),
                ..none()
            },
            vec!["new", "open"],
        ),
        (
            SessionFilter {
                min_cost: Some(0.01),
                ..none()
            },
            vec![],
        ),
        (
            SessionFilter {
                min_tool_calls: Some(2),
                ..none()
            },
            vec!["old"],
        ),
        (
            SessionFilter {
                archived: Some(true),
                ..none()
            },
            vec![],
        ),
    ] {
        assert_eq!(chosen(filter.clone()), expected, "{filter:?}");
    }
}

#[test]
fn prune_deletes_only_ended_sessions() {
    let mut test = aged();
    let rules = AutoPrune {
        retention: Duration::from_hours(90 * 24),
        interval: Duration::from_hours(24),
        vacuum: true,
    };
    assert_eq!(
        test.store.prune_if_due(&rules).unwrap(),
        Some(vec![id("old")])
    );
    assert_eq!(test.store.prune_if_due(&rules).unwrap(), None);
    let stamp: String = Connection::open(test.store.path())
        .unwrap()
        .query_row(
            "SELECT value FROM state_meta WHERE key = 'last_auto_prune'",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert!((stamp.parse::<f64>().unwrap() - hermes_session::now()).abs() < 60.0);
    // A stamp of the future, or no number at all, must not stop pruning for ever.
    for odd in ["99999999999", "soon"] {
        test.sql(&format!(
            "UPDATE state_meta SET value = '{odd}' WHERE key = 'last_auto_prune'"
        ));
        assert_eq!(test.store.prune_if_due(&rules).unwrap(), Some(vec![]));
    }
    assert_eq!(
        test.store.prune(&SessionFilter::default()).unwrap(),
        [id("new")]
    );
    assert_eq!(all(&test), [id("open")]);
}

#[test]
fn killed_session_counts_as_ended_after_a_silent_week() {
    let mut test = aged();
    let ended = SessionFilter {
        ended: true,
        ..SessionFilter::default()
    };
    let is_over = |test: &TestStore| {
        let chosen = test.store.matching(&ended).unwrap();
        chosen.iter().any(|session| session.id == id("open"))
    };
    for (days, expected) in [(6.0, false), (8.0, true)] {
        let silent_since = hermes_session::now() - days * 86_400.0;
        test.sql(&format!(
            "UPDATE messages SET timestamp = {silent_since} WHERE session_id = 'open'"
        ));
        assert_eq!(is_over(&test), expected, "{days}");
    }
    // Its last message counts, not its beginning.
    let rules = |days: u64| AutoPrune {
        retention: Duration::from_hours(days * 24),
        interval: Duration::ZERO,
        vacuum: false,
    };
    assert_eq!(
        test.store.prune_if_due(&rules(9)).unwrap(),
        Some(vec![id("old")])
    );
    assert_eq!(
        test.store.prune_if_due(&rules(7)).unwrap(),
        Some(vec![id("open")])
    );
}

#[test]
fn archived_sessions_are_hidden_and_can_be_restored() {
    let mut test = aged();
    let listed = |test: &TestStore, archived| {
        let request = ListRequest {
            archived,
            ..ListRequest::default()
        };
        test.store.list(&request).unwrap().len()
    };
    let mut away = test
        .store
        .archive_matching(&SessionFilter::default())
        .unwrap();
    away.sort();
    assert_eq!(away, [id("new"), id("old")]);
    assert_eq!(
        test.store
            .archive_matching(&SessionFilter::default())
            .unwrap(),
        []
    );
    assert_eq!((listed(&test, false), listed(&test, true)), (1, 3));
    assert_eq!(test.store.set_archived(&id("old"), false).unwrap(), 1);
    assert_eq!(listed(&test, false), 2);
    assert!(matches!(
        test.store.set_archived(&id("nobody"), true),
        Err(Error::Unknown { .. })
    ));
}

#[test]
fn export_contains_every_column_and_message() {
    let mut test = TestStore::new();
    let id = test.conversation(&["kept"]);
    let calls = json!([call("a", "terminal")]);
    let parts = hermes_session::MessageContent::Parts(json!([{"type": "text", "text": "x"}]));
    let step = ConversationStep {
        assistant: SessionMessage {
            tool_calls: Some(calls.clone()),
            ..SessionMessage::new(MessageRole::Assistant)
        },
        results: vec![SessionMessage::tool_result("a", "terminal", parts)],
        usage: None,
    };
    test.store.append_step(&id, &step).unwrap();
    test.store.undo_turns(&id, 1).unwrap();
    test.store
        .end_session(&id, SessionEndReason::AgentClose)
        .unwrap();
    test.sql("ALTER TABLE sessions ADD COLUMN from_the_future TEXT DEFAULT 'yes'");
    let export = test.store.export(&id).unwrap();
    assert_eq!(export["id"], json!(id));
    assert_eq!(export["end_reason"], "agent_close");
    assert_eq!(export["from_the_future"], "yes");
    let messages = export["messages"].as_array().unwrap();
    assert_eq!(messages.len(), 4);
    assert_eq!(messages[0]["content"], "kept");
    assert_eq!(messages[0]["active"], 0);
    assert_eq!(messages[2]["tool_calls"], calls);
    assert_eq!(
        messages[3]["content"],
        json!([{"type": "text", "text": "x"}])
    );
}

#[test]
fn optimize_returns_space() {
    let mut test = TestStore::new();
    let long = "many different words ".repeat(5_000);
    let id = test.conversation(&[&long, &long, &long]);
    test.store.delete_session(&id).unwrap();
    test.conversation(&["still here"]);
    let optimized = test.store.optimize().unwrap();
    assert!(optimized.after < optimized.before, "{optimized:?}");
    assert_eq!(all(&test).len(), 1);
}
