//! Children that were somebody else's before: what a command leaves behind becomes ours where we ask
//! for that, and then we have to bury it, and can tell it from those we started.

use std::collections::BTreeSet;
use std::io;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockWriteGuard};

use rustix::io::Errno;
use rustix::process::{
    Pid, WaitId, WaitIdOptions, WaitOptions, WaitStatus, getpid, set_child_subreaper, waitid,
    waitpid,
};

static IS_ADOPTING: AtomicBool = AtomicBool::new(false);
/// Held for reading while a child is started: it is there before it is known.
static STARTING: RwLock<()> = RwLock::new(());
/// The children that we started and have not buried.
static STARTED: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

/// Makes this process the parent of whatever its descendants leave behind, in place of the first
/// process of the machine. Orphans have to be reaped from then on.
pub fn adopt_orphans() -> io::Result<()> {
    if !IS_ADOPTING.load(Ordering::Relaxed) {
        set_child_subreaper(Some(getpid()))?;
        IS_ADOPTING.store(true, Ordering::Relaxed);
    }
    Ok(())
}

/// Reaps the orphans that have ended, up to the first child of our own that has, which is left to its
/// owner.
pub fn reap_orphans() {
    while let Some(pid) = first_ended() {
        let _nobody_starts = nobody_starts();
        let started = started();
        if started.contains(&number(pid)) || waitpid(Some(pid), WaitOptions::NOHANG).is_err() {
            return;
        }
    }
}

/// Whether a child of ours was started by somebody else.
pub(crate) fn is_adopted(child: u32) -> bool {
    if !IS_ADOPTING.load(Ordering::Relaxed) {
        return false;
    }
    let _nobody_starts = nobody_starts();
    !started().contains(&child)
}

/// Starts a child that is known as ours from its first moment.
pub(crate) fn start_own(start: impl FnOnce() -> io::Result<Pid>) -> io::Result<Pid> {
    let _starting = STARTING.read().unwrap_or_else(PoisonError::into_inner);
    let pid = start()?;
    started().insert(number(pid));
    Ok(pid)
}

/// Waits for the end of a child that we started, and lets its number go.
pub(crate) fn bury(pid: Pid) -> rustix::io::Result<WaitStatus> {
    let ended = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    loop {
        match waitid(WaitId::Pid(pid), ended) {
            Ok(_) => {}
            Err(Errno::INTR) => continue,
            Err(errno) => return Err(errno),
        }
        // Its number may be given out again from here on, so whoever asks about it waits.
        let mut started = started();
        match waitpid(Some(pid), WaitOptions::NOHANG) {
            Ok(Some((_, status))) => {
                started.remove(&number(pid));
                return Ok(status);
            }
            Ok(None) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
}

/// Makes a child that we started one that nobody waits for.
pub(crate) fn disown(pid: Pid) {
    started().remove(&number(pid));
}

/// As long as this is held, every child of ours that we started is known.
fn nobody_starts() -> RwLockWriteGuard<'static, ()> {
    STARTING.write().unwrap_or_else(PoisonError::into_inner)
}

fn started() -> MutexGuard<'static, BTreeSet<u32>> {
    STARTED.lock().unwrap_or_else(PoisonError::into_inner)
}

fn number(pid: Pid) -> u32 {
    pid.as_raw_nonzero().get().unsigned_abs()
}

/// A child that has ended and was not reaped; `None` if there is none.
#[expect(unsafe_code, reason = "rustix does not say which child it was")]
fn first_ended() -> Option<Pid> {
    let mut ended = MaybeUninit::<libc::siginfo_t>::zeroed();
    let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: a system call that fills the structure, which is valid when zeroed; its process id is
    // set whenever the call succeeds, to zero if there was nobody.
    unsafe {
        if libc::waitid(libc::P_ALL, 0, ended.as_mut_ptr(), options) < 0 {
            return None;
        }
        Pid::from_raw(ended.assume_init().si_pid())
    }
}
