//! Dispatchers and completions of their own.

use std::path::Path;
use std::time::Duration;

use hermes_board::completion::complete;
use hermes_board::dispatch::{Dispatcher, Step, Tick};
use hermes_board::plan::Limits;
use hermes_board::store::Completion;
use hermes_board::{BoardOptions, ListQuery, StoredBoard, own_lock};
use hermes_proc::Wake;
use rustix::process::{Signal, getpid, kill_process};

use crate::fixture::{completion_setup, home_at, worker_setup};

/// Longer than any test.
const LONG: Duration = Duration::from_mins(5);

/// Completes the only card there is.
pub(crate) fn complete_only_card(root: &Path) {
    let home = home_at(root);
    let board = home.select(None).unwrap();
    let mut store = StoredBoard::open(&board, &BoardOptions::default()).unwrap();
    let id = store.list(&ListQuery::default()).unwrap().remove(0).id;
    let interrupt = Wake::new().unwrap();
    let workers = worker_setup(root);
    let setup = completion_setup(&home, &workers, &board, LONG, &interrupt);
    complete(&mut store, &id, &Completion::default(), &setup).unwrap();
}

/// A dispatcher that is killed after so many steps of its look.
pub(crate) fn dispatch_and_die(root: &Path, steps: u64) {
    let home = home_at(root);
    let board = home.select(None).unwrap();
    let mut store = StoredBoard::open(&board, &BoardOptions::default()).unwrap();
    let mut dispatcher = Dispatcher::new(home, Limits::default(), worker_setup(root));
    let mut tick = Tick::new(Limits::default(), own_lock());
    let mut host = dispatcher.host(&board);
    for _ in 0..steps {
        if tick.step(&mut store, &mut host).unwrap() == Step::Done {
            return;
        }
    }
    kill_process(getpid(), Signal::KILL).unwrap();
}

/// A dispatcher that looks once and stays.
pub(crate) fn dispatch_and_stay(root: &Path) {
    let home = home_at(root);
    let board = home.select(None).unwrap();
    let mut store = StoredBoard::open(&board, &BoardOptions::default()).unwrap();
    let mut dispatcher = Dispatcher::new(home, Limits::default(), worker_setup(root));
    let report = dispatcher.tick(&mut store).unwrap();
    assert_eq!(report.spawned.len(), 1);
    std::thread::sleep(LONG);
}
