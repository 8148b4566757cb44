//! What other processes of the same user get to see of this one, and what it keeps of the machine's.
//!
//! Commands run as the user that Hermes runs as. By default such a process can read our environment
//! and memory below `/proc`, attach to us as a debugger, or find a core file, and with that every key.

use std::mem::MaybeUninit;
use std::sync::OnceLock;

/// The limit of core files that this process was started with, once it is protected.
static CORE_LIMIT: OnceLock<Option<libc::rlimit>> = OnceLock::new();

/// Hides the memory of this process from others of the same user, and keeps it out of core files.
/// Called before any secret is read. Programs that are started are as open as ever, and have the
/// limit of core files that we were given.
#[expect(unsafe_code, reason = "rustix has no safe call for either")]
pub fn hide_own_memory() {
    let none: libc::c_ulong = 0;
    // SAFETY: system calls on numbers, and on a structure that is filled if the call succeeds.
    let given = unsafe {
        // Fails for values that do not exist only.
        libc::prctl(libc::PR_SET_DUMPABLE, none, none, none, none);
        let mut limit = MaybeUninit::<libc::rlimit>::uninit();
        (libc::getrlimit(libc::RLIMIT_CORE, limit.as_mut_ptr()) == 0).then(|| limit.assume_init())
    };
    // None at all is what most people have, and nothing to give back.
    let given = given.filter(|given| given.rlim_cur != 0);
    if let Some(given) = given {
        let ours = libc::rlimit {
            rlim_cur: 0,
            ..given
        };
        // SAFETY: a system call on a structure that outlives it.
        unsafe {
            libc::setrlimit(libc::RLIMIT_CORE, &raw const ours);
        }
    }
    // Set once: a second call would take our own limit for the one that was given.
    CORE_LIMIT.get_or_init(|| given);
}

/// Whether this process is protected.
pub(crate) fn is_hidden() -> bool {
    CORE_LIMIT.get().is_some()
}

/// The limit of core files that a child gets back; `None` if it is the one we have.
pub(crate) fn given_core_limit() -> Option<libc::rlimit> {
    CORE_LIMIT.get().copied().flatten()
}

/// Keeps the memory of a process with many short-lived threads small: they share two pools. By default
/// the allocator of glibc makes eight for each processor, and what a burst of threads has freed in them
/// stays taken. Called before the first thread is started.
#[cfg_attr(
    all(target_os = "linux", target_env = "gnu"),
    expect(unsafe_code, reason = "there is no safe call for it")
)]
pub fn share_memory_pools() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: sets a number of the allocator.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 2);
    }
}

/// Gives memory that is not used any more back to the system, which the allocator of glibc does not do
/// by itself.
#[cfg_attr(
    all(target_os = "linux", target_env = "gnu"),
    expect(unsafe_code, reason = "there is no safe call for it")
)]
pub fn give_memory_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: looks at what is free and locks what it looks at; memory in use stays where it is.
    unsafe {
        libc::malloc_trim(0);
    }
}
