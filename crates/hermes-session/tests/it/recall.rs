//! What the `session_search` tool asks.

use hermes_session::{
    Compaction, DiscoverRequest, Error, MessageId, SUMMARY_MARK, ScrollRequest, SearchOrder,
    SessionId, SessionMessage,
};
use pretty_assertions::assert_eq;

use crate::test_store::{TestStore, all_ids};

fn about(query: &str, current: Option<&SessionId>) -> DiscoverRequest {
    DiscoverRequest {
        query: query.to_owned(),
        roles: Vec::new(),
        window: 5,
        limit: 3,
        order: SearchOrder::Relevance,
        current: current.cloned(),
    }
}

#[test]
fn discover_lists_each_conversation_once_with_context() {
    let mut test = TestStore::new();
    let said: Vec<String> = (0..20).map(|n| format!("line {n} zebra")).collect();
    let said: Vec<&str> = said.iter().map(String::as_str).collect();
    let long = test.conversation(&said);
    let other = test.conversation(&["a zebra alone"]);
    test.conversation_from("tool", &["zebra of a tool"]);
    let cron = test.conversation_from("cron", &["zebra zebra zebra zebra"]);
    let asking = test.conversation(&["zebra in the conversation that asks"]);

    let found = test.store.discover(&about("zebra", Some(&asking))).unwrap();
    let ids: Vec<&SessionId> = found.iter().map(|d| &d.session_id).collect();
    assert_eq!(ids.len(), 3);
    assert!(
        ids[..2].contains(&&long) && ids[..2].contains(&&other),
        "{ids:?}"
    );
    assert_eq!(ids[2], &cron, "what a schedule repeats comes last");

    let newest = DiscoverRequest {
        order: SearchOrder::Oldest,
        limit: 1,
        ..about("zebra", None)
    };
    let found = &test.store.discover(&newest).unwrap()[0];
    assert_eq!(found.session_id, long);
    assert_eq!((found.messages_before, found.messages_after), (0, 5));
    assert!(found.messages[0].anchor);
    assert_eq!(found.bookend_start, []);
    assert_eq!(found.bookend_end.len(), 3);
    assert_eq!(found.bookend_end[2].content, "answer to line 19 zebra");
    assert_eq!(found.matched_role, "user");
    assert!(found.snippet.contains(">>>zebra<<<"));
    assert!(found.when.contains(" at "), "{}", found.when);
    let told = serde_json::to_value(found).unwrap();
    assert_eq!(told["messages"][0]["anchor"], true);
    assert!(told["messages"][1].get("anchor").is_none());
    assert_eq!(
        test.store
            .discover(&about("nothing like it", None))
            .unwrap(),
        []
    );
}

#[test]
fn many_hits_in_one_conversation_do_not_hide_others() {
    let mut test = TestStore::new();
    let old = test.conversation(&["one zebra"]);
    let said = vec!["zebra"; 350];
    let long = test.conversation(&said);
    let asking = test.conversation(&said);
    let newest = DiscoverRequest {
        order: SearchOrder::Newest,
        ..about("zebra", Some(&asking))
    };
    let found = test.store.discover(&newest).unwrap();
    let ids: Vec<&SessionId> = found.iter().map(|found| &found.session_id).collect();
    assert_eq!(ids, [&long, &old]);
    let narrow = DiscoverRequest {
        window: 1,
        ..newest
    };
    let found = test.store.discover(&narrow).unwrap();
    assert!(found[0].messages.len() <= 3);
}

#[test]
fn undone_messages_are_not_recalled_and_long_ones_are_shortened() {
    let mut test = TestStore::new();
    let long = format!("zebra {}", "x".repeat(5_000));
    let id = test.conversation(&["first", &long, "last"]);
    let messages = all_ids(&test.store, &id);
    test.store.undo_turns(&id, 1).unwrap();
    let found = &test.store.discover(&about("zebra", None)).unwrap()[0];
    let shown: Vec<MessageId> = found.messages.iter().map(|message| message.id).collect();
    assert_eq!(shown, messages[..4]);
    assert!(
        found.messages[2]
            .content
            .ends_with("… [3506 more characters]")
    );
}

#[test]
fn discover_matches_titles() {
    let mut test = TestStore::new();
    let id = test.conversation(&["hello"]);
    test.store.set_title(&id, "Garden plans").unwrap();
    let found = test.store.discover(&about("`Garden plans`", None)).unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(
        (found[0].matched_role.as_str(), found[0].messages.len()),
        ("session_title", 2)
    );
    assert_eq!(
        test.store
            .discover(&about("Garden plans", Some(&id)))
            .unwrap(),
        []
    );
}

#[test]
fn scroll_returns_the_messages_around_one() {
    let mut test = TestStore::new();
    let id = test.conversation(&["one", "two", "three", "four"]);
    let other = test.conversation(&["elsewhere"]);
    let messages = all_ids(&test.store, &id);
    let at = |around: MessageId, window| ScrollRequest {
        session: id.clone(),
        around,
        window,
        current: Some(other.clone()),
    };
    let window = test.store.scroll(&at(messages[2], 2)).unwrap();
    let shown: Vec<MessageId> = window.messages.iter().map(|m| m.id).collect();
    assert_eq!(shown, messages[..5]);
    assert_eq!((window.messages_before, window.messages_after), (2, 2));
    // Nothing before the first, and no more than twenty on either side.
    let window = test.store.scroll(&at(messages[0], 500)).unwrap();
    assert_eq!((window.messages_before, window.messages_after), (0, 7));
    for wrong in [MessageId(9999), all_ids(&test.store, &other)[0]] {
        assert!(matches!(
            test.store.scroll(&at(wrong, 5)),
            Err(Error::UnknownMessage { .. })
        ));
    }
    let own = ScrollRequest {
        current: Some(id.clone()),
        ..at(messages[0], 5)
    };
    assert!(matches!(
        test.store.scroll(&own),
        Err(Error::InContext { .. })
    ));
}

#[test]
fn summarised_messages_can_be_recalled_in_their_own_conversation() {
    let mut test = TestStore::new();
    let id = test.conversation(&["the old password policy", "more"]);
    let lock = test.lock_compaction(&id);
    let ids = all_ids(&test.store, &id);
    let summary = SessionMessage::user(format!("{SUMMARY_MARK} talk of rules"));
    let compaction = Compaction {
        replaced: vec![(ids[0], summary)],
        summarised: ids[1..].to_vec(),
        ..Compaction::default()
    };
    test.store.compact(&lock, &compaction).unwrap();
    let found = test.store.discover(&about("password", Some(&id))).unwrap();
    assert_eq!(found.len(), 1);
    let anchor = found[0].match_message_id.unwrap();
    let scroll = ScrollRequest {
        session: id.clone(),
        around: anchor,
        window: 1,
        current: Some(id.clone()),
    };
    assert!(!test.store.scroll(&scroll).unwrap().messages.is_empty());
    assert_eq!(test.store.discover(&about("rules", Some(&id))).unwrap(), []);
}

#[test]
fn browse_lists_the_latest_without_the_current_conversation() {
    let mut test = TestStore::new();
    let first = test.conversation(&["first"]);
    let second = test.conversation(&["second"]);
    test.conversation_from("subagent", &["hidden"]);
    let asking = test.conversation(&["asking"]);
    let browsed = test.store.browse(5, Some(&asking)).unwrap();
    let ids: Vec<&SessionId> = browsed.iter().map(|b| &b.session.id).collect();
    assert_eq!(ids, [&second, &first]);
    assert_eq!(
        (
            browsed[0].preview.as_str(),
            browsed[0].session.counters.message_count
        ),
        ("second", 2)
    );
    assert_eq!(test.store.browse(1, Some(&asking)).unwrap().len(), 1);
}
