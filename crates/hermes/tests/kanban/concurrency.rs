//! Many processes at one board.

use std::collections::BTreeSet;
use std::thread;

use pretty_assertions::assert_eq;

use crate::{Desk, assert_sound};

// check 7
#[test]
fn one_idempotency_key_gives_one_card() {
    let desk = Desk::new();
    let ids: Vec<String> = thread::scope(|scope| {
        let calls: Vec<_> = (0..16)
            .map(|_| {
                let desk = &desk;
                scope.spawn(move || desk.create("x", &["--idempotency-key", "K"]))
            })
            .collect();
        calls.into_iter().map(|call| call.join().unwrap()).collect()
    });
    assert_eq!(ids.len(), 16);
    let distinct: BTreeSet<&String> = ids.iter().collect();
    assert_eq!(distinct.len(), 1, "{ids:?}");
    assert_eq!(desk.count("SELECT count(*) FROM tasks"), 1);
    assert_eq!(desk.count("SELECT count(*) FROM task_events"), 1);
}

// check 9
#[test]
fn concurrent_creates_lose_no_card() {
    const PROCESSES: usize = 8;
    const CARDS: usize = 150;
    let desk = Desk::new();
    thread::scope(|scope| {
        for process in 0..PROCESSES {
            let desk = &desk;
            scope.spawn(move || {
                for card in 0..CARDS {
                    let title = format!("{process}-{card}");
                    let outcome = desk.kanban(&["create", &title]);
                    outcome.succeeds().says("").prints_part("Created t_");
                }
            });
        }
    });
    assert_eq!(desk.count("SELECT count(*) FROM tasks"), 1200);
    assert_eq!(desk.count("SELECT count(DISTINCT title) FROM tasks"), 1200);
    assert_eq!(
        desk.count("SELECT count(*) FROM task_events WHERE kind = 'created'"),
        1200
    );
    assert_sound(&desk.database());
}
