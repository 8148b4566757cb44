//! Deleting, pruning, putting away, exporting.

use std::time::Duration;

use hermes_session::{
    AutoPrune, AutoPruned, EndReason, Error, ListRequest, Message, NewSession, SessionFilter,
    SessionId, Step, Usage,
};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::world::{World, call, id, new_session};

fn all(world: &World) -> Vec<SessionId> {
    let sessions = world.store.chosen(&SessionFilter::default()).unwrap();
    sessions.into_iter().map(|session| session.id).collect()
}

#[test]
fn a_deleted_session_takes_its_subagents_and_files_but_no_branches() {
    let mut world = World::new();
    let parent = world.talk(&["doomed words"]);
    let child = |mark: Option<&str>, world: &mut World, parent: &SessionId| {
        let new = NewSession {
            parent: Some(parent.clone()),
            model_config: mark.map(|mark| json!({mark: parent})),
            ..new_session("cli")
        };
        let id = world.store.create_session(&new).unwrap();
        world
            .store
            .append_user(&id, &Message::user("doomed child"))
            .unwrap();
        id
    };
    let delegate = child(Some("_delegate_from"), &mut world, &parent);
    let nested = child(Some("_delegate_from"), &mut world, &delegate);
    let branch = child(Some("_branched_from"), &mut world, &parent);
    let plain = child(None, &mut world, &parent);
    world
        .store
        .record_usage(
            &parent,
            &Usage {
                api_calls: 1,
                ..Usage::default()
            },
        )
        .unwrap();
    let folder = world.home.path().join("sessions");
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

    let mut removed = world.store.delete_session(&parent).unwrap();
    removed.sort();
    let mut expected = vec![parent.clone(), delegate, nested];
    expected.sort();
    assert_eq!(removed, expected);
    let mut left = all(&world);
    left.sort();
    let mut kept = vec![branch.clone(), plain];
    kept.sort();
    assert_eq!(left, kept);
    assert_eq!(world.store.session(&branch).unwrap().unwrap().parent, None);
    assert!(mine.iter().all(|path| !path.exists()));
    assert!(others.iter().all(|path| path.exists()));
    let search = hermes_session::SearchRequest {
        query: "doomed".to_owned(),
        ..Default::default()
    };
    assert_eq!(world.store.search(&search).unwrap().len(), 2);
    assert!(matches!(
        world.store.delete_session(&parent),
        Err(Error::Unknown { .. })
    ));
    assert_eq!(
        hermes_session::check(world.home.path()).unwrap(),
        hermes_session::Health::Sound
    );
}

/// Sessions of known age: `old` and `new` are over, `open` is not.
fn aged() -> World {
    let world = World::new();
    let now = world.store.now();
    let old = now - 100.0 * 86_400.0;
    world.sql(&format!(
        "INSERT INTO sessions (id, source, started_at, ended_at, end_reason, title, cwd, model,
             billing_provider, input_tokens, output_tokens, message_count, tool_call_count)
         VALUES ('old', 'cli', {old}, {old}, 'agent_close', 'Big 100% job', '/srv/a', 'x/sonnet-4', 'OpenRouter', 10, 5, 7, 2),
                ('new', 'telegram', {old}, {now}, 'new_session', NULL, '/srv/ab', 'gpt', NULL, 0, 0, 0, 0),
                ('open', 'cli', {old}, NULL, NULL, NULL, '/srv/a/deep', NULL, NULL, 0, 0, 1, 0)"
    ));
    world.sql(&format!(
        "INSERT INTO messages (session_id, role, content, timestamp) VALUES ('open', 'user', 'x', {now})"
    ));
    world
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of filters")]
fn filters_choose_what_they_say() {
    let world = aged();
    let chosen = |filter: SessionFilter| -> Vec<String> {
        let sessions = world.store.chosen(&filter).unwrap();
        sessions
            .into_iter()
            .map(|session| session.id.to_string())
            .collect()
    };
    let none = SessionFilter::default;
    let text = |text: &str| Some(text.to_owned());
    let month_ago = Some(world.store.now() - 30.0 * 86_400.0);
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
fn pruning_takes_only_what_is_over() {
    let mut world = aged();
    let rules = AutoPrune {
        retention: Duration::from_hours(90 * 24),
        interval: Duration::from_hours(24),
        vacuum: true,
    };
    assert_eq!(
        world.store.prune_if_due(&rules).unwrap(),
        AutoPruned::Done(vec![id("old")])
    );
    assert_eq!(
        world.store.prune_if_due(&rules).unwrap(),
        AutoPruned::NotDue
    );
    let stamp: f64 = world
        .store
        .meta("last_auto_prune")
        .unwrap()
        .unwrap()
        .parse()
        .unwrap();
    assert!((stamp - world.store.now()).abs() < 60.0);
    // A stamp of the future, or no number at all, must not stop pruning for ever.
    for odd in ["99999999999", "soon"] {
        world.sql(&format!(
            "UPDATE state_meta SET value = '{odd}' WHERE key = 'last_auto_prune'"
        ));
        assert_eq!(
            world.store.prune_if_due(&rules).unwrap(),
            AutoPruned::Done(vec![])
        );
    }
    assert_eq!(
        world.store.prune(&SessionFilter::default()).unwrap(),
        [id("new")]
    );
    assert_eq!(all(&world), [id("open")]);
}

#[test]
fn a_session_whose_process_was_killed_is_over_when_it_has_been_silent_for_a_week() {
    let mut world = aged();
    let ended = SessionFilter {
        ended: true,
        ..SessionFilter::default()
    };
    let is_over = |world: &World| {
        let chosen = world.store.chosen(&ended).unwrap();
        chosen.iter().any(|session| session.id == id("open"))
    };
    for (days, expected) in [(6.0, false), (8.0, true)] {
        let silent_since = world.store.now() - days * 86_400.0;
        world.sql(&format!(
            "UPDATE messages SET timestamp = {silent_since} WHERE session_id = 'open'"
        ));
        assert_eq!(is_over(&world), expected, "{days}");
    }
    // Its last message counts, not its beginning.
    let rules = |days: u64| AutoPrune {
        retention: Duration::from_hours(days * 24),
        interval: Duration::ZERO,
        vacuum: false,
    };
    assert_eq!(
        world.store.prune_if_due(&rules(9)).unwrap(),
        AutoPruned::Done(vec![id("old")])
    );
    assert_eq!(
        world.store.prune_if_due(&rules(7)).unwrap(),
        AutoPruned::Done(vec![id("open")])
    );
}

#[test]
fn what_is_put_away_is_not_listed_and_comes_back() {
    let mut world = aged();
    let listed = |world: &World, archived| {
        let request = ListRequest {
            archived,
            ..ListRequest::default()
        };
        world.store.list(&request).unwrap().len()
    };
    let mut away = world
        .store
        .archive_chosen(&SessionFilter::default())
        .unwrap();
    away.sort();
    assert_eq!(away, [id("new"), id("old")]);
    assert_eq!(
        world
            .store
            .archive_chosen(&SessionFilter::default())
            .unwrap(),
        []
    );
    assert_eq!((listed(&world, false), listed(&world, true)), (1, 3));
    assert_eq!(world.store.set_archived(&id("old"), false).unwrap(), 1);
    assert_eq!(listed(&world, false), 2);
    assert!(matches!(
        world.store.set_archived(&id("nobody"), true),
        Err(Error::Unknown { .. })
    ));
}

#[test]
fn an_export_holds_every_column_and_every_message() {
    let mut world = World::new();
    let id = world.talk(&["kept"]);
    let calls = json!([call("a", "terminal")]);
    let parts = hermes_session::Content::Parts(json!([{"type": "text", "text": "x"}]));
    let step = Step {
        assistant: Message::calls(None, calls.clone()),
        results: vec![Message::tool_result("a", "terminal", parts)],
        usage: None,
    };
    world.store.append_step(&id, &step).unwrap();
    world.store.take_back(&id, 1).unwrap();
    world
        .store
        .end_session(&id, &EndReason::AgentClose)
        .unwrap();
    world.sql("ALTER TABLE sessions ADD COLUMN from_the_future TEXT DEFAULT 'yes'");
    let export = world.store.export(&id).unwrap();
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
fn optimizing_gives_space_back() {
    let mut world = World::new();
    let long = "many different words ".repeat(5_000);
    let id = world.talk(&[&long, &long, &long]);
    world.store.delete_session(&id).unwrap();
    world.talk(&["still here"]);
    let optimized = world.store.optimize().unwrap();
    assert!(optimized.after < optimized.before, "{optimized:?}");
    assert_eq!(all(&world).len(), 1);
}
