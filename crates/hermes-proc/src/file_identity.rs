//! Touching files in the name of another user, for a process of root.
//!
//! What lies in a directory that somebody else can write to is theirs to swap: a link where a file
//! was leads root wherever its owner likes. Work on such files is done with their owner's rights, by
//! a thread of its own, so that the kernel refuses what the owner could not do alone.

use std::io;

/// Does `work` with the file rights of a user and nothing more: new files are theirs, and what they
/// may not touch is not touched. Only root can lend itself other rights; a process of that user
/// has them already. Programs started by `work` would run as root again, so it starts none.
pub fn with_files_of<T: Send>(
    uid: u32,
    gid: u32,
    work: impl FnOnce() -> T + Send,
) -> io::Result<T> {
    if rustix::process::geteuid().as_raw() == uid {
        return Ok(work());
    }
    std::thread::scope(|scope| {
        let lent = std::thread::Builder::new().spawn_scoped(scope, || {
            take(uid, gid)?;
            Ok(work())
        })?;
        match lent.join() {
            Ok(done) => done,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// Gives this thread, which ends with its work, the file rights of a user.
#[expect(
    unsafe_code,
    reason = "these calls exist for one thread only without a wrapper"
)]
fn take(uid: u32, gid: u32) -> io::Result<()> {
    // SAFETY: system calls on numbers, and on an array of one that outlives the call. The plain
    // system call changes the groups of this thread; the function of the C library would change
    // those of all.
    let (groups, user, group) = unsafe {
        let groups = libc::syscall(libc::SYS_setgroups, 1_usize, &raw const gid);
        // The group first: without root's rights it could not be changed any more.
        libc::setfsgid(gid);
        libc::setfsuid(uid);
        // Neither call says whether it worked; an impossible number leaves everything as it is and
        // gives what is set.
        (groups, libc::setfsuid(u32::MAX), libc::setfsgid(u32::MAX))
    };
    let is_set = |got: i32, wanted: u32| u32::try_from(got) == Ok(wanted);
    if groups == 0 && is_set(user, uid) && is_set(group, gid) {
        return Ok(());
    }
    Err(io::Error::new(
        io::ErrorKind::PermissionDenied,
        format!("only root can act for user {uid}"),
    ))
}
