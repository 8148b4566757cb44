//! Many at once: threads on connections of their own, and processes, some of which die.

use std::collections::HashSet;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::Barrier;

use hermes_board::model::{Status, Task, TaskId};
use hermes_board::store::{BoardStore, ClaimCaps, ClaimFrom, ClaimRequest, Completion};
use hermes_board::{ListQuery, StoredBoard};
use hermes_store::{Integrity, integrity_check};
use pretty_assertions::assert_eq;

use crate::{Fixture, card, exited, file, process, task};

fn start(action: &str, root: &Path, number: usize) -> Child {
    process(action, root)
        .arg(number.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Runs so many processes at once; gives the ids each printed.
fn run_all(action: &str, root: &Path, count: usize) -> Vec<Vec<String>> {
    let children: Vec<Child> = (0..count)
        .map(|number| start(action, root, number))
        .collect();
    children
        .into_iter()
        .map(|child| {
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success(), "a process failed");
            String::from_utf8(output.stdout)
                .unwrap()
                .lines()
                .map(|line| line.strip_prefix("id ").unwrap().to_owned())
                .collect()
        })
        .collect()
}

/// A server checks its own files.
pub(crate) fn assert_sound(fixture: &Fixture) {
    if fixture.database.is_some() {
        return;
    }
    assert_eq!(
        integrity_check(&fixture.board().database).unwrap(),
        Integrity::Sound
    );
}

#[test]
fn sixteen_processes_with_one_key_create_one_card() {
    let fixture = Fixture::new();
    let printed = run_all("same-key", fixture.dir.path(), 16);
    let ids: HashSet<&String> = printed.iter().flatten().collect();
    assert_eq!(printed.iter().flatten().count(), 16);
    assert_eq!(ids.len(), 1, "{ids:?}");
    assert_eq!(fixture.open().list(&ListQuery::default()).unwrap().len(), 1);
}

#[test]
fn eight_processes_claim_each_of_a_hundred_cards_once() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    for number in 0..100 {
        file(&mut board, &card(&format!("card {number}")));
    }
    let claimed = run_all("claim", fixture.dir.path(), 8);
    let all: Vec<&String> = claimed.iter().flatten().collect();
    assert_eq!(all.len(), 100);
    assert_eq!(all.iter().collect::<HashSet<_>>().len(), 100);
    let snapshot = board.snapshot(2).unwrap();
    assert_eq!(snapshot.running.len(), 100);
    let runs: HashSet<_> = snapshot.running.iter().map(|work| work.claim.run).collect();
    assert_eq!(runs.len(), 100);
    drop(board);
    assert_sound(&fixture);
}

#[test]
fn eight_processes_create_a_hundred_and_fifty_cards_each() {
    let fixture = Fixture::new();
    run_all("create", fixture.dir.path(), 8);
    let tasks = fixture.open().list(&ListQuery::default()).unwrap();
    assert_eq!(tasks.len(), 1200);
    let titles: HashSet<&str> = tasks.iter().map(|task| task.title.as_str()).collect();
    assert_eq!(titles.len(), 1200);
    assert_sound(&fixture);
}

#[test]
fn killed_at_any_write_no_card_is_half_changed() {
    let mut furthest = 0;
    for die_at in 1..40 {
        let fixture = Fixture::new();
        // The file exists: only changes of cards are interrupted here.
        drop(fixture.open());
        let status = process("life", fixture.dir.path())
            .arg(die_at.to_string())
            .status()
            .unwrap();
        let board = fixture.open();
        consistent(&board);
        let tasks = board.list(&ListQuery::default()).unwrap();
        let words: Vec<&str> = tasks.iter().map(Task::status_word).collect();
        let step = match words.as_slice() {
            [] => 0,
            ["ready"] => 1,
            ["ready", "todo"] | ["todo", "ready"] => 2,
            ["running", "todo"] | ["todo", "running"] => 3,
            // Done and promoted come together.
            ["done", "ready"] | ["ready", "done"] => 4,
            ["done", "running"] | ["running", "done"] => 5,
            other => panic!("{other:?}"),
        };
        assert!(step >= furthest, "killed at {die_at}: {words:?}");
        furthest = step;
        drop(board);
        assert_sound(&fixture);
        if status.success() {
            assert_eq!(furthest, 5);
            return;
        }
    }
    panic!("the life of two cards has fewer writes than that");
}

/// What must hold of every card, whoever wrote last.
pub(crate) fn consistent(board: &StoredBoard) {
    let all = ListQuery {
        include_archived: true,
        ..ListQuery::default()
    };
    for task in board.list(&all).unwrap() {
        let runs = board.runs(&task.id, None).unwrap();
        let open: Vec<_> = runs.iter().filter(|run| run.ended_at.is_none()).collect();
        let running = task.status() == Status::Running;
        assert_eq!(open.len(), usize::from(running), "{task:?}");
        assert_eq!(
            task.current_run_id,
            open.first().map(|run| run.id),
            "{task:?}"
        );
        assert_eq!(task.claim_lock.is_some(), running, "{task:?}");
        if task.status() == Status::Ready {
            for parent in board.parents(&task.id).unwrap() {
                let parent = self::task(board, &parent);
                assert!(parent.status().satisfies_children(), "{task:?}");
            }
        }
    }
}

#[test]
fn concurrent_operations_leave_a_consistent_board() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    let ids: Vec<TaskId> = (0..12)
        .map(|number| file(&mut board, &card(&format!("card {number}"))))
        .collect();
    let threads = 6;
    let barrier = Barrier::new(threads);
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (ids, barrier) = (&ids, &barrier);
            let mut board = fixture.open();
            scope.spawn(move || {
                barrier.wait();
                for round in 0..60_usize {
                    let id = &ids[(round * 7 + thread * 5) % ids.len()];
                    let other = &ids[(round * 3 + thread + 1) % ids.len()];
                    act(&mut board, (round + thread) % 9, id, other);
                }
            });
        }
    });
    consistent(&board);
    drop(board);
    assert_sound(&fixture);
}

/// One of the things that can be done to a card. Being refused is fine; being wrong is not.
fn act(board: &mut StoredBoard, what: usize, id: &TaskId, other: &TaskId) {
    use hermes_board::model::{Termination, WorkerExit};
    use hermes_board::store::{BlockRequest, FailurePolicy};
    let refused = |result: Result<(), hermes_board::Error>| {
        if let Err(error) = result {
            assert!(
                !error.is_damage() && error.hint() != Some("bug".to_owned()),
                "{error}"
            );
            assert!(!matches!(error, hermes_board::Error::Store(_)), "{error}");
        }
    };
    match what {
        0 => refused(
            board
                .claim(&ClaimRequest {
                    task: id.clone(),
                    lock: "host:9".to_owned(),
                    ttl_seconds: 60,
                    from: ClaimFrom::Ready,
                    dispatcher: None,
                    host: None,
                    caps: ClaimCaps::default(),
                })
                .map(drop),
        ),
        1 => refused(board.complete(id, &Completion::default()).map(drop)),
        2 => refused(
            board
                .block(&BlockRequest {
                    task: id.clone(),
                    reason: Some("r".to_owned()),
                    kind: None,
                    expected_run: None,
                })
                .map(drop),
        ),
        3 => refused(board.unblock(id).map(drop)),
        4 => refused(board.link(other, id).map(drop)),
        5 => refused(board.unlink(other, id).map(drop)),
        6 => refused(
            board
                .reclaim(id, Some("host:9"), None, Termination::default())
                .map(drop),
        ),
        7 => {
            let snapshot = board.snapshot(2).unwrap();
            for work in snapshot.running.iter().take(2) {
                let policy = FailurePolicy::with_limit(3);
                refused(
                    board
                        .end_attempt(
                            &work.card.id,
                            &work.claim,
                            &exited(WorkerExit::Code(1), policy),
                            Termination::default(),
                        )
                        .map(drop),
                );
            }
        }
        _ => {
            refused(board.promote_satisfied(3).map(drop));
            refused(board.unblock(id).map(drop));
        }
    }
}
