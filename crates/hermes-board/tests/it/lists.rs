//! Lists, numbers, and looking things up.

use hermes_board::model::{Status, TaskId};
use hermes_board::store::{BoardStore, NewTask};
use hermes_board::{Error, EventQuery, ListQuery, RunFilter, SortOrder, StoredBoard};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::{Fixture, below, card, claim, complete, file};

/// Cards `b`, `a` and `c`, the last one running, and one that is archived.
fn some(fixture: &Fixture, board: &mut StoredBoard) -> [TaskId; 3] {
    let mut cards = [("b", 1, Some("t")), ("a", 5, None), ("c", 1, Some("t"))].map(
        |(title, priority, tenant)| NewTask {
            priority,
            tenant: tenant.map(str::to_owned),
            session_id: Some(format!("s-{title}")),
            ..card(title)
        },
    );
    let ids = cards.each_mut().map(|new| {
        fixture.pass(1);
        file(board, new)
    });
    claim(board, &ids[2]);
    let gone = file(board, &NewTask::titled("gone"));
    board.archive(&gone).unwrap();
    ids
}

fn titles(board: &StoredBoard, query: &ListQuery) -> String {
    let tasks = board.list(query).unwrap();
    tasks.iter().map(|task| task.title.as_str()).collect()
}

#[test]
fn lists_are_ordered() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    some(&fixture, &mut board);
    for (sort, expected) in [
        (None, "abc"),
        (Some(SortOrder::Priority), "abc"),
        (Some(SortOrder::Created), "bac"),
        (Some(SortOrder::CreatedDesc), "cab"),
        (Some(SortOrder::PriorityDesc), "bca"),
        (Some(SortOrder::Title), "abc"),
        (Some(SortOrder::Updated), "cab"),
        (Some(SortOrder::Status), "bac"),
        (Some(SortOrder::Assignee), "bac"),
    ] {
        let query = ListQuery {
            sort,
            ..ListQuery::default()
        };
        assert_eq!(titles(&board, &query), expected, "{sort:?}");
    }
}

#[test]
fn lists_are_filtered_and_cut() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    some(&fixture, &mut board);
    let any = ListQuery::default();
    let tenant = ListQuery {
        tenant: Some("t".to_owned()),
        ..any.clone()
    };
    let running = ListQuery {
        status: Some(Status::Running),
        assignee: Some(" CODER ".to_owned()),
        ..any.clone()
    };
    let injected = ListQuery {
        session_id: Some("s-b' OR 1=1 --".to_owned()),
        ..any.clone()
    };
    let last = ListQuery {
        include_archived: true,
        limit: Some(2),
        offset: 2,
        ..any.clone()
    };
    let archived = ListQuery {
        status: Some(Status::Archived),
        ..any
    };
    for (query, expected) in [
        (tenant, "bc"),
        (running, "c"),
        (injected, ""),
        (last, "cgone"),
        (archived, "gone"),
    ] {
        assert_eq!(titles(&board, &query), expected, "{query:?}");
    }
}

#[test]
fn lists_have_links_and_statistics() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    let [b, a, _] = some(&fixture, &mut board);
    board.link(&a, &b).unwrap();
    for limit in [None, Some(10)] {
        let mut linked = Vec::new();
        let query = ListQuery {
            limit,
            ..ListQuery::default()
        };
        board
            .each_task(&query, &mut |card| {
                linked.push((card.task.title, card.parents.len(), card.children.len()));
                Ok(())
            })
            .unwrap();
        let expected = [("a", 0, 1), ("b", 1, 0), ("c", 0, 0)];
        assert_eq!(
            linked,
            expected.map(|(title, up, down)| (title.to_owned(), up, down))
        );
    }
    fixture.pass(1);
    let stats = board.stats().unwrap();
    assert_eq!(
        serde_json::to_value(&stats).unwrap(),
        json!({
            "by_status": {"ready": 1, "running": 1, "todo": 1},
            "by_assignee": {"coder": {"ready": 1, "running": 1, "todo": 1}},
            "oldest_ready_age_seconds": 2,
            "now": stats.now,
        })
    );
    assert_eq!(board.counts().unwrap()["archived"], 1);
}

#[test]
fn the_object_of_a_card_has_the_keys_of_the_reference_and_ours() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    let id = file(&mut board, &card("x"));
    let shown = serde_json::to_value(board.show(&id, None).unwrap().task).unwrap();
    let keys: Vec<&String> = shown.as_object().unwrap().keys().collect();
    assert_eq!(
        keys,
        [
            "id",
            "title",
            "body",
            "assignee",
            "status",
            "priority",
            "tenant",
            "workspace_kind",
            "workspace_path",
            "branch_name",
            "project_id",
            "created_by",
            "created_at",
            "started_at",
            "completed_at",
            "result",
            "skills",
            "max_retries",
            "session_id",
            "workflow_template_id",
            "current_step_key",
            "claim_lock",
            "claim_expires",
            "worker_pid",
            "current_run_id",
            "consecutive_failures",
            "last_failure_error",
            "max_runtime_seconds",
            "model_override",
            "goal_mode",
            "goal_max_turns",
            "block_kind",
            "block_recurrences",
            "idempotency_key",
            "last_heartbeat_at",
            "scheduled_at",
            "parents",
            "children"
        ]
    );
    assert_eq!(shown["skills"], json!([]));
    assert_eq!(shown["goal_mode"], false);
}

#[test]
fn events_and_attempts_can_be_filtered() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    let one = file(&mut board, &card("one"));
    let two = file(
        &mut board,
        &NewTask {
            tenant: Some("t".to_owned()),
            ..NewTask::titled("two")
        },
    );
    claim(&mut board, &one);
    complete(&mut board, &one);
    let all = board.events(&EventQuery::default()).unwrap();
    assert_eq!(all.len(), 4);
    assert_eq!(board.latest_event_id().unwrap(), all[3].id);
    let asked = |query: EventQuery| -> Vec<String> {
        let events = board.events(&query).unwrap();
        events
            .into_iter()
            .map(|event| format!("{} {}", event.task_id, event.kind))
            .collect()
    };
    assert_eq!(
        asked(EventQuery {
            after: all[1].id,
            limit: Some(1),
            ..EventQuery::default()
        }),
        [format!("{one} claimed")]
    );
    assert_eq!(
        asked(EventQuery {
            kinds: vec!["created".to_owned(), "completed".to_owned()],
            assignee: Some("coder".to_owned()),
            ..EventQuery::default()
        }),
        [format!("{one} created"), format!("{one} completed")]
    );
    assert_eq!(
        asked(EventQuery {
            tenant: Some("t".to_owned()),
            ..EventQuery::default()
        }),
        [format!("{two} created")]
    );
    assert_eq!(
        asked(EventQuery {
            task: Some(two),
            kinds: vec!["claimed".to_owned()],
            ..EventQuery::default()
        }),
        [""; 0]
    );
    let done = RunFilter::parse("outcome", "completed").unwrap();
    assert_eq!(board.runs(&one, Some(&done)).unwrap().len(), 1);
    let crashed = RunFilter::parse("status", "crashed").unwrap();
    assert_eq!(board.runs(&one, Some(&crashed)).unwrap(), []);
    assert!(RunFilter::parse("color", "red").is_err());
    assert!(matches!(
        board.show(&TaskId::from("t_none"), None),
        Err(Error::UnknownTask { .. })
    ));
    let before = board.data_version().unwrap();
    let mut other = fixture.open();
    file(&mut other, &below(&[&one]));
    assert_ne!(board.data_version().unwrap(), before);
}
