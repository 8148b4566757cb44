//! The signs of life that a dispatcher gives to the boards it shares with other machines.
//!
//! An entry is written when it is new or changed. After that a board on a server gets a heartbeat with a
//! tick, a few times a minute at most; a board in a file gets none, because the lock of the dispatcher
//! says the same there.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::boards::Board;
use crate::store::Applied;
use crate::{BoardOptions, HostEntry, Result, StoredBoard};

/// Shortest time between two heartbeats.
const SHORTEST: Duration = Duration::from_secs(15);

/// What each board was told.
#[derive(Debug, Default)]
pub(super) struct HostHeartbeat {
    boards: BTreeMap<PathBuf, Told>,
}

#[derive(Debug)]
struct Told {
    board: Board,
    entry: HostEntry,
    at: Instant,
}

impl HostHeartbeat {
    /// Seconds within which a dispatcher that ticks so often gives the next sign.
    pub(super) fn seconds(interval: Duration) -> i64 {
        i64::try_from(interval.max(SHORTEST).as_secs()).unwrap_or(i64::MAX)
    }

    /// Gives a sign of life, if one is due.
    pub(super) fn give(&mut self, store: &mut StoredBoard, entry: HostEntry) -> Result<()> {
        let board = store.board();
        let key = board.database.clone();
        let told = self.boards.get(&key);
        let told = told.filter(|told| told.board == *board);
        let again = told.is_some_and(|told| told.entry.id == entry.id);
        match told.filter(|told| told.entry == entry) {
            Some(_) if !store.is_on_server() => return Ok(()),
            Some(told) if told.at.elapsed() < SHORTEST => return Ok(()),
            // Gone: somebody forgot this host. Somebody else's: registering says so.
            Some(_) => {
                if store.beat_host(&entry.id, &entry.origin)? == Applied::LostRace {
                    store.register_host(&entry, again)?;
                }
            }
            // Most ticks of a command that ticks once find a file as they left it.
            None if !store.is_on_server() && store.knows_host(&entry)? => {}
            None => store.register_host(&entry, again)?,
        }
        let board = store.board().clone();
        let at = Instant::now();
        self.boards.insert(key, Told { board, entry, at });
        Ok(())
    }

    /// Says good-bye to the boards on servers.
    pub(super) fn end(&mut self, options: &BoardOptions) {
        for told in std::mem::take(&mut self.boards).into_values() {
            if told.board.server.is_none() {
                continue;
            }
            let left = StoredBoard::open(&told.board, options)
                .and_then(|mut store| store.leave_host(&told.entry.id, &told.entry.origin));
            if let Err(error) = left {
                // The others notice the missing heartbeats.
                tracing::debug!(%error, "could not tell a board that this host leaves");
            }
        }
    }
}
