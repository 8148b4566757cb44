//! A hook that kills the process at a chosen write point, so that tests can prove that no crash
//! leaves anything half done.
//!
//! Every function of this crate that changes the file system passes [`point`] just before and just
//! after the change. Armed with `n`, the n-th point ends the process by SIGKILL: no destructor, no
//! flush. The hook exists in debug builds only; in release builds [`point`] is empty.

#[cfg(debug_assertions)]
mod armed {
    use std::sync::atomic::{AtomicU64, Ordering};

    static LEFT: AtomicU64 = AtomicU64::new(0);

    /// Arms the hook: the `n`-th write point from now on kills this process. Zero disarms.
    pub fn arm(n: u64) {
        LEFT.store(n, Ordering::SeqCst);
    }

    /// A write point.
    pub fn point() {
        if LEFT.load(Ordering::Relaxed) == 0 {
            return;
        }
        if LEFT.fetch_sub(1, Ordering::SeqCst) == 1 {
            let me = rustix::process::getpid();
            // A failure needs no word here: the test that armed us will see us alive.
            let _: Result<(), _> = rustix::process::kill_process(me, rustix::process::Signal::KILL);
        }
    }
}

#[cfg(debug_assertions)]
pub use armed::{arm, point};

/// Arming does nothing in release builds.
#[cfg(not(debug_assertions))]
pub fn arm(_n: u64) {}

/// A write point; empty in release builds.
#[cfg(not(debug_assertions))]
#[inline]
pub fn point() {}
