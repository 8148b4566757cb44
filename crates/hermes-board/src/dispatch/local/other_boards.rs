//! Cards in progress on the other boards of a home, for a limit that counts over all of them.

use std::collections::BTreeMap;
use std::time::Duration;

use hermes_fs::{FileLock, LockOptions};

use crate::boards::{Board, BoardHome, Listed};
use crate::{BoardOptions, Result, StoredBoard};

/// How long a dispatcher waits for the one that is starting workers on another board.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// The right to start workers on any board of a home: who counts over all boards must be alone from
/// the count to the claim.
#[derive(Debug)]
pub(crate) enum HomeLock {
    Held(#[expect(dead_code, reason = "released when dropped")] FileLock),
    HeldByOther,
}

impl HomeLock {
    pub(crate) fn take(home: &BoardHome) -> Result<Self> {
        let path = home.home_cap_lock();
        if let Some(parent) = path.parent() {
            hermes_fs::create_dir_all(parent, 0o700)?;
        }
        let options = LockOptions {
            timeout: LOCK_TIMEOUT,
            ..LockOptions::new("the dispatcher of another board")
        };
        match FileLock::acquire(&path, &options) {
            Ok(lock) => Ok(Self::Held(lock)),
            Err(hermes_fs::Error::LockTimeout { .. }) => Ok(Self::HeldByOther),
            Err(error) => Err(error.into()),
        }
    }
}

/// Cards in progress on all boards of the home except this one, by assignee. A board that cannot be
/// read counts as idle: its own dispatcher reports it.
pub(super) fn running_elsewhere(own: &Board, home: &BoardHome) -> BTreeMap<String, usize> {
    let mut running = BTreeMap::new();
    let boards = home.list(Listed::All).unwrap_or_else(|error| {
        tracing::warn!(%error, "the other boards were not counted");
        Vec::new()
    });
    for info in boards {
        let board = home.board(&info.slug);
        if board.database == own.database || !board.has_database() {
            continue;
        }
        let counted = StoredBoard::open(&board, &BoardOptions::default())
            .and_then(|store| store.running_by_assignee());
        match counted {
            Ok(counted) => {
                for (assignee, count) in counted {
                    *running.entry(assignee).or_default() += count;
                }
            }
            Err(error) => {
                tracing::warn!(board = info.slug.as_str(), %error, "a board was not counted");
            }
        }
    }
    running
}
