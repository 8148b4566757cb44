//! Where the storm rages, for the test and its processes.

use std::path::PathBuf;

use hermes_board::boards::Board;
use hermes_board::{BoardOptions, StoredBoard};

use crate::fixture::home_at;

/// Most workers at a time.
pub(crate) const AT_ONCE: usize = 16;

/// Numbers that look random and are the same for the same seed.
pub(crate) struct Chance(pub(crate) u64);

impl Chance {
    pub(crate) fn next(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (bits ^ (bits >> 31)) % below
    }
}

/// The directory of the storm.
pub(crate) struct Place(pub(crate) PathBuf);

impl Place {
    pub(crate) fn board(&self) -> Board {
        home_at(&self.0).select(None).unwrap()
    }

    pub(crate) fn open(&self) -> StoredBoard {
        StoredBoard::open(&self.board(), &BoardOptions::default()).unwrap()
    }
}
