//! Moving a board with all its history from a file to a server, back, or to another server.
//!
//! Both sides are locked from the first row to the switch, which is one key of `board.json`. In this
//! order: the copy is checked and committed, what is left behind is marked as moved away, the key is
//! written. Whoever is killed in between leaves the old board in force: a mark that `board.json` does
//! not confirm is taken off by the next opening, and a copy that nobody switched to is replaced by the
//! next try.

mod notes;
mod rows;
mod side;

use std::time::{Duration, Instant};

use hermes_board_pg::{self as pg, Durability, SchemaState};
use serde::Serialize;

use crate::boards::{Board, BoardHome, BoardServer, BoardSlug, MetadataChange, TickLock};
use crate::move_error::{BadValue, MoveError};
use crate::sqlite::connection::SqliteStatements;
use crate::sqlite::server::ServerStatements;
use crate::sqlite::{BoardOptions, Engine, StoredBoard};
use crate::{Error, Result};

use notes::{Note, NoteKind};
pub(super) use notes::{refuse_moved, settle_file, settle_server};
use rows::{Copied, TablePlan};
use side::Side;

/// How long a tick of a dispatcher is waited for.
const TICK: Duration = Duration::from_secs(30);
/// Pause between two looks at who still works.
const PAUSE: Duration = Duration::from_millis(200);

/// How a board is moved.
#[derive(Debug, Clone)]
pub struct MoveRequest {
    pub slug: BoardSlug,
    /// What `database` in `board.json` will say: an address, or `sqlite`.
    pub to: String,
    /// Looks and checks, and changes nothing.
    pub is_dry_run: bool,
    /// How long to wait for workers to end.
    pub worker_timeout: Duration,
}

/// What becomes of the files of a board that moves.
#[derive(Debug, Clone, Copy)]
pub struct MoveFiles {
    /// Brings those of the old board to this machine.
    pub bring: fn(&StoredBoard) -> Result<()>,
    /// Puts those of this machine where the new board has them; names what is missing.
    pub settle: fn(&Board, &BoardOptions) -> Vec<String>,
}

/// How far a move is.
#[derive(Debug, Clone, Copy)]
pub struct Progress<'a> {
    pub step: MoveStep,
    pub table: &'a str,
    pub rows: u64,
}

/// What a move is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MoveStep {
    /// Waiting for workers to end.
    Waiting,
    /// Reading what is to be moved.
    Checking,
    Copying,
    /// Reading what was copied.
    Verifying,
}

/// What was moved, or would be.
#[derive(Debug, Clone, Serialize)]
pub struct MoveReport {
    pub board: BoardSlug,
    pub from: String,
    pub to: String,
    /// Whether the board is in its new place now.
    pub moved: bool,
    pub tables: Vec<TableReport>,
    /// Tables and columns that the new place does not have.
    pub left_out: Vec<String>,
    /// Where an earlier board in the new place was kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub set_aside: Option<String>,
}

/// One table of a move.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TableReport {
    pub table: String,
    pub rows: u64,
    /// The same for the same rows in any order.
    pub checksum: String,
}

impl BoardHome {
    /// Moves a board. `progress` is called now and then.
    pub fn move_board(
        &self,
        request: &MoveRequest,
        options: &BoardOptions,
        progress: &mut dyn FnMut(Progress<'_>),
        files: &MoveFiles,
    ) -> Result<MoveReport> {
        let board = self.must_move(request)?;
        let server = self.server_at(&request.slug, &request.to);
        if let Some(server) = &server {
            server.place().map_err(MoveError::from)?;
        }
        let target = Board {
            server,
            ..board.clone()
        };
        let mut report = MoveReport {
            board: request.slug.clone(),
            from: board.shown_database(),
            to: target.shown_database(),
            moved: false,
            tables: Vec::new(),
            left_out: Vec::new(),
            set_aside: None,
        };
        if target.server == board.server {
            return Ok(report);
        }
        // Opened before the lock is taken: what an earlier try left is cleared away under that lock.
        let mut source = StoredBoard::open(&board, options)?;
        let _lock = tick_lock(&board)?;
        let mut moving = Moving {
            home: self,
            request,
            board: &board,
            target: &target,
            options,
            progress,
        };
        moving.refuse_occupied()?;
        source.begin_turn()?;
        let moved = moving
            .wait_for_workers(&source)
            .and_then(|()| {
                if request.is_dry_run {
                    Ok(())
                } else {
                    (files.bring)(&source)
                }
            })
            .and_then(|()| moving.run(&mut source, &mut report));
        source.end_turn();
        moved?;
        if report.moved {
            report.left_out.extend((files.settle)(&target, options));
        }
        Ok(report)
    }

    /// The board that a request is about, where no variable pins it to another file.
    fn must_move(&self, request: &MoveRequest) -> Result<Board> {
        if !self.exists(&request.slug) {
            return Err(Error::unknown_board(request.slug.as_str()));
        }
        let board = self.board(&request.slug);
        let selected = self.select(None)?;
        if selected.slug == board.slug
            && (selected.database != board.database || selected.server != board.server)
        {
            return Err(MoveError::Pinned.into());
        }
        Ok(board)
    }
}

/// The lock of dispatchers on this machine.
fn tick_lock(board: &Board) -> Result<TickLock> {
    let deadline = Instant::now() + TICK;
    loop {
        match TickLock::take(board) {
            TickLock::HeldByOther if Instant::now() < deadline => std::thread::sleep(PAUSE),
            TickLock::HeldByOther => return Err(MoveError::Dispatching.into()),
            TickLock::Unavailable(error) => return Err(error.into()),
            held @ TickLock::Held(_) => return Ok(held),
        }
    }
}

/// A move in progress.
struct Moving<'m> {
    home: &'m BoardHome,
    request: &'m MoveRequest,
    board: &'m Board,
    target: &'m Board,
    options: &'m BoardOptions,
    progress: &'m mut dyn FnMut(Progress<'_>),
}

impl Moving<'_> {
    fn run(&mut self, source: &mut StoredBoard, report: &mut MoveReport) -> Result<()> {
        let home = self.home;
        let request = self.request;
        let mut switched_to = None;
        source.locked(|from| {
            refuse_busy(from)?;
            let plans = rows::plan(from, None)?;
            let mut checked = Vec::new();
            for plan in &plans {
                checked.push(self.checked(from, plan)?);
            }
            let bad: Vec<BadValue> = checked.iter().flat_map(|one| one.bad.clone()).collect();
            // A file takes everything that a server has.
            if !bad.is_empty() && self.target.server.is_some() {
                return Err(MoveError::BadValues { bad }.into());
            }
            report.tables = checked.iter().map(Copied::report).collect();
            report.left_out = side::left_tables(from)?;
            if request.is_dry_run {
                return Ok(());
            }
            report.set_aside = self.make_room()?;
            let mut target = StoredBoard::open_as_is(self.target, self.options)?;
            target.locked(|to| {
                let plans = rows::plan(from, Some(to))?;
                for plan in &plans {
                    report.left_out.extend(plan.left_out());
                }
                self.fill(from, to, &plans, &report.tables)
            })?;
            switched_to = Some(target);
            from.mark(&self.note(NoteKind::Moved, None))
        })?;
        let Some(mut target) = switched_to else {
            return Ok(());
        };
        let change = MetadataChange {
            database: Some(request.to.clone()),
            ..MetadataChange::default()
        };
        home.change(&request.slug, &change, self.options.clock.now())?;
        report.moved = true;
        // The next opening does it otherwise.
        if let Err(error) = target.unmark() {
            tracing::debug!(%error, "the mark of the copy stays until the board is opened");
        }
        Ok(())
    }

    /// Replaces what is on the other side by the rows of this one, and reads them back.
    fn fill(
        &mut self,
        from: &Side<'_>,
        to: &Side<'_>,
        plans: &[TablePlan],
        expected: &[TableReport],
    ) -> Result<()> {
        // Somebody may have been faster.
        if !to.is_replaceable(&self.note(NoteKind::Copied, None))? {
            return Err(self.occupied(to.cards()?));
        }
        let tables: Vec<&str> = plans.iter().map(|plan| plan.name).collect();
        to.clear(&tables)?;
        for plan in plans {
            self.report(MoveStep::Copying, plan, 0);
            let copied = rows::copy(from, to, plan, &mut |rows| {
                self.report(MoveStep::Copying, plan, rows);
            })?;
            if plan.is_numbered {
                to.set_sequence(plan.name, from.sequence(plan.name)?)?;
            }
            self.report(MoveStep::Verifying, plan, 0);
            let found = rows::survey(to, plan, &mut |rows| {
                self.report(MoveStep::Verifying, plan, rows);
            })?;
            let wanted = expected.iter().find(|one| one.table == plan.name);
            if found.report() != copied.report()
                || (plan.left_out().is_empty() && wanted != Some(&found.report()))
            {
                return Err(MoveError::Differs {
                    table: plan.name.to_owned(),
                    here: copied.rows,
                    there: found.rows,
                }
                .into());
            }
        }
        let version = to.version()?;
        to.mark(&self.note(NoteKind::Copied, version))
    }

    fn checked(&mut self, from: &Side<'_>, plan: &TablePlan) -> Result<Copied> {
        self.report(MoveStep::Checking, plan, 0);
        rows::survey(from, plan, &mut |rows| {
            self.report(MoveStep::Checking, plan, rows);
        })
    }

    fn report(&mut self, step: MoveStep, plan: &TablePlan, rows: u64) {
        let table = plan.name;
        (self.progress)(Progress { step, table, rows });
    }

    fn note(&self, kind: NoteKind, version: Option<i64>) -> Note {
        Note::new(kind, &self.request.to, self.board, self.target, version)
    }

    fn occupied(&self, cards: i64) -> Error {
        MoveError::Occupied {
            place: self.target.shown_database(),
            cards,
        }
        .into()
    }

    /// Refuses a target with a board of its own, before anything is made there.
    fn refuse_occupied(&self) -> Result<()> {
        let Some(server) = &self.target.server else {
            if !self.target.database.exists() {
                return Ok(());
            }
            let target = StoredBoard::open_as_is(self.target, self.options)?;
            return target.looked(|to| {
                if to.is_replaceable(&self.note(NoteKind::Copied, None))? {
                    Ok(())
                } else {
                    Err(self.occupied(to.cards()?))
                }
            });
        };
        let place = server.place().map_err(pg::Error::from)?;
        match pg::look_at(place)? {
            SchemaState::Nothing | SchemaState::MovedAway => Ok(()),
            SchemaState::Board {
                cards,
                version,
                note,
            } => {
                let own = self.note(NoteKind::Copied, Some(version));
                let is_ours = note.is_some_and(|note| own.is_same_copy(&note));
                if cards == 0 || is_ours {
                    Ok(())
                } else {
                    Err(self.occupied(cards))
                }
            }
        }
    }

    /// Keeps what an earlier move left in the new place under another name; says where.
    fn make_room(&self) -> Result<Option<String>> {
        let at = jiff::Timestamp::now().strftime("%Y%m%d-%H%M%S-%3f");
        let at = at.to_string();
        let Some(server) = &self.target.server else {
            return self.keep_file(&at);
        };
        let place = server.place().map_err(pg::Error::from)?;
        if pg::look_at(place)? != SchemaState::MovedAway {
            return Ok(None);
        }
        let kept = BoardServer::aside(&place.schema, &at);
        pg::set_aside(place, &kept)?;
        Ok(Some(kept))
    }

    /// Copies a file that an earlier move left in the place of the board; says where to.
    fn keep_file(&self, at: &str) -> Result<Option<String>> {
        let database = &self.target.database;
        if !database.exists() {
            return Ok(None);
        }
        let there = StoredBoard::open_as_is(self.target, self.options)?;
        let is_left = there.looked(|side| match side {
            Side::File(file) => {
                let note = notes::read(file.connection, file.path)?;
                Ok(side.cards()? > 0 && note.is_none_or(|note| note.is_moved()))
            }
            Side::Server(_) => Ok(false),
        })?;
        drop(there);
        if !is_left {
            return Ok(None);
        }
        let kept = database.with_added_extension(format!("moved-{at}"));
        hermes_store::backup_to(database, &kept)?;
        Ok(Some(kept.display().to_string()))
    }

    fn wait_for_workers(&mut self, source: &StoredBoard) -> Result<()> {
        let deadline = Instant::now() + self.request.worker_timeout;
        loop {
            let busy = source.looked(refuse_busy);
            let is_busy = matches!(
                busy,
                Err(Error::Move(ref error)) if matches!(**error, MoveError::Busy { .. })
            );
            // A look changes nothing, whoever works.
            if !is_busy || self.request.is_dry_run || Instant::now() >= deadline {
                return busy;
            }
            (self.progress)(Progress {
                step: MoveStep::Waiting,
                table: "",
                rows: 0,
            });
            std::thread::sleep(PAUSE);
        }
    }
}

/// Refuses a board on which somebody works.
fn refuse_busy(from: &Side<'_>) -> Result<()> {
    let mut busy = Vec::new();
    let sql = "SELECT id, COALESCE(claim_lock, '') FROM tasks WHERE status = 'running' ORDER BY id";
    from.each(sql, &[], |row| {
        let (id, lock): (String, String) = (row.get(0)?, row.get(1)?);
        busy.push(match lock.as_str() {
            "" => id,
            lock => format!("{id} ({lock})"),
        });
        Ok(())
    })?;
    let sql = "SELECT task_id, checker FROM task_check_sessions WHERE state = 'pending'
               ORDER BY task_id";
    from.each(sql, &[], |row| {
        let (id, checker): (String, String) = (row.get(0)?, row.get(1)?);
        busy.push(format!("the checks of {id} ({checker})"));
        Ok(())
    })?;
    if busy.is_empty() {
        Ok(())
    } else {
        Err(MoveError::Busy { busy }.into())
    }
}

impl StoredBoard {
    /// Runs `work` while nobody else can write, whatever is noted about a move.
    fn locked<T>(&mut self, work: impl FnOnce(&Side<'_>) -> Result<T>) -> Result<T> {
        let path = &self.board.database;
        match &mut self.engine {
            Engine::File(file) => {
                let done = file
                    .database
                    .write(|connection| work(&Side::File(SqliteStatements { connection, path })));
                file.damage.watch(done)
            }
            Engine::Server(server) => server.write(Durability::Forced, |connection| {
                connection.begin_copy()?;
                work(&Side::Server(ServerStatements(connection)))
            }),
        }
    }

    /// Removes the note that this is a copy.
    fn unmark(&mut self) -> Result<()> {
        self.locked(|side| match side {
            Side::File(file) => notes::unmark(file.connection, file.path),
            Side::Server(server) => Ok(server.0.note(None)?),
        })
    }

    /// Runs a few queries, whatever is noted about a move.
    fn looked<T>(&self, work: impl FnOnce(&Side<'_>) -> Result<T>) -> Result<T> {
        let path = &self.board.database;
        match &self.engine {
            Engine::File(file) => {
                let connection = file.database.connection();
                work(&Side::File(SqliteStatements { connection, path }))
            }
            Engine::Server(server) => {
                server.look(|connection| work(&Side::Server(ServerStatements(connection))))
            }
        }
    }
}
