//! A process that outlives Hermes for a moment, to end what Hermes can no longer end.
//!
//! The kernel kills a shell when Hermes dies, but not what the shell has started. One guard per
//! Hermes waits for its end and then kills the trees in a table both share. The table is memory: an
//! entry costs one write and wakes nobody.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::Path;
use std::sync::{Arc, Mutex};

use hermes_proc::{Child, KillTiming, ProcessTree, kill_tree};

use super::frame::Frame;
use super::link::Link;
use super::start::start_helper;
use crate::lock::lock;
use crate::shell::memory_file::{empty_memory_file, out_of_the_way};

/// Commands that can be looked after at once; more than that run without a guard.
const SLOTS: usize = 512;
const MARK: usize = 16;
/// Start time, pid and mark, with room to spare.
const SLOT: usize = 32;

/// The side of Hermes.
#[derive(Debug)]
pub struct CrashGuard {
    table: OwnedFd,
    is_taken: Mutex<Vec<bool>>,
    _link: Link,
    _process: Child,
}

impl CrashGuard {
    /// Starts the guard, with the command line that supervises background processes.
    pub fn start(supervisor: &[OsString]) -> io::Result<Self> {
        let table = empty_memory_file(SLOTS * SLOT)?;
        let shared = out_of_the_way(table.as_fd())?;
        let number = shared.as_raw_fd().unsigned_abs();
        let started = start_helper(supervisor, vec![shared]);
        let (process, mut link) = started.map_err(io::Error::other)?;
        link.send_now(&Frame::Guard(number))?;
        Ok(Self {
            table,
            is_taken: Mutex::new(vec![false; SLOTS]),
            _link: link,
            _process: process,
        })
    }

    /// Looks after everything that carries a mark, for as long as the answer lives. Asked for before
    /// anything is started: afterwards we may be killed before we get to it.
    pub(crate) fn guard_processes(&self, mark: &str) -> Option<Guarded<'_>> {
        let slot = self.take_slot(mark)?;
        Some(Guarded { guard: self, slot })
    }

    /// The same for processes that outlive the caller's frame.
    pub fn guard_for_long(self: &Arc<Self>, mark: &str) -> Option<LongGuarded> {
        let slot = self.take_slot(mark)?;
        let guard = Arc::clone(self);
        Some(LongGuarded { guard, slot })
    }

    fn take_slot(&self, mark: &str) -> Option<usize> {
        let slot = {
            let mut is_taken = lock(&self.is_taken);
            let slot = is_taken.iter().position(|taken| !taken)?;
            *is_taken.get_mut(slot)? = true;
            slot
        };
        let tree = ProcessTree {
            leader: 0,
            start_time: 0,
            mark: mark.to_owned(),
            supervisor: None,
            leader_is_ours: false,
        };
        self.write(slot, &encode(&tree));
        Some(slot)
    }

    fn free_slot(&self, slot: usize) {
        self.write(slot, &[0; SLOT]);
        if let Some(taken) = lock(&self.is_taken).get_mut(slot) {
            *taken = false;
        }
    }

    fn write(&self, slot: usize, bytes: &[u8; SLOT]) {
        // The file is memory and large enough: there is nothing that could fail.
        let _: Result<usize, _> = rustix::io::pwrite(&self.table, bytes, (slot * SLOT) as u64);
    }
}

/// Processes that end with us. Dropped, they may go on.
#[derive(Debug)]
pub struct Guarded<'a> {
    guard: &'a CrashGuard,
    slot: usize,
}

impl Guarded<'_> {
    /// The leader is known now: whoever lost the mark is found by it.
    pub(crate) fn has_started(&self, tree: &ProcessTree) {
        self.guard.write(self.slot, &encode(tree));
    }
}

impl Drop for Guarded<'_> {
    fn drop(&mut self) {
        self.guard.free_slot(self.slot);
    }
}

/// Processes that end with us, for as long as this lives.
#[derive(Debug)]
pub struct LongGuarded {
    guard: Arc<CrashGuard>,
    slot: usize,
}

impl Drop for LongGuarded {
    fn drop(&mut self) {
        self.guard.free_slot(self.slot);
    }
}

/// The side of the guard: waits for the end of Hermes, then kills what is in the table.
pub(super) fn stand_guard(mut hermes: Link, number: u32) -> io::Result<()> {
    while hermes.wait_for_frame()?.is_some() {}
    let path = format!("/proc/self/fd/{number}");
    let table = hermes_fs::read_capped(Path::new(&path), (SLOTS * SLOT) as u64)
        .map_err(io::Error::other)?;
    let trees: Vec<ProcessTree> = table.chunks_exact(SLOT).filter_map(decode).collect();
    std::thread::scope(|scope| {
        for tree in &trees {
            scope.spawn(|| kill_tree(tree, KillTiming::default()));
        }
    });
    Ok(())
}

fn encode(tree: &ProcessTree) -> [u8; SLOT] {
    let mut bytes = [0; SLOT];
    let fields = tree
        .start_time
        .to_le_bytes()
        .into_iter()
        .chain(tree.leader.to_le_bytes())
        .chain(tree.mark.bytes().take(MARK));
    for (slot, byte) in bytes.iter_mut().zip(fields) {
        *slot = byte;
    }
    bytes
}

fn decode(slot: &[u8]) -> Option<ProcessTree> {
    let (start_time, rest) = slot.split_first_chunk()?;
    let (leader, rest) = rest.split_first_chunk()?;
    let leader = u32::from_le_bytes(*leader);
    let mark = rest.get(..MARK)?;
    // A slot that is free.
    if !mark.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    Some(ProcessTree {
        leader,
        start_time: u64::from_le_bytes(*start_time),
        mark: String::from_utf8(mark.to_owned()).ok()?,
        supervisor: None,
        leader_is_ours: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn a_tree_comes_back_from_the_table_and_half_of_one_does_not() {
        let tree = ProcessTree {
            leader: 4_000_000,
            start_time: u64::MAX - 1,
            mark: "0123456789abcdef".into(),
            supervisor: None,
            leader_is_ours: false,
        };
        let bytes = encode(&tree);
        assert_eq!(decode(&bytes), Some(tree.clone()));
        let unknown = ProcessTree {
            leader: 0,
            start_time: 0,
            ..tree
        };
        assert_eq!(decode(&encode(&unknown)), Some(unknown));
        assert_eq!(decode(&[0; SLOT]), None);
        let mut half = bytes;
        half[20..].fill(0);
        assert_eq!(decode(&half), None);
    }
}
