//! Which session is meant, what it is called, and what lists show.

use hermes_session::{Error, ListRequest, NewSession, SessionId};
use pretty_assertions::assert_eq;

use crate::test_store::{TestStore, id, new_session};

#[test]
fn session_is_found_by_id_title_and_prefix() {
    let mut test = TestStore::new();
    let first = test.conversation(&["one"]);
    let second = test.conversation(&["two"]);
    test.store.set_title(&first, "my work").unwrap();
    assert_eq!(test.store.resolve(first.as_str()).unwrap(), first);
    assert_eq!(test.store.resolve(" my work ").unwrap(), first);
    let beginning: String = second.as_str().chars().take(20).collect();
    assert_eq!(test.store.resolve(&beginning).unwrap(), second);

    // The year is the beginning of both.
    let Err(Error::Ambiguous {
        count: 2, examples, ..
    }) = test.store.resolve("20")
    else {
        panic!("two sessions begin with 20");
    };
    assert_eq!(examples.len(), 2);
    for text in ["nothing", "my", "%", "____", ""] {
        let refused = test.store.resolve(text);
        assert!(
            matches!(
                refused,
                Err(Error::Unknown { .. } | Error::InvalidId { .. })
            ),
            "{text}: {refused:?}"
        );
    }
}

#[test]
fn title_is_unique_and_finds_its_latest_variant() {
    let mut test = TestStore::new();
    let first = test.conversation(&["one"]);
    let second = test.conversation(&["two"]);
    assert_eq!(
        test.store.set_title(&first, " a\n title ").unwrap(),
        "a title"
    );
    assert!(matches!(
        test.store.set_title(&second, "a title"),
        Err(Error::TitleTaken { holder, .. }) if holder == first.as_str()
    ));
    // Again for the same session is no conflict.
    test.store.set_title(&first, "a title").unwrap();
    assert_eq!(test.store.next_title("a title").unwrap(), "a title #2");
    test.store.set_title(&second, "a title #2").unwrap();
    assert_eq!(test.store.next_title("a title #2").unwrap(), "a title #3");
    assert_eq!(test.store.next_title("fresh").unwrap(), "fresh");
    assert_eq!(test.store.resolve("a title").unwrap(), second);
    assert!(!test.store.set_title_if_none(&first, "other").unwrap());
    let third = test.conversation(&["three"]);
    assert!(test.store.set_title_if_none(&third, "other").unwrap());
    // `%` and `_` in a title are no wildcards.
    let fourth = test.conversation(&["four"]);
    test.store.set_title(&fourth, "100% _x").unwrap();
    assert_eq!(test.store.resolve("100% _x").unwrap(), fourth);
}

/// An older file: `a` was compacted into `b`, that into `c`; a sub-agent and a tool run hang on `a`.
fn old_chain(test: &TestStore) {
    test.sql(
        "INSERT INTO sessions (id, source, started_at, ended_at, end_reason, title) VALUES
             ('a', 'cli', 100, 200, 'compression', 'work');
         INSERT INTO sessions (id, source, started_at, ended_at, end_reason, parent_session_id, title)
             VALUES ('b', 'cli', 200, 300, 'compression', 'a', 'work #2');
         INSERT INTO sessions (id, source, started_at, parent_session_id) VALUES
             ('c', 'cli', 299.5, 'b'),
             ('sub', 'cli', 150, 'a'),
             ('run', 'tool', 250, 'a');
         INSERT INTO messages (session_id, role, content, timestamp) VALUES
             ('a', 'user', 'the beginning', 101), ('b', 'user', 'summary', 201),
             ('c', 'user', 'the end', 400), ('sub', 'user', 'help', 151), ('run', 'user', 'x', 500);",
    );
}

#[test]
fn compacted_conversation_resumes_at_its_last_session_and_is_listed_once() {
    let mut test = TestStore::new();
    old_chain(&test);
    for text in ["a", "work", "b", "c"] {
        assert_eq!(test.store.resolve(text).unwrap(), id("c"), "{text}");
    }
    assert_eq!(test.store.find("a").unwrap(), id("a"));
    assert_eq!(test.store.root_of(&id("c")).unwrap(), id("a"));
    let listed = test.store.list(&ListRequest::default()).unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0].session.id, id("c"));
    assert_eq!(listed[0].root, id("a"));
    assert_eq!(listed[0].preview, "the beginning");
    assert!((listed[0].last_active - 400.0).abs() < f64::EPSILON);
    assert_eq!(test.store.most_recent("cli").unwrap(), Some(id("c")));
    // The title may move along the chain, not to strangers.
    assert_eq!(test.store.set_title(&id("c"), "work").unwrap(), "work");
    assert_eq!(test.store.session(&id("a")).unwrap().unwrap().title, None);
    assert!(matches!(
        test.store.set_title(&id("sub"), "work"),
        Err(Error::TitleTaken { .. })
    ));
}

#[test]
fn session_without_messages_resolves_to_its_child() {
    let mut test = TestStore::new();
    let empty = test.store.create_session(&new_session("cli")).unwrap();
    let child = test
        .store
        .create_session(&NewSession {
            parent: Some(empty.clone()),
            ..new_session("cli")
        })
        .unwrap();
    assert_eq!(test.store.resolve(empty.as_str()).unwrap(), empty);
    test.store
        .append_user(&child, &hermes_session::SessionMessage::user("x"))
        .unwrap();
    assert_eq!(test.store.resolve(empty.as_str()).unwrap(), child);
}

#[test]
fn circular_parents_do_not_hang() {
    let test = TestStore::new();
    test.sql(
        "PRAGMA foreign_keys = OFF;
         INSERT INTO sessions (id, source, started_at, ended_at, end_reason, parent_session_id, model_config)
         VALUES ('a', 'cli', 1, 1, 'compression', 'b', 'no json'),
                ('b', 'cli', 1, 1, 'compression', 'a', NULL),
                ('lost', 'cli', 5, NULL, NULL, 'gone', '[]');",
    );
    test.store.resolve("a").unwrap();
    test.store.root_of(&id("a")).unwrap();
    let listed = test.store.list(&ListRequest::default()).unwrap();
    let ids: Vec<&SessionId> = listed.iter().map(|l| &l.session.id).collect();
    assert_eq!(ids, [&id("lost")]);
}

#[test]
fn list_filters_by_source_workspace_and_limit() {
    let mut test = TestStore::new();
    let cli = test.conversation(&["in the   shell\nwith lines"]);
    let tool = test.conversation_from("tool", &["hidden"]);
    let chat = test.conversation_from("telegram", &["from a phone"]);
    test.sql(&format!(
        "UPDATE sessions SET cwd = '/srv/projects/Lab' WHERE id = '{cli}'"
    ));
    let ids = |request: ListRequest| -> Vec<SessionId> {
        let listed = test.store.list(&request).unwrap();
        listed.into_iter().map(|l| l.session.id).collect()
    };
    let all = ListRequest::default();
    assert_eq!(ids(all.clone()), [chat.clone(), tool.clone(), cli.clone()]);
    let excluded_sources = vec!["tool".to_owned()];
    assert_eq!(
        ids(ListRequest {
            excluded_sources,
            ..all.clone()
        }),
        [chat.clone(), cli.clone()]
    );
    assert_eq!(
        ids(ListRequest {
            source: Some("tool".to_owned()),
            ..all.clone()
        }),
        [tool]
    );
    assert_eq!(
        ids(ListRequest {
            workspace: Some("lab".to_owned()),
            ..all.clone()
        }),
        [cli]
    );
    assert_eq!(
        ids(ListRequest {
            workspace: Some("nowhere".to_owned()),
            ..all.clone()
        }),
        []
    );
    assert_eq!(
        ids(ListRequest {
            limit: Some(1),
            ..all.clone()
        }),
        [chat]
    );
    assert_eq!(
        ids(ListRequest {
            limit: Some(0),
            ..all.clone()
        }),
        []
    );
    let listed = test.store.list(&all).unwrap();
    assert_eq!(listed[2].preview, "in the shell with lines");
    assert_eq!(listed[2].workspace(), Some("/srv/projects/Lab"));
    let stats = test.store.stats().unwrap();
    assert_eq!(
        (
            stats.total_sessions,
            stats.total_messages,
            stats.open_sessions
        ),
        (3, 6, 3)
    );
    assert_eq!(stats.by_source["telegram"], 1);
    assert!(stats.database_bytes > 0);
}
