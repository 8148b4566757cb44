//! Connections to boards that are kept for the next request: to open one, and to prepare its statements,
//! takes as long as most of what is read through it. What other processes write shows at once, as SQLite
//! looks for it in every transaction.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hermes_board::StoredBoard;
use hermes_board::boards::Board;
use hermes_fs::Version;
use hermes_runtime::Context;

/// Connections that are kept.
const MOST_KEPT: usize = 4;
/// How long one is used: opening looks for damage, and for what a newer program has changed.
const LIFETIME: Duration = Duration::from_secs(5);

/// The kept connections.
#[derive(Default)]
pub(crate) struct KeptBoards(Mutex<Vec<(StoredBoard, Terms)>>);

/// What a connection was opened for; it serves nothing else.
pub(super) struct Terms {
    /// The settings that its options are from.
    context: Arc<Context>,
    /// The file as it was. Changes go to the log beside it first; a file that was exchanged, or written
    /// to by anything, is opened again.
    file: Version,
    opened: Instant,
}

impl Terms {
    /// The terms of a connection that is opened after this; `None` if it is not to be kept: a board on
    /// a server, or a file that has just been written to.
    pub(super) fn of(board: &Board, context: &Arc<Context>) -> Option<Self> {
        if board.server.is_some() {
            return None;
        }
        Some(Self {
            context: Arc::clone(context),
            file: hermes_fs::version(&board.database)?,
            opened: Instant::now(),
        })
    }

    fn are_met(&self, asked: &Self) -> bool {
        Arc::ptr_eq(&self.context, &asked.context)
            && self.file == asked.file
            && self.opened.elapsed() < LIFETIME
    }
}

impl KeptBoards {
    /// A connection to this board under these terms. Closes those that nobody may use any more.
    pub(super) fn take(&self, board: &Board, asked: &Terms) -> Option<(StoredBoard, Terms)> {
        let mut all = self.all();
        let is_of_board = |store: &StoredBoard| store.board() == board;
        all.retain(|(store, terms)| {
            terms.opened.elapsed() < LIFETIME && (!is_of_board(store) || terms.are_met(asked))
        });
        let found = all.iter().position(|(store, _)| is_of_board(store))?;
        Some(all.swap_remove(found))
    }

    /// Keeps a connection through which nothing went wrong.
    pub(super) fn put(&self, store: StoredBoard, terms: Terms) {
        let mut all = self.all();
        if all.len() < MOST_KEPT {
            all.push((store, terms));
        }
    }

    /// Closes all that nobody uses.
    pub(crate) fn close(&self) {
        self.all().clear();
    }

    fn all(&self) -> MutexGuard<'_, Vec<(StoredBoard, Terms)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
