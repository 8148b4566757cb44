//! Every statement that runs while cards are worked on goes through an index.
//!
//! The tests do things to a board, note the statements on the way, and ask SQLite how it would run
//! them. A walk over a whole table is allowed only where the whole table is what was asked for.

use std::cell::RefCell;
use std::collections::BTreeSet;

use pretty_assertions::assert_eq;

use crate::boards::{Board, BoardSlug};
use crate::model::{
    Approval, DiffSide, LineRange, OnApprove, RepoPath, TaskId, Termination, WorkerExit,
};
use crate::sqlite::{BoardOptions, Engine, EventQuery, ListQuery, NewReviewComment, StoredBoard};
use crate::store::{
    AttemptEnd, BlockRequest, BoardStore, ClaimCaps, ClaimFrom, ClaimOutcome, ClaimRequest,
    Completion, FailurePolicy, NewTask, ScheduleRequest, StartIn, WaitNote, WaitReason,
};

thread_local! {
    static NOTED: RefCell<BTreeSet<String>> = const { RefCell::new(BTreeSet::new()) };
}

/// Notes a statement of this thread.
pub(super) fn note(sql: &str) {
    NOTED.with_borrow_mut(|noted| noted.insert(sql.to_owned()));
}

fn noted(during: impl FnOnce()) -> BTreeSet<String> {
    NOTED.with_borrow_mut(BTreeSet::clear);
    during();
    NOTED.with_borrow_mut(std::mem::take)
}

impl StoredBoard {
    fn file_connection(&self) -> &hermes_store::rusqlite::Connection {
        match &self.engine {
            Engine::File(file) => file.database.connection(),
            Engine::Server(_) => panic!("this board is in a file"),
        }
    }
}

/// How SQLite would run a statement.
fn steps(board: &StoredBoard, sql: &str) -> Vec<String> {
    let mut statement = board
        .file_connection()
        .prepare(&format!("EXPLAIN QUERY PLAN {sql}"))
        .unwrap();
    let none: Vec<Option<i64>> = vec![None; statement.parameter_count()];
    let rows = statement
        .query_map(hermes_store::rusqlite::params_from_iter(none), |row| {
            row.get(3)
        })
        .unwrap();
    rows.map(Result::unwrap).collect()
}

/// Tables of cards that a statement walks over from end to end.
fn walks(board: &StoredBoard, sql: &str) -> Vec<String> {
    // `j` is a list of names, `b` the way down from one card, `w` some cards, a subquery what was
    // found.
    let fine = [
        "SCAN j",
        "SCAN b",
        "SCAN w",
        "SCAN below",
        "SCAN CONSTANT",
        "SCAN (subquery",
    ];
    steps(board, sql)
        .into_iter()
        .filter(|step| step.starts_with("SCAN "))
        .filter(|step| !fine.iter().any(|fine| step.starts_with(fine)))
        .collect()
}

fn board() -> (tempfile::TempDir, StoredBoard) {
    let dir = tempfile::tempdir().unwrap();
    let board = Board::below(dir.path(), &BoardSlug::default_board());
    let board = StoredBoard::open(&board, &BoardOptions::default()).unwrap();
    (dir, board)
}

fn claim(board: &mut StoredBoard, id: &TaskId) -> crate::model::RunId {
    let request = ClaimRequest {
        task: id.clone(),
        lock: "h:1".to_owned(),
        ttl_seconds: 1,
        from: ClaimFrom::Ready,
        dispatcher: None,
        host: None,
        caps: ClaimCaps::default(),
    };
    match board.claim(&request).unwrap() {
        ClaimOutcome::Claimed(claimed) => claimed.run,
        other => panic!("{other:?}"),
    }
}

/// Everything that a reviewer can do about a card that is done.
fn review(board: &mut StoredBoard, id: &TaskId) {
    let comment = NewReviewComment {
        lines: LineRange {
            file: RepoPath::from_bytes("a"),
            side: DiffSide::New,
            first_line: 1,
            last_line: 1,
        },
        quote: "x".to_owned(),
        commit: None,
        author: "a".to_owned(),
        body: "b".to_owned(),
    };
    board.set_on_approve(id, Some(&OnApprove::Merge)).unwrap();
    board.add_review_comment(id, &comment).unwrap();
    board.reply_to_review(id, 1, "a", "b").unwrap();
    board.move_review_comments(id, &[(1, None)]).unwrap();
    board.request_changes(id, "a", Some("text")).unwrap();
    board.resolve_review(id, 1, "a").unwrap();
    board.complete(id, &Completion::default()).unwrap();
    let approval = Approval {
        by: "a".to_owned(),
        at: 1,
        action: "none".to_owned(),
        commit: None,
        branch: None,
    };
    board.record_approval(id, &approval).unwrap();
    board.review(id).unwrap();
}

/// The life of some cards, with everything that can happen to them.
fn live(board: &mut StoredBoard) {
    let parent = board.create(&NewTask::titled("parent")).unwrap().task.id;
    let new = NewTask {
        parents: vec![parent.clone()],
        idempotency_key: Some("k".to_owned()),
        checks: vec!["true".into()],
        ..NewTask::titled("child")
    };
    let child = board.create(&new).unwrap().task.id;
    let other = board.create(&NewTask::titled("other")).unwrap().task.id;
    board.link(&other, &child).unwrap();
    board.unlink(&other, &child).unwrap();
    let run = claim(board, &parent);
    let _applied = board.record_spawned(&parent, run, 7, None).unwrap();
    let _applied = board.extend_own_claim(&parent, "h:1", 9).unwrap();
    let _applied = board.keep_alive(&parent, run, Some("h:1"), 9).unwrap();
    board.heartbeat(&parent, None, None).unwrap();
    let seen = board.snapshot(2).unwrap().running[0].claim.clone();
    let policy = FailurePolicy::default();
    let end = AttemptEnd::Exited {
        exit: WorkerExit::Code(0),
        policy,
    };
    let _release = board
        .end_attempt(&parent, &seen, &end, Termination::default())
        .unwrap();
    let run = claim(board, &parent);
    let _release = board
        .record_spawn_failure(&parent, run, "x", &policy)
        .unwrap();
    claim(board, &parent);
    let _applied = board
        .reclaim(&parent, Some("h:1"), None, Termination::default())
        .unwrap();
    let block = BlockRequest {
        task: parent.clone(),
        reason: Some("r".to_owned()),
        kind: None,
        expected_run: None,
    };
    board.block(&block).unwrap();
    board.unblock(&parent).unwrap();
    board
        .schedule(&ScheduleRequest {
            task: parent.clone(),
            reason: None,
            at: Some(1),
            expected_run: None,
        })
        .unwrap();
    board.wake_due().unwrap();
    let notes = [WaitNote {
        task: parent.clone(),
        reason: WaitReason::Guarded("active_pr"),
    }];
    board.note_waiting(&notes).unwrap();
    let completion = Completion {
        summary: Some("see t_deadbeef".to_owned()),
        created_cards: vec![child.clone()],
        ..Completion::default()
    };
    board.complete(&parent, &completion).unwrap();
    review(board, &parent);
    board.promote_satisfied(2).unwrap();
    board.snapshot(2).unwrap();
    board.archive(&parent).unwrap();
    board.archive(&other).unwrap();
    board.purge(&other).unwrap();
    board.purge(&parent).unwrap();
    let parked = NewTask {
        start: StartIn::Scheduled(9),
        ..NewTask::titled("parked")
    };
    board.create(&parked).unwrap();
}

#[test]
fn no_change_of_a_card_scans_a_table() {
    let (_dir, mut board) = board();
    let statements = noted(|| live(&mut board));
    assert!(statements.len() > 60, "{}", statements.len());
    for sql in &statements {
        assert_eq!(walks(&board, sql), Vec::<String>::new(), "{sql}");
        // Most cards are done: going through them all to find one is a walk as well.
        let by_status: Vec<String> = steps(&board, sql)
            .into_iter()
            .filter(|step| step.contains("idx_tasks_status"))
            .collect();
        let asks_for_a_column = [
            "t.status = ?1 ",
            "t.status = 'running'",
            "t.status = 'todo'",
            "t.status = 'blocked'",
            "status = 'scheduled'",
        ];
        if !asks_for_a_column.iter().any(|column| sql.contains(column)) {
            assert_eq!(by_status, Vec::<String>::new(), "{sql}");
        }
    }
}

#[test]
fn reading_one_card_or_a_limited_list_scans_no_table() {
    let (_dir, mut board) = board();
    let id = board
        .create(&NewTask {
            assignee: Some(crate::model::Assignee::parse("coder").unwrap()),
            ..NewTask::titled("x")
        })
        .unwrap()
        .task
        .id;
    let statements = noted(|| {
        board.show(&id, None).unwrap();
        crate::worker_context(&board, &id, &crate::ContextOptions::default()).unwrap();
        board.latest_summaries(std::slice::from_ref(&id)).unwrap();
        board
            .events(&EventQuery {
                after: 5,
                ..EventQuery::default()
            })
            .unwrap();
        board
            .events(&EventQuery {
                task: Some(id.clone()),
                ..EventQuery::default()
            })
            .unwrap();
        board.latest_event_id().unwrap();
    });
    for sql in &statements {
        // The newest event is found at the end of the table, without a walk.
        if sql.contains("max(id) FROM task_events") && !sql.contains("task_id") {
            continue;
        }
        assert_eq!(walks(&board, sql), Vec::<String>::new(), "{sql}");
    }
    let first = noted(|| {
        let query = ListQuery {
            limit: Some(50),
            ..ListQuery::default()
        };
        board.each_task(&query, &mut |_| Ok(())).unwrap();
    });
    let lists: Vec<&String> = first.iter().filter(|sql| sql.contains("LIMIT ?")).collect();
    assert_eq!(lists.len(), 2);
    for sql in lists {
        let walked = walks(&board, sql);
        assert!(
            walked
                .iter()
                .all(|step| step.contains("hermes_tasks_priority")),
            "{walked:?}"
        );
        let steps = steps(&board, sql).join(", ");
        assert!(!steps.contains("B-TREE"), "{steps}");
    }
}

#[test]
fn a_list_goes_around_many_archived_cards() {
    let (_dir, mut board) = board();
    let first = board.create(&NewTask::titled("first")).unwrap().task.id;
    let urgent = NewTask {
        priority: 1,
        ..NewTask::titled("urgent")
    };
    let urgent = board.create(&urgent).unwrap().task.id;
    board
        .file_connection()
        .execute(
            "WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 1001)
             INSERT INTO tasks (id, title, status, priority, created_at)
             SELECT printf('t_%08x', n), 'old', 'archived', 9, 1 FROM n",
            [],
        )
        .unwrap();
    let mut listed = Vec::new();
    let noted = noted(|| {
        let query = ListQuery {
            limit: Some(50),
            ..ListQuery::default()
        };
        board
            .each_task(&query, &mut |card| {
                listed.push(card.task.id);
                Ok(())
            })
            .unwrap();
    });
    assert_eq!(listed, [urgent, first]);
    for sql in noted.iter().filter(|sql| sql.contains("FROM tasks t")) {
        assert_eq!(walks(&board, sql), Vec::<String>::new(), "{sql}");
    }
}
