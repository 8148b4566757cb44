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
pub(crate) struct Terms {
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
    pub(crate) fn of(board: &Board, context: &Arc<Context>) -> Option<Self> {
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
    /// A connection to this board under these terms. Closes those that nobody may use any more: a file
    /// is looked at closely when it is opened only while this process has no connection to it.
    pub(crate) fn take(
        &self,
        board: &Board,
        asked: Option<&Terms>,
    ) -> Option<(StoredBoard, Terms)> {
        let mut all = self.all();
        let is_of_board = |store: &StoredBoard| store.board() == board;
        let are_met = |terms: &Terms| asked.is_some_and(|asked| terms.are_met(asked));
        all.retain(|(store, terms)| {
            terms.opened.elapsed() < LIFETIME && (!is_of_board(store) || are_met(terms))
        });
        let found = all.iter().position(|(store, _)| is_of_board(store))?;
        Some(all.swap_remove(found))
    }

    /// Keeps a connection through which nothing went wrong.
    pub(crate) fn put(&self, store: StoredBoard, terms: Terms) {
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

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests change files directly")]
mod tests {
    use hermes_board::boards::BoardHome;
    use hermes_board::model::TaskId;
    use hermes_board::store::{BoardStore as _, NewTask};
    use hermes_board::{BoardOptions, ListQuery};
    use hermes_config::{Environment, vars};
    use hermes_home::{SystemFacts, select};
    use hermes_runtime::Program;
    use pretty_assertions::assert_eq;

    use super::*;

    struct World {
        _home: tempfile::TempDir,
        context: Arc<Context>,
        board: Board,
        kept: KeptBoards,
    }

    impl World {
        fn new() -> Self {
            let home = tempfile::tempdir().unwrap();
            let env =
                Environment::from_pairs::<&str, &str>([]).with(&vars::HERMES_HOME, home.path());
            let system = SystemFacts::of_process();
            let selection = select(&[], &env, &system).unwrap();
            let context = Context::new(&env, system, &selection, Program::named("hermes"));
            let boards = BoardHome::resolve(&context.env, &context.location);
            let board = boards.select(None).unwrap();
            drop(StoredBoard::open(&board, &BoardOptions::default()).unwrap());
            Self {
                _home: home,
                context: Arc::new(context),
                board,
                kept: KeptBoards::default(),
            }
        }

        /// The terms of now, as soon as the file can be told from a later one.
        fn terms(&self) -> Terms {
            loop {
                if let Some(terms) = Terms::of(&self.board, &self.context) {
                    return terms;
                }
                std::thread::yield_now();
            }
        }

        fn keep_one(&self) {
            let terms = self.terms();
            let store = StoredBoard::open(&self.board, &BoardOptions::default()).unwrap();
            self.kept.put(store, terms);
        }

        /// A kept connection, if one may be used now.
        fn take(&self) -> Option<(StoredBoard, Terms)> {
            self.kept.take(&self.board, Some(&self.terms()))
        }
    }

    fn ids(store: &StoredBoard) -> Vec<TaskId> {
        let cards = store.list(&ListQuery::default()).unwrap();
        cards.into_iter().map(|card| card.id).collect()
    }

    #[test]
    fn a_kept_connection_shows_at_once_what_others_write() {
        let world = World::new();
        world.keep_one();
        let (store, terms) = world.take().unwrap();
        assert_eq!(ids(&store), []);
        world.kept.put(store, terms);
        let mut other = StoredBoard::open(&world.board, &BoardOptions::default()).unwrap();
        let created = other.create(&NewTask::titled("new")).unwrap();
        let (store, _) = world.take().unwrap();
        assert_eq!(ids(&store), [created.task.id]);
    }

    #[test]
    fn a_file_that_was_exchanged_or_written_to_is_opened_again() {
        let world = World::new();
        world.keep_one();
        let copy = world.board.database.with_extension("copy");
        std::fs::copy(&world.board.database, &copy).unwrap();
        std::fs::rename(&copy, &world.board.database).unwrap();
        assert!(world.take().is_none());
        world.keep_one();
        // What damages a file leaves it where it is.
        let bytes = std::fs::read(&world.board.database).unwrap();
        std::fs::write(&world.board.database, bytes).unwrap();
        assert!(world.take().is_none());
        world.keep_one();
        std::fs::remove_file(&world.board.database).unwrap();
        assert!(world.take().is_none());
        assert!(world.kept.all().is_empty());
    }

    #[test]
    fn a_file_that_was_written_to_just_now_is_opened_without_a_connection_beside() {
        let world = World::new();
        world.keep_one();
        let bytes = std::fs::read(&world.board.database).unwrap();
        std::fs::write(&world.board.database, bytes).unwrap();
        let asked = Terms::of(&world.board, &world.context);
        assert!(world.kept.take(&world.board, asked.as_ref()).is_none());
        assert!(world.kept.all().is_empty());
    }

    #[test]
    fn a_connection_of_other_settings_or_another_board_is_not_used() {
        let world = World::new();
        world.keep_one();
        let other_settings = Arc::new(world.context.with_env(world.context.env.clone()));
        let asked = Terms::of(&world.board, &other_settings).unwrap();
        assert!(world.kept.take(&world.board, Some(&asked)).is_none());
        world.keep_one();
        let mut other = world.board.clone();
        other.database = other.database.with_extension("other");
        assert!(world.kept.take(&other, Some(&world.terms())).is_none());
        assert!(world.take().is_some());
    }

    #[test]
    fn a_few_connections_are_kept_and_all_are_closed_at_rest() {
        let world = World::new();
        for _ in 0..MOST_KEPT + 2 {
            world.keep_one();
        }
        assert_eq!(world.kept.all().len(), MOST_KEPT);
        world.kept.close();
        assert!(world.take().is_none());
    }
}
