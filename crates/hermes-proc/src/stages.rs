//! Becoming another program or another user, for the stages of a container's start.

use std::ffi::{CString, OsStr, OsString, c_char};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;

use rustix::fs::{Mode, OFlags};
use rustix::io::FdFlags;
use rustix::process::{Pid, Signal, getpgrp, getpid, kill_process, setpgid};

use crate::clone::default_handlers;
use crate::own_memory::given_core_limit;

/// Takes on a user for good: its groups, its group, itself. Afterwards there is no way back.
#[expect(
    unsafe_code,
    reason = "rustix changes one thread; the C library changes all of them"
)]
pub fn become_user(uid: u32, gid: u32, groups: &[u32]) -> io::Result<()> {
    let checked = |result: libc::c_int| {
        if result == 0 {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    };
    // SAFETY: system calls on numbers, and on a list that outlives its call.
    unsafe {
        checked(libc::setgroups(groups.len(), groups.as_ptr()))?;
        checked(libc::setresgid(gid, gid, gid))?;
        checked(libc::setresuid(uid, uid, uid))
    }
}

/// Replaces this process with a program, which gets these variables and, of our descriptors, the
/// standard streams and `inherited`. Returns only with the reason why that was not possible.
#[expect(unsafe_code, reason = "there is no safe interface for it")]
pub fn become_program(
    program: &Path,
    args: &[OsString],
    variables: &[(OsString, OsString)],
    inherited: &[BorrowedFd<'_>],
) -> io::Error {
    let prepare = || {
        let text = |text: &OsStr| CString::new(text.as_bytes()).map_err(io::Error::from);
        let program = text(program.as_os_str())?;
        let args = args.iter().map(|arg| text(arg));
        let args = std::iter::once(Ok(program.clone())).chain(args);
        let args: Vec<CString> = args.collect::<io::Result<_>>()?;
        let variables = variables.iter().map(|(name, value)| {
            let pair = [name.as_bytes(), b"=", value.as_bytes()].concat();
            CString::new(pair).map_err(io::Error::from)
        });
        let variables: Vec<CString> = variables.collect::<io::Result<_>>()?;
        for descriptor in inherited {
            rustix::io::fcntl_setfd(descriptor, FdFlags::empty())?;
        }
        Ok::<_, io::Error>((program, args, variables))
    };
    let (program, args, variables) = match prepare() {
        Ok(prepared) => prepared,
        Err(error) => return error,
    };
    let pointers = |texts: &[CString]| -> Vec<*const c_char> {
        let texts = texts.iter().map(|text| text.as_ptr());
        texts.chain(std::iter::once(ptr::null())).collect()
    };
    let (args, variables) = (pointers(&args), pointers(&variables));
    // SAFETY: system calls on numbers and on lists that end in null and outlive the calls. Handlers
    // of ours are taken away before the program is another one; should it not become one, they are
    // gone, and the caller ends.
    unsafe {
        default_handlers();
        if let Some(limit) = given_core_limit() {
            libc::setrlimit(libc::RLIMIT_CORE, &raw const limit);
        }
        libc::execve(program.as_ptr(), args.as_ptr(), variables.as_ptr());
    }
    io::Error::last_os_error()
}

/// Puts this process into a group of its own and gives it the terminal, if standard input is one that
/// we control: what is typed at it, Ctrl-C included, is then for this process alone.
#[expect(unsafe_code, reason = "rustix has no safe call for signal masks")]
pub fn take_terminal() -> io::Result<()> {
    if getpgrp() != getpid() {
        setpgid(None, None)?;
    }
    let input = rustix::stdio::stdin();
    if rustix::termios::tcgetpgrp(input).is_err() {
        // No terminal, or not the one of our session.
        return Ok(());
    }
    let mut stop = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
    let mut before = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: fills and reads masks that outlive the calls. Without the mask, the terminal would stop
    // a process in the background that reaches for it.
    let taken = unsafe {
        libc::sigemptyset(stop.as_mut_ptr());
        libc::sigaddset(stop.as_mut_ptr(), libc::SIGTTOU);
        libc::pthread_sigmask(libc::SIG_BLOCK, stop.as_ptr(), before.as_mut_ptr());
        let taken = rustix::termios::tcsetpgrp(input, getpid());
        libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), ptr::null_mut());
        taken
    };
    Ok(taken?)
}

/// Leaves the session of the terminal: no signal of it reaches this process any more, and programs it
/// has started there cannot be paused for ever by a key.
pub fn leave_session() -> io::Result<()> {
    rustix::process::setsid()?;
    Ok(())
}

/// Reads from nowhere from now on: standard input is for somebody else.
pub fn give_up_input() -> io::Result<()> {
    let null = rustix::fs::open("/dev/null", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    Ok(rustix::stdio::dup2_stdin(null)?)
}

/// The number of a descriptor, for a program that is told it as an argument.
pub fn descriptor_number(descriptor: &impl AsFd) -> i32 {
    descriptor.as_fd().as_raw_fd()
}

/// Asks a child of ours that nobody has waited for to end.
pub fn terminate_child(pid: u32) {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    if let Some(pid) = pid {
        // One that has ended cannot be asked, and need not be.
        let _: rustix::io::Result<()> = kill_process(pid, Signal::TERM);
    }
}

/// Asks the first process of the container to end.
pub fn terminate_first_process() {
    // Ours to ask, or there is nothing more to do.
    let _: rustix::io::Result<()> = kill_process(Pid::INIT, Signal::TERM);
}

/// Waits, as the first process of a container, until a child has ended, and buries whoever ends
/// meanwhile. `None` if there is no such child any more.
pub fn bury_until(pid: u32) -> Option<crate::ExitStatus> {
    loop {
        match rustix::process::wait(rustix::process::WaitOptions::empty()) {
            Ok(Some((ended, status))) if ended.as_raw_nonzero().get().unsigned_abs() == pid => {
                let code = status.exit_status();
                let signal = status.terminating_signal();
                return Some(crate::ExitStatus::new(code, signal));
            }
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return None,
        }
    }
}
