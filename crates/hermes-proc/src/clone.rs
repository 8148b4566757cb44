//! Starts a program without copying this process first.
//!
//! `fork` copies the page tables of the whole process, only for `exec` to throw them away: the more
//! memory Hermes holds, the longer every command waits. Here the child borrows our memory while the
//! calling thread is suspended, as in `posix_spawn`, which offers no way to do everything that is done
//! here in between. The code in the child makes system calls and nothing else: it never allocates,
//! locks or unwinds.

use std::ffi::{CString, OsStr, c_char, c_int, c_void};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::ptr;
use std::sync::atomic::{AtomicI32, Ordering};

use rustix::net::RecvFlags;
use rustix::process::{Pid, Signal, kill_process};

use crate::descriptors::received;
use crate::kernel_mark::{CARRIER, ChosenBy, limit_for, own_limit, remember_mark};
use crate::orphans::{bury, start_own};
use crate::own_memory::given_core_limit;
use crate::sandbox::Sandbox;
use crate::{ChildSpec, Group, ResourceLimits};

/// Room for what runs in the child before it becomes the program: 64 KiB.
const STACK_WORDS: usize = 4096;
const LAST_SIGNAL: c_int = 64;

/// A child and the descriptor that becomes readable when it ends.
#[derive(Debug)]
pub(crate) struct Cloned {
    pub(crate) pid: Pid,
    pub(crate) exit: OwnedFd,
}

/// Everything the child needs, as the system wants it.
struct Prepared<'a> {
    program: CString,
    cwd: Option<CString>,
    args: Vec<*const c_char>,
    variables: Vec<*const c_char>,
    spec: &'a ChildSpec,
    /// Standard input, output and errors, none of them below 3; ours if `None`.
    streams: Option<[RawFd; 3]>,
    /// Whether the input is a terminal that becomes the controlling one.
    is_terminal: bool,
    /// Where the child hands over the descriptor on which its calls are reported.
    report: Option<RawFd>,
    parent: libc::pid_t,
    /// The limit that marks everything the child starts.
    mark: Option<libc::rlimit>,
    core_limit: Option<libc::rlimit>,
    /// What the specification limits.
    limits: [Option<(libc::__rlimit_resource_t, libc::rlimit)>; 4],
    /// Why the child did not become the program; zero if it did.
    error: AtomicI32,
}

/// Starts a child with these standard streams. The streams of `spec` are not looked at.
pub(crate) fn start(
    spec: &ChildSpec,
    streams: Option<[RawFd; 3]>,
    is_terminal: bool,
) -> io::Result<Cloned> {
    let program = c_string(spec.program.as_os_str())?;
    let mut args = vec![program.clone()];
    for argument in &spec.args {
        args.push(c_string(argument)?);
    }
    let variables = spec.env.variables();
    let mut pairs = Vec::with_capacity(variables.len());
    for (name, value) in variables {
        let bytes = [name.as_bytes(), b"=", value.as_bytes()].concat();
        pairs.push(CString::new(bytes)?);
    }
    let report = match &spec.sandbox {
        Some(sandbox) if sandbox.reports() => Some(std::os::unix::net::UnixStream::pair()?),
        _ => None,
    };
    let cwd = spec.cwd.as_ref().map(|cwd| c_string(cwd.as_os_str()));
    let prepared = Prepared {
        program,
        cwd: cwd.transpose()?,
        args: pointers(&args),
        variables: pointers(&pairs),
        spec,
        streams,
        is_terminal,
        report: report.as_ref().map(|(_, theirs)| theirs.as_raw_fd()),
        parent: rustix::process::getpid().as_raw_nonzero().get(),
        mark: kernel_mark(&spec.env.mark(), spec.env.chosen_by()),
        core_limit: given_core_limit(),
        limits: limits(&spec.limits),
        error: AtomicI32::new(0),
    };
    let mut exit = None;
    let pid = start_own(|| {
        let (pid, descriptor) = prepared.clone_and_wait()?;
        exit = descriptor;
        Ok(pid)
    })?;
    let Some(exit) = exit else {
        // A child that cannot be watched must not run.
        end(pid);
        return Err(io::ErrorKind::Unsupported.into());
    };
    let cloned = Cloned { pid, exit };
    match prepared.error.load(Ordering::SeqCst) {
        0 => match report {
            None => Ok(cloned),
            Some((ours, _)) => {
                match received(&ours, RecvFlags::DONTWAIT).and_then(Sandbox::serve) {
                    Ok(()) => Ok(cloned),
                    Err(error) => {
                        // Nobody would answer it.
                        end(cloned.pid);
                        Err(error)
                    }
                }
            }
        },
        error => {
            // The child has ended already; only its number is left.
            let _: rustix::io::Result<_> = bury(cloned.pid);
            Err(io::Error::from_raw_os_error(error))
        }
    }
}

impl Prepared<'_> {
    /// Returns when the child has become the program or has given up, with the descriptor that tells
    /// its end where the kernel has such.
    #[expect(
        unsafe_code,
        reason = "there is no safe interface for starting a child in borrowed memory"
    )]
    fn clone_and_wait(&self) -> io::Result<(Pid, Option<OwnedFd>)> {
        let mut stack = Box::<[u128]>::new_uninit_slice(STACK_WORDS);
        let mut exit: RawFd = -1;
        let mut before = MaybeUninit::<libc::sigset_t>::uninit();
        let mut all = MaybeUninit::<libc::sigset_t>::uninit();
        let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_PIDFD | libc::SIGCHLD;
        // SAFETY: the child runs `become_program` on a stack of its own, which lives until this call
        // returns, and this call returns only when the child has left our memory for good
        // (CLONE_VFORK). `self` outlives the call likewise. No handler of ours can run in the child:
        // all signals are blocked in this thread, whose mask the child inherits, and it takes the
        // handlers away before it lets any signal through. The other pointers are to locals.
        let pid = unsafe {
            libc::sigfillset(all.as_mut_ptr());
            libc::pthread_sigmask(libc::SIG_BLOCK, all.as_ptr(), before.as_mut_ptr());
            let pid = libc::clone(
                become_program,
                stack.as_mut_ptr().add(STACK_WORDS).cast(),
                flags,
                ptr::from_ref(self).cast_mut().cast(),
                &raw mut exit,
            );
            let error = io::Error::last_os_error();
            libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), ptr::null_mut());
            if pid < 0 {
                return Err(error);
            }
            pid
        };
        let Some(pid) = Pid::from_raw(pid) else {
            return Err(io::Error::other(
                "the system returned no process id for the child",
            ));
        };
        // SAFETY: with CLONE_PIDFD a clone that succeeded has put a descriptor there, which is ours.
        let exit = (exit >= 0).then(|| unsafe { OwnedFd::from_raw_fd(exit) });
        Ok((pid, exit))
    }

    /// Runs in the child. Returns only with the error that kept it from becoming the program.
    #[expect(unsafe_code, reason = "system calls without a safe interface")]
    fn run(&self) -> c_int {
        let spec = self.spec;
        // SAFETY: system calls on numbers and on memory that the parent prepared and keeps. None of
        // them allocates; `errno` is that of the parent's thread, which stands still.
        unsafe {
            default_handlers();
            let grouped = match spec.group {
                Group::Shared => 0,
                Group::Own => libc::setpgid(0, 0),
                Group::Session => libc::setsid(),
            };
            if grouped < 0 {
                return errno();
            }
            for (number, stream) in (0..).zip(self.streams.into_iter().flatten()) {
                if libc::dup2(stream, number) < 0 {
                    return errno();
                }
            }
            if self.is_terminal && libc::ioctl(0, libc::TIOCSCTTY, 0) < 0 {
                return errno();
            }
            // An old kernel without it says ENOSYS and everything stays as it was: what we opened
            // ourselves is closed all the same.
            libc::syscall(
                libc::SYS_close_range,
                3_u32,
                u32::MAX,
                libc::CLOSE_RANGE_CLOEXEC,
            );
            for descriptor in &spec.inherited {
                if libc::fcntl(descriptor.as_raw_fd(), libc::F_SETFD, 0) < 0 {
                    return errno();
                }
            }
            if let Some(limit) = &self.core_limit {
                libc::setrlimit(libc::RLIMIT_CORE, limit);
            }
            for (resource, limit) in self.limits.iter().flatten() {
                if libc::setrlimit(*resource, limit) < 0 {
                    return errno();
                }
            }
            if spec.limits.niceness > 0 {
                // A matter of courtesy: a child that may not give way runs all the same.
                libc::setpriority(libc::PRIO_PROCESS, 0, spec.limits.niceness.into());
            }
            if let Some(limit) = &self.mark {
                // Where it cannot be set, the mark in the environment has to do.
                libc::setrlimit(CARRIER, limit);
            }
            if let Some(sandbox) = &spec.sandbox {
                let error = sandbox.enter_namespaces();
                if error != 0 {
                    return error;
                }
            }
            if spec.ends_with_thread {
                if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) < 0 {
                    return errno();
                }
                // The parent ended before we asked to be told.
                if libc::getppid() != self.parent {
                    return libc::EPIPE;
                }
            }
            if let Some(cwd) = &self.cwd
                && libc::chdir(cwd.as_ptr()) < 0
            {
                return errno();
            }
            if let Some(sandbox) = &spec.sandbox {
                let error = sandbox.restrict(self.report);
                if error != 0 {
                    return error;
                }
            }
            let mut none = MaybeUninit::<libc::sigset_t>::uninit();
            libc::sigemptyset(none.as_mut_ptr());
            libc::sigprocmask(libc::SIG_SETMASK, none.as_ptr(), ptr::null_mut());
            libc::execve(
                self.program.as_ptr(),
                self.args.as_ptr(),
                self.variables.as_ptr(),
            );
            errno()
        }
    }
}

#[expect(unsafe_code, reason = "the system calls it with a raw pointer")]
extern "C" fn become_program(prepared: *mut c_void) -> c_int {
    // SAFETY: the pointer is the one given to `clone` above, to a value that lives while the parent
    // stands still.
    let prepared = unsafe { &*prepared.cast::<Prepared<'_>>() };
    let error = prepared.run();
    prepared.error.store(error, Ordering::SeqCst);
    // SAFETY: ends the child at once, without anything of the parent's being cleaned up.
    unsafe { libc::_exit(127) }
}

/// The limits of a specification as the kernel takes them.
fn limits(given: &ResourceLimits) -> [Option<(libc::__rlimit_resource_t, libc::rlimit)>; 4] {
    let limit = |resource, most: Option<u64>| {
        most.map(|most| {
            let limit = libc::rlimit {
                rlim_cur: most,
                rlim_max: most,
            };
            (resource, limit)
        })
    };
    [
        limit(libc::RLIMIT_AS, given.address_space),
        limit(libc::RLIMIT_NOFILE, given.open_files),
        limit(libc::RLIMIT_FSIZE, given.file_size),
        limit(libc::RLIMIT_CORE, given.core_file),
    ]
}

/// The limit by which the processes of a command are known.
fn kernel_mark(mark: &str, chosen_by: ChosenBy) -> Option<libc::rlimit> {
    if mark.is_empty() {
        return None;
    }
    let limit = limit_for(mark, chosen_by, own_limit())?;
    remember_mark(mark);
    Some(libc::rlimit {
        rlim_cur: limit,
        rlim_max: limit,
    })
}

/// Resets every handler, and SIGPIPE, which Rust programs ignore from their start. What was ignored
/// when we started stays ignored.
#[expect(
    unsafe_code,
    reason = "there is no safe interface for reading a signal's handler"
)]
pub(crate) unsafe fn default_handlers() {
    for signal in 1..=LAST_SIGNAL {
        let mut action = MaybeUninit::<libc::sigaction>::zeroed();
        // SAFETY: memory of that type, valid when zeroed. Signals that cannot be asked about are an
        // error, and then nothing is changed.
        unsafe {
            if libc::sigaction(signal, ptr::null(), action.as_mut_ptr()) < 0 {
                continue;
            }
            let action = action.assume_init_mut();
            let is_handled =
                action.sa_sigaction != libc::SIG_DFL && action.sa_sigaction != libc::SIG_IGN;
            if is_handled || signal == libc::SIGPIPE {
                action.sa_sigaction = libc::SIG_DFL;
                action.sa_flags = 0;
                libc::sigaction(signal, action, ptr::null_mut());
            }
        }
    }
}

#[expect(unsafe_code, reason = "reads errno")]
fn errno() -> c_int {
    // SAFETY: the address of a number of this thread.
    unsafe { *libc::__errno_location() }
}

/// Ends a child and waits for that.
fn end(pid: Pid) {
    // Our own child, which nobody has waited for: it is there, alive or not.
    let _: Result<(), _> = kill_process(pid, Signal::KILL);
    let _: rustix::io::Result<_> = bury(pid);
}

fn c_string(text: &OsStr) -> io::Result<CString> {
    Ok(CString::new(text.as_bytes())?)
}

/// Pointers to the texts, with a null at the end.
fn pointers(texts: &[CString]) -> Vec<*const c_char> {
    let texts = texts.iter().map(|text| text.as_ptr());
    texts.chain(std::iter::once(ptr::null())).collect()
}
