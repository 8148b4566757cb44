//! A worker that lost its card cannot write any more, whatever it tries.

use hermes_board::model::{RunId, Status, TaskId, Termination};
use hermes_board::store::{
    Applied, BlockRequest, BoardStore, Completion, NewAttachment, ScheduleRequest,
};
use hermes_board::{Error, Result, StoredBoard, WorkerVariables};
use hermes_config::Environment;
use pretty_assertions::assert_eq;

use crate::{Fixture, card, claim, file, status};

/// The connection of the worker of an attempt.
fn worker_board(fixture: &Fixture, task: &TaskId, run: RunId) -> StoredBoard {
    let run = run.to_string();
    let variables = Environment::from_pairs([
        ("HERMES_KANBAN_TASK", task.as_str()),
        ("HERMES_KANBAN_RUN_ID", run.as_str()),
        ("HERMES_KANBAN_CLAIM_LOCK", "host:1"),
    ]);
    let mut board = fixture.open();
    board.fence(WorkerVariables::read(&variables).as_ref());
    board
}

/// An attachment whose file lies where the board has its own.
fn attachment(board: &StoredBoard, id: &TaskId) -> NewAttachment {
    let directory = board.board().attachments.join(id.as_str());
    std::fs::create_dir_all(&directory).unwrap();
    let stored_path = directory.canonicalize().unwrap().join("a.txt");
    std::fs::write(&stored_path, "a").unwrap();
    NewAttachment {
        filename: "a.txt".to_owned(),
        stored_path,
        content_type: None,
        size: 1,
        uploaded_by: None,
        content: None,
    }
}

/// Everything that a worker can write, by tool or by command.
type Attempted = (
    &'static str,
    fn(&mut StoredBoard, &TaskId, RunId) -> Result<()>,
);

const WRITES: [Attempted; 11] = [
    ("comment", |board, id, _| {
        board.add_comment(id, "w", "text").map(drop)
    }),
    ("comment elsewhere", |board, _, _| {
        let others = board.list(&hermes_board::ListQuery::default())?;
        board.add_comment(&others[0].id, "w", "text").map(drop)
    }),
    ("create", |board, _, _| {
        board.create(&card("more")).map(drop)
    }),
    ("attach", |board, id, _| {
        let new = attachment(board, id);
        board.record_attachment(id, &new).map(drop)
    }),
    ("remove an attachment", |board, _, _| {
        board.forget_attachment(1).map(drop)
    }),
    ("link", |board, id, _| {
        let child = TaskId::new("t_00000002");
        board.link(id, &child).map(drop)
    }),
    ("heartbeat", |board, id, run| {
        board.heartbeat(id, None, Some(run))
    }),
    // All workers of one machine may have the same lock.
    ("extend the claim", |board, id, _| {
        match board.extend_own_claim(id, "host:1", 900)? {
            Applied::Yes => Ok(()),
            Applied::LostRace => Err(Error::BadRequest("lost".to_owned())),
        }
    }),
    ("complete", |board, id, run| {
        let completion = Completion {
            expected_run: Some(run),
            ..Completion::default()
        };
        board.complete(id, &completion).map(drop)
    }),
    ("block", |board, id, run| {
        let request = BlockRequest {
            task: id.clone(),
            reason: None,
            kind: None,
            expected_run: Some(run),
        };
        board.block(&request).map(drop)
    }),
    ("schedule", |board, id, run| {
        let request = ScheduleRequest {
            task: id.clone(),
            reason: None,
            at: None,
            expected_run: Some(run),
        };
        board.schedule(&request)
    }),
];

#[test]
fn a_worker_that_lost_its_claim_can_write_nothing() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    let id = file(&mut board, &card("work"));
    file(&mut board, &card("other"));
    let new = attachment(&board, &id);
    board.record_attachment(&id, &new).unwrap();
    let run = claim(&mut board, &id);
    let mut stale = worker_board(&fixture, &id, run);
    let reclaimed = board.reclaim(&id, Some("host:1"), None, Termination::default());
    assert_eq!(reclaimed.unwrap(), Applied::Yes);
    let rows = || {
        ["task_events", "task_comments", "tasks", "task_attachments"]
            .map(|table| fixture.count(table))
    };
    // While the card is free, and while the next worker has it.
    for next in [None, Some(())] {
        let next = next.map(|()| claim(&mut board, &id));
        let before = (rows(), board.task(&id).unwrap());
        for (what, write) in WRITES {
            let refused = write(&mut stale, &id, run);
            assert!(refused.is_err(), "{what} with {next:?}");
        }
        assert_eq!((rows(), board.task(&id).unwrap()), before);
    }
    let refused = stale.add_comment(&id, "w", "text").unwrap_err();
    assert_eq!(
        refused.to_string(),
        format!("cannot work on {id}: attempt 1 is over, attempt 2 is in progress")
    );
    assert!(matches!(refused, Error::StaleRun { .. }));
}

#[test]
fn a_worker_with_its_claim_can_write_everything() {
    for (what, write) in WRITES {
        let fixture = Fixture::new();
        let mut board = fixture.open();
        let id = file(&mut board, &card("work"));
        file(&mut board, &card("other"));
        let new = attachment(&board, &id);
        board.record_attachment(&id, &new).unwrap();
        let run = claim(&mut board, &id);
        let mut own = worker_board(&fixture, &id, run);
        write(&mut own, &id, run).unwrap_or_else(|error| panic!("{what}: {error}"));
    }
}

#[test]
fn a_worker_that_completed_its_card_may_still_comment_until_somebody_else_works_on_it() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    let id = file(&mut board, &card("work"));
    let run = claim(&mut board, &id);
    let mut own = worker_board(&fixture, &id, run);
    let request = BlockRequest {
        task: id.clone(),
        reason: Some("a question".to_owned()),
        kind: None,
        expected_run: Some(run),
    };
    own.block(&request).unwrap();
    own.add_comment(&id, "w", "what I found").unwrap();
    assert_eq!(board.unblock(&id).unwrap(), Status::Ready);
    claim(&mut board, &id);
    assert!(own.add_comment(&id, "w", "too late").is_err());
    assert_eq!(status(&board, &id), Status::Running);
}

/// Before a claim is forced to the disk, a server that fails may give its number to somebody else.
#[test]
fn a_workspace_is_recorded_only_for_whoever_claimed_the_card() {
    use hermes_board::store::{Claimant, ResolvedWorkspace};
    let fixture = Fixture::new();
    let mut board = fixture.open();
    let id = file(&mut board, &card("work"));
    let run = claim(&mut board, &id);
    let workspace = ResolvedWorkspace {
        path: "/work".into(),
        branch: None,
        base: None,
    };
    let mut recorded = |lock: &str, host: Option<&str>| {
        let claimant = Claimant { run, lock, host };
        board.record_workspace(&id, claimant, &workspace).unwrap()
    };
    assert_eq!(recorded("other:1", None), Applied::LostRace);
    assert_eq!(recorded("host:1", Some("id-2")), Applied::LostRace);
    assert_eq!(recorded("host:1", None), Applied::Yes);
}
