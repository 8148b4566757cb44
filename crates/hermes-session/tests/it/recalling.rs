//! What the `session_search` tool asks.

use hermes_session::{
    Compaction, Discover, Error, Message, MessageId, SUMMARY_MARK, Scroll, SearchOrder, SessionId,
};
use pretty_assertions::assert_eq;

use crate::world::World;

fn about(query: &str, current: Option<&SessionId>) -> Discover {
    Discover {
        query: query.to_owned(),
        roles: Vec::new(),
        window: 5,
        limit: 3,
        order: SearchOrder::Relevance,
        current: current.cloned(),
    }
}

#[test]
fn conversations_are_discovered_once_each_with_their_surroundings() {
    let mut world = World::new();
    let said: Vec<String> = (0..20).map(|n| format!("line {n} zebra")).collect();
    let said: Vec<&str> = said.iter().map(String::as_str).collect();
    let long = world.talk(&said);
    let other = world.talk(&["a zebra alone"]);
    world.talk_from("tool", &["zebra of a tool"]);
    let cron = world.talk_from("cron", &["zebra zebra zebra zebra"]);
    let asking = world.talk(&["zebra in the conversation that asks"]);

    let found = world
        .store
        .discover(&about("zebra", Some(&asking)))
        .unwrap();
    let ids: Vec<&SessionId> = found.iter().map(|d| &d.session_id).collect();
    assert_eq!(ids.len(), 3);
    assert!(
        ids[..2].contains(&&long) && ids[..2].contains(&&other),
        "{ids:?}"
    );
    assert_eq!(ids[2], &cron, "what a schedule repeats comes last");

    let newest = Discover {
        order: SearchOrder::Oldest,
        limit: 1,
        ..about("zebra", None)
    };
    let found = &world.store.discover(&newest).unwrap()[0];
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
        world
            .store
            .discover(&about("nothing like it", None))
            .unwrap(),
        []
    );
}

#[test]
fn many_hits_of_one_conversation_hide_no_other() {
    let mut world = World::new();
    let old = world.talk(&["one zebra"]);
    let said = vec!["zebra"; 350];
    let long = world.talk(&said);
    let asking = world.talk(&said);
    let newest = Discover {
        order: SearchOrder::Newest,
        ..about("zebra", Some(&asking))
    };
    let found = world.store.discover(&newest).unwrap();
    let ids: Vec<&SessionId> = found.iter().map(|found| &found.session_id).collect();
    assert_eq!(ids, [&long, &old]);
    let narrow = Discover {
        window: 1,
        ..newest
    };
    let found = world.store.discover(&narrow).unwrap();
    assert!(found[0].messages.len() <= 3);
}

#[test]
fn what_was_taken_back_is_not_recalled_and_long_messages_are_cut() {
    let mut world = World::new();
    let long = format!("zebra {}", "x".repeat(5_000));
    let id = world.talk(&["first", &long, "last"]);
    let messages = world.store.all_messages(&id).unwrap();
    world.store.take_back_from(&id, messages[4].id).unwrap();
    let found = &world.store.discover(&about("zebra", None)).unwrap()[0];
    let shown: Vec<MessageId> = found.messages.iter().map(|message| message.id).collect();
    let expected: Vec<MessageId> = messages[..4].iter().map(|message| message.id).collect();
    assert_eq!(shown, expected);
    assert!(
        found.messages[2]
            .content
            .ends_with("… [3506 more characters]")
    );
}

#[test]
fn a_title_is_discovered_too() {
    let mut world = World::new();
    let id = world.talk(&["hello"]);
    world.store.set_title(&id, "Garden plans").unwrap();
    let found = world
        .store
        .discover(&about("`Garden plans`", None))
        .unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(
        (found[0].matched_role.as_str(), found[0].messages.len()),
        ("session_title", 2)
    );
    assert_eq!(
        world
            .store
            .discover(&about("Garden plans", Some(&id)))
            .unwrap(),
        []
    );
}

#[test]
fn a_conversation_is_scrolled_through() {
    let mut world = World::new();
    let id = world.talk(&["one", "two", "three", "four"]);
    let other = world.talk(&["elsewhere"]);
    let messages = world.store.all_messages(&id).unwrap();
    let at = |around: MessageId, window| Scroll {
        session: id.clone(),
        around,
        window,
        current: Some(other.clone()),
    };
    let window = world.store.scroll(&at(messages[2].id, 2)).unwrap();
    let shown: Vec<MessageId> = window.messages.iter().map(|m| m.id).collect();
    let expected: Vec<MessageId> = messages[..5].iter().map(|m| m.id).collect();
    assert_eq!(shown, expected);
    assert_eq!((window.messages_before, window.messages_after), (2, 2));
    // Nothing before the first, and no more than twenty on either side.
    let window = world.store.scroll(&at(messages[0].id, 500)).unwrap();
    assert_eq!((window.messages_before, window.messages_after), (0, 7));
    for wrong in [
        MessageId(9999),
        world.store.all_messages(&other).unwrap()[0].id,
    ] {
        assert!(matches!(
            world.store.scroll(&at(wrong, 5)),
            Err(Error::UnknownMessage { .. })
        ));
    }
    let own = Scroll {
        current: Some(id.clone()),
        ..at(messages[0].id, 5)
    };
    assert!(matches!(
        world.store.scroll(&own),
        Err(Error::InContext { .. })
    ));
}

#[test]
fn what_a_summary_stands_for_can_be_recalled_in_its_own_conversation() {
    let mut world = World::new();
    let id = world.talk(&["the old password policy", "more"]);
    let lock = world.lock_compaction(&id);
    let ids: Vec<MessageId> = world
        .store
        .all_messages(&id)
        .unwrap()
        .iter()
        .map(|m| m.id)
        .collect();
    let summary = Message::user(format!("{SUMMARY_MARK} talk of rules"));
    let compaction = Compaction {
        replaced: vec![(ids[0], summary)],
        put_aside: ids[1..].to_vec(),
        ..Compaction::default()
    };
    world.store.compact(&lock, &compaction).unwrap();
    let found = world.store.discover(&about("password", Some(&id))).unwrap();
    assert_eq!(found.len(), 1);
    let anchor = found[0].match_message_id.unwrap();
    let scroll = Scroll {
        session: id.clone(),
        around: anchor,
        window: 1,
        current: Some(id.clone()),
    };
    assert!(!world.store.scroll(&scroll).unwrap().messages.is_empty());
    assert_eq!(
        world.store.discover(&about("rules", Some(&id))).unwrap(),
        []
    );
}

#[test]
fn browsing_shows_the_latest_without_the_one_that_asks() {
    let mut world = World::new();
    let first = world.talk(&["first"]);
    let second = world.talk(&["second"]);
    world.talk_from("subagent", &["hidden"]);
    let asking = world.talk(&["asking"]);
    let browsed = world.store.browse(5, Some(&asking)).unwrap();
    let ids: Vec<&SessionId> = browsed.iter().map(|b| &b.session_id).collect();
    assert_eq!(ids, [&second, &first]);
    assert_eq!(
        (browsed[0].preview.as_str(), browsed[0].message_count),
        ("second", 2)
    );
    assert_eq!(world.store.browse(1, Some(&asking)).unwrap().len(), 1);
}
