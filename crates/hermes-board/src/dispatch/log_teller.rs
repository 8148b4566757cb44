//! Tells other machines what the workers of this one print, once a second and only what is new.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::boards::{Board, BoardSlug};
use crate::files::{log_size, tell_log};
use crate::model::{RunId, TaskId};
use crate::{BoardOptions, Result, StoredBoard};

/// Pause between two looks at the logs.
const PAUSE: Duration = Duration::from_secs(1);

/// The thread that looks at the logs; ends when this is dropped.
#[derive(Debug, Default)]
pub(super) struct LogTeller {
    shared: Option<Arc<Shared>>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    boards: BTreeMap<BoardSlug, Watched>,
    is_over: bool,
}

/// The workers of one board.
#[derive(Debug, Clone)]
struct Watched {
    board: Board,
    running: BTreeMap<TaskId, RunId>,
    /// Workers that ended since the last look: their last words are to be told.
    ended: BTreeMap<TaskId, RunId>,
}

impl Drop for LogTeller {
    fn drop(&mut self) {
        if let Some(shared) = &self.shared {
            shared.locked().is_over = true;
            shared.changed.notify_all();
        }
    }
}

impl Shared {
    fn locked(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LogTeller {
    /// From now on these workers of a board are looked at.
    pub(super) fn watch(
        &mut self,
        board: &Board,
        options: &BoardOptions,
        running: Vec<(TaskId, RunId)>,
    ) {
        if running.is_empty() && self.shared.is_none() {
            return;
        }
        let shared = self.shared.get_or_insert_with(|| start(options.clone()));
        let running: BTreeMap<TaskId, RunId> = running.into_iter().collect();
        let mut state = shared.locked();
        let watched = state.boards.entry(board.slug.clone()).or_insert(Watched {
            board: board.clone(),
            running: BTreeMap::new(),
            ended: BTreeMap::new(),
        });
        let before = std::mem::replace(&mut watched.running, running);
        let gone = before.into_iter();
        let gone = gone.filter(|(task, _)| !watched.running.contains_key(task));
        watched.ended.extend(gone);
        drop(state);
        shared.changed.notify_all();
    }
}

fn start(options: BoardOptions) -> Arc<Shared> {
    let shared = Arc::new(Shared::default());
    let seen = shared.clone();
    let thread = std::thread::Builder::new().name("worker-logs".to_owned());
    let started = thread.spawn(move || run(&seen, &options));
    if let Err(error) = started {
        tracing::warn!(%error, "other machines do not see what workers print");
    }
    shared
}

fn run(shared: &Shared, options: &BoardOptions) {
    let mut sizes: BTreeMap<(BoardSlug, TaskId), u64> = BTreeMap::new();
    loop {
        let mut state = shared.locked();
        let has_work = |state: &State| {
            let mut boards = state.boards.values();
            boards.any(|board| !board.running.is_empty() || !board.ended.is_empty())
        };
        while !state.is_over && !has_work(&state) {
            state = shared
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        if state.is_over {
            return;
        }
        let boards: Vec<Watched> = state.boards.values().cloned().collect();
        for watched in state.boards.values_mut() {
            watched.ended.clear();
        }
        drop(state);
        for watched in &boards {
            // The server may be away: the next look tells what is new then.
            if let Err(error) = tell(watched, options, &mut sizes) {
                tracing::debug!(%error, "what workers print was not told to other machines");
            }
        }
        sizes.retain(|(slug, task), _| {
            let mut boards = boards.iter();
            boards.any(|one| one.board.slug == *slug && one.running.contains_key(task))
        });
        let state = shared.locked();
        if !state.is_over {
            let waited = shared
                .changed
                .wait_timeout_while(state, PAUSE, |state| !state.is_over);
            drop(waited);
        }
    }
}

fn tell(
    watched: &Watched,
    options: &BoardOptions,
    sizes: &mut BTreeMap<(BoardSlug, TaskId), u64>,
) -> Result<()> {
    let Watched {
        board,
        running,
        ended,
    } = watched;
    let mut store = None;
    for (task, run) in ended.iter().chain(running) {
        let Some(size) = log_size(board, task) else {
            continue;
        };
        let key = (board.slug.clone(), task.clone());
        if sizes.get(&key) == Some(&size) {
            continue;
        }
        let store = match &store {
            Some(store) => store,
            None => store.insert(StoredBoard::open(board, options)?),
        };
        tell_log(store, task, *run)?;
        sizes.insert(key, size);
    }
    Ok(())
}
