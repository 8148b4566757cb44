//! A hook that kills the process at a chosen write point, so that tests can prove that no crash
//! leaves anything half done.
//!
//! Every function of this crate that changes the file system passes [`point`] just before and just
//! after the change. Armed with `n`, the n-th point ends the process by SIGKILL: no destructor, no
//! flush. The hook exists in debug builds only; in release builds [`point`] is empty.

use std::sync::atomic::{AtomicU64, Ordering};

static LEFT: AtomicU64 = AtomicU64::new(0);

/// Arms the hook: the `n`-th write point from now on kills this process. Zero disarms.
pub fn arm(n: u64) {
    LEFT.store(n, Ordering::SeqCst);
}

/// A write point; empty in release builds.
#[inline]
pub fn point() {
    if cfg!(debug_assertions)
        && LEFT.load(Ordering::Relaxed) != 0
        && LEFT.fetch_sub(1, Ordering::SeqCst) == 1
    {
        let me = rustix::process::getpid();
        // A failure needs no word here: the test that armed us will see us alive.
        let _: Result<(), _> = rustix::process::kill_process(me, rustix::process::Signal::KILL);
    }
}
