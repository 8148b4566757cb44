//! The mount namespace of a sandbox: everything read-only but what may be written, hidden places
//! covered, no terminal but its own; and one for what processes share by number (System V).
//!
//! It is built once, by a child that makes the mounts, hands over descriptors that keep them alive,
//! and ends; every command of the sandbox then only enters it. An ordinary user gets a user namespace
//! first, in which mounting is allowed. The child is a copy of this process where that does no harm,
//! else this program again.

use std::ffi::{CStr, CString, c_int, c_uint};
use std::io::{self, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::ptr;

use rustix::net::RecvFlags;
use rustix::process::Pid;

use super::plan::{SHARED_MEMORY, SandboxPlan};
use crate::descriptors::{received, send_descriptor};
use crate::orphans::{bury, start_own};
use crate::own_memory::is_hidden;

/// The namespaces of a sandbox.
#[derive(Debug)]
pub(super) struct Namespaces {
    /// For ordinary users.
    pub(super) user: Option<OwnedFd>,
    pub(super) mount: OwnedFd,
    /// Memory, semaphores and queues that are shared by number.
    pub(super) ipc: OwnedFd,
    /// Directories that exist only in there and may be written.
    pub(super) own_directories: Vec<OwnedFd>,
}

/// A mount to be made. Failing on a path that is gone, or that the user cannot reach, is no failure.
enum Step {
    /// Stays writable: a copy taken before everything became read-only.
    Writable(CString),
    ReadOnly(CString),
    Pinned(CString),
    HiddenDirectory(CString),
    HiddenFile(CString),
}

/// What the building child is told.
struct Build {
    in_user_namespace: bool,
    /// Whether our memory holds nothing that others of this user must not see.
    is_ours_to_read: bool,
    user_map: CString,
    group_map: CString,
    steps: Vec<Step>,
    /// One for each writable step.
    copies: Vec<RawSlot>,
    /// Where to answer.
    socket: c_int,
}

/// A place for a descriptor.
type RawSlot = std::cell::Cell<c_int>;

const HIDING_DIRECTORY: &CStr = c"/dev/shm/d";
const HIDING_FILE: &CStr = c"/dev/shm/f";
const SHARED: &CStr = c"/dev/shm";
/// Terminals.
const TERMINALS: &CStr = c"/dev/pts";

impl Namespaces {
    /// Builds them. The error is why this machine has none to give.
    pub(super) fn build(plan: &SandboxPlan) -> io::Result<Self> {
        if !Path::new(SHARED_MEMORY).is_dir() {
            return Err(io::Error::other("there is no directory /dev/shm"));
        }
        let is_root = rustix::process::geteuid().is_root();
        match Self::build_as(plan, !is_root) {
            // Root of a container often may not mount, and may have a user namespace all the same.
            Err(error) if is_root && error.kind() == io::ErrorKind::PermissionDenied => {
                Self::build_as(plan, true)
            }
            built => built,
        }
    }

    fn build_as(plan: &SandboxPlan, in_user_namespace: bool) -> io::Result<Self> {
        let (ours, theirs) = UnixStream::pair()?;
        // Whoever maps users must own its entries below /proc, and then the rest of the user's
        // processes can look into its memory: it must not be a copy of ours.
        let child = if in_user_namespace && is_hidden() {
            Builder::start(plan, &ours, theirs)
        } else {
            let build = Build::of(plan, in_user_namespace, theirs.as_raw_fd())?;
            let child = start_own(|| build.fork());
            // Ours would keep us waiting for a child that ended without an answer.
            drop(theirs);
            child
        }?;
        let built = Self::received(&ours, in_user_namespace);
        // Nothing depends on how it ended.
        let _: rustix::io::Result<_> = bury(child);
        built
    }

    /// Takes hold of the namespaces that a child built; they live on in our descriptors.
    fn received(mut child: &UnixStream, in_user_namespace: bool) -> io::Result<Self> {
        let mut answer = [0; 8];
        child.read_exact(&mut answer)?;
        let (stage, error) = answer.split_at(4);
        let number = |bytes: &[u8]| bytes.try_into().map_or(0, c_int::from_ne_bytes);
        if number(error) != 0 {
            let error = io::Error::from_raw_os_error(number(error));
            let what = STAGES.get(number(stage).unsigned_abs() as usize);
            let what = what.copied().unwrap_or("mounting");
            return Err(io::Error::new(error.kind(), format!("{what}: {error}")));
        }
        let next = || received(child, RecvFlags::empty());
        Ok(Self {
            mount: next()?,
            ipc: next()?,
            own_directories: vec![next()?, next()?],
            user: in_user_namespace.then(next).transpose()?,
        })
    }
}

/// This program again, with nothing in its memory but what it is told to mount.
struct Builder;

impl Builder {
    fn start(plan: &SandboxPlan, mut ours: &UnixStream, theirs: UnixStream) -> io::Result<Pid> {
        let child = start_own(|| Self::spawn(theirs.as_raw_fd()))?;
        drop(theirs);
        let plan = plan.encode();
        let length = u32::try_from(plan.len()).map_err(io::Error::other)?;
        // One that has ended already is told by its missing answer.
        let told = ours.write_all(&length.to_ne_bytes());
        drop(told.and_then(|()| ours.write_all(&plan)));
        Ok(child)
    }

    /// Not a child of `ChildSpec`: it is nobody's command, and a sandbox is a part of those.
    #[expect(
        unsafe_code,
        reason = "the standard library cannot start /proc/self/exe alone"
    )]
    fn spawn(input: c_int) -> io::Result<Pid> {
        let [first, second] = BUILDER_ARGUMENTS.map(CString::new);
        let (first, second) = (first?, second?);
        let arguments = [
            c"hermes".as_ptr().cast_mut(),
            first.as_ptr().cast_mut(),
            second.as_ptr().cast_mut(),
            ptr::null_mut(),
        ];
        let environment = [ptr::null_mut()];
        let mut pid = 0;
        let mut actions = MaybeUninit::uninit();
        let mut attributes = MaybeUninit::uninit();
        let mut signals = MaybeUninit::uninit();
        // SAFETY: structures that are initialized before they are used and released afterwards, and
        // texts that outlive the call.
        let failed = unsafe {
            libc::posix_spawn_file_actions_init(actions.as_mut_ptr());
            libc::posix_spawn_file_actions_adddup2(actions.as_mut_ptr(), input, 0);
            let null = c"/dev/null".as_ptr();
            for output in [1, 2] {
                let flags = libc::O_WRONLY;
                libc::posix_spawn_file_actions_addopen(
                    actions.as_mut_ptr(),
                    output,
                    null,
                    flags,
                    0,
                );
            }
            libc::posix_spawnattr_init(attributes.as_mut_ptr());
            let flags = libc::POSIX_SPAWN_SETSIGMASK | libc::POSIX_SPAWN_SETSIGDEF;
            libc::posix_spawnattr_setflags(
                attributes.as_mut_ptr(),
                libc::c_short::try_from(flags).unwrap_or(0),
            );
            libc::sigemptyset(signals.as_mut_ptr());
            libc::posix_spawnattr_setsigmask(attributes.as_mut_ptr(), signals.as_ptr());
            libc::sigaddset(signals.as_mut_ptr(), libc::SIGPIPE);
            libc::posix_spawnattr_setsigdefault(attributes.as_mut_ptr(), signals.as_ptr());
            let failed = libc::posix_spawn(
                &raw mut pid,
                c"/proc/self/exe".as_ptr(),
                actions.as_ptr(),
                attributes.as_ptr(),
                arguments.as_ptr(),
                environment.as_ptr(),
            );
            libc::posix_spawn_file_actions_destroy(actions.as_mut_ptr());
            libc::posix_spawnattr_destroy(attributes.as_mut_ptr());
            failed
        };
        if failed != 0 {
            return Err(io::Error::from_raw_os_error(failed));
        }
        Pid::from_raw(pid).ok_or_else(|| io::Error::other("no process id"))
    }
}

/// How this program is started to build namespaces: see [`build_namespaces`].
pub const BUILDER_ARGUMENTS: [&str; 2] = ["internal", "sandbox-namespaces"];

/// Builds the namespaces that standard input asks for, hands them over and returns. The program calls
/// this before it reads anything else, when started with [`BUILDER_ARGUMENTS`].
pub fn build_namespaces() -> io::Result<()> {
    let mut input = UnixStream::from(rustix::io::dup(rustix::stdio::stdin())?);
    let mut length = [0; 4];
    input.read_exact(&mut length)?;
    let length = u64::from(u32::from_ne_bytes(length));
    let mut bytes = Vec::new();
    (&mut input).take(length).read_to_end(&mut bytes)?;
    let Some(plan) = SandboxPlan::decode(&bytes) else {
        return Err(io::Error::other("malformed sandbox"));
    };
    Build::of(&plan, true, input.as_raw_fd())?.run_and_answer();
    Ok(())
}

fn steps(plan: &SandboxPlan) -> io::Result<Vec<Step>> {
    let text = |path: &Path| CString::new(path.as_os_str().as_bytes());
    let mut writable: Vec<&PathBuf> = plan.writable.iter().collect();
    writable.sort();
    // What lies in another writable directory is writable with it.
    let all = writable.clone();
    writable.retain(|path| {
        !all.iter()
            .any(|other| other != path && path.starts_with(other))
    });
    let mut steps = Vec::new();
    for path in writable {
        // The same path may be pinned as well: a mount of its own is both.
        steps.push(Step::Writable(text(path)?));
    }
    for path in &plan.pinned {
        steps.push(Step::Pinned(text(path)?));
    }
    for path in &plan.protected {
        steps.push(Step::ReadOnly(text(path)?));
    }
    for path in plan.hidden.iter().chain(&plan.sockets) {
        // Covering it would cover what is meant to be written.
        if plan.writable.iter().any(|open| open.starts_with(path)) {
            continue;
        }
        let is_directory = hermes_fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir());
        let path = text(path)?;
        steps.push(if is_directory {
            Step::HiddenDirectory(path)
        } else {
            Step::HiddenFile(path)
        });
    }
    Ok(steps)
}

/// What a child was doing when it failed.
const STAGES: &[&str] = &[
    "creating a namespace",
    "mapping the user",
    "making mounts private",
    "copying a mount",
    "making mounts read-only",
    "mounting a copy",
    "protecting an entry",
    "hiding an entry",
    "mounting memory",
    "mounting terminals",
];

/// The stage, and the error of the system.
type Failed = (c_int, c_int);

/// `struct mount_attr` of the kernel.
#[repr(C)]
struct MountAttributes {
    set: u64,
    clear: u64,
    propagation: u64,
    user_namespace: u64,
}

static READ_ONLY: MountAttributes = MountAttributes {
    // MOUNT_ATTR_RDONLY
    set: 1,
    clear: 0,
    propagation: 0,
    user_namespace: 0,
};

const AT_RECURSIVE: c_uint = 0x8000;
const OPEN_TREE_CLONE: c_uint = 1;
const MOVE_MOUNT_F_EMPTY_PATH: c_uint = 4;

impl Build {
    fn of(plan: &SandboxPlan, in_user_namespace: bool, socket: c_int) -> io::Result<Self> {
        let steps = steps(plan)?;
        let uid = rustix::process::geteuid().as_raw();
        let gid = rustix::process::getegid().as_raw();
        let writable = steps
            .iter()
            .filter(|step| matches!(step, Step::Writable(_)));
        Ok(Self {
            in_user_namespace,
            is_ours_to_read: !is_hidden(),
            user_map: CString::new(format!("{uid} {uid} 1"))?,
            group_map: CString::new(format!("{gid} {gid} 1"))?,
            copies: writable.map(|_| RawSlot::new(-1)).collect(),
            steps,
            socket,
        })
    }

    #[expect(unsafe_code, reason = "there is no safe interface for a fork")]
    fn fork(&self) -> io::Result<Pid> {
        // SAFETY: the child makes system calls on memory that was prepared, and ends; it never
        // allocates, locks or unwinds.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => {
                self.run_and_answer();
                // SAFETY: ends the child at once, without anything of the parent's being cleaned up.
                unsafe { libc::_exit(0) }
            }
            child => Pid::from_raw(child).ok_or_else(|| io::Error::other("no process id")),
        }
    }

    /// Builds the namespaces of this process and hands them over.
    fn run_and_answer(&self) {
        let (stage, error) = match self.run() {
            Ok(()) => (0, 0),
            Err(failed) => failed,
        };
        self.answer(stage, error);
    }

    #[expect(unsafe_code, reason = "system calls in a child that may not allocate")]
    fn answer(&self, stage: c_int, error: c_int) {
        let mut answer = [0; 8];
        let (first, second) = answer.split_at_mut(4);
        first.copy_from_slice(&stage.to_ne_bytes());
        second.copy_from_slice(&error.to_ne_bytes());
        let flags = libc::O_RDONLY | libc::O_CLOEXEC;
        let opened = [
            (c"/proc/self/ns/mnt", flags),
            (c"/proc/self/ns/ipc", flags),
            (SHARED, libc::O_PATH | libc::O_CLOEXEC),
            (TERMINALS, libc::O_PATH | libc::O_CLOEXEC),
            (c"/proc/self/ns/user", flags),
        ];
        let opened = opened.get(..if self.in_user_namespace { 5 } else { 4 });
        // SAFETY: system calls on texts and on memory of this function. What cannot be opened is not
        // sent, and its absence is what the other side reports.
        unsafe {
            libc::write(self.socket, answer.as_ptr().cast(), answer.len());
            if error != 0 {
                return;
            }
            for (path, flags) in opened.unwrap_or_default() {
                let descriptor = libc::open(path.as_ptr(), *flags);
                if descriptor < 0 || send_descriptor(self.socket, descriptor) < 0 {
                    return;
                }
            }
        }
    }

    /// Runs in the child.
    #[expect(unsafe_code, reason = "system calls without a safe interface")]
    fn run(&self) -> Result<(), Failed> {
        // SAFETY: system calls on prepared memory.
        unsafe {
            if self.is_ours_to_read {
                // Its entries below /proc belong to root otherwise, if ours do: entering a namespace
                // with our memory, as every sandboxed child does, makes them so.
                libc::prctl(libc::PR_SET_DUMPABLE, 1);
            }
            // A child of a terminal's group must not be stopped or ended by its keys half-way.
            libc::setsid();
            let mut namespaces = libc::CLONE_NEWNS | libc::CLONE_NEWIPC;
            if self.in_user_namespace {
                namespaces |= libc::CLONE_NEWUSER;
            }
            check(0, libc::unshare(namespaces).into())?;
            if self.in_user_namespace {
                write_file(c"/proc/self/setgroups", c"deny")?;
                write_file(c"/proc/self/uid_map", &self.user_map)?;
                write_file(c"/proc/self/gid_map", &self.group_map)?;
            }
            let private = libc::MS_REC | libc::MS_PRIVATE;
            let none = ptr::null();
            let made = libc::mount(none, c"/".as_ptr(), none, private, ptr::null());
            check(2, made.into())?;
            let mut copies = self.copies.iter();
            for step in &self.steps {
                if let (Step::Writable(path), Some(copy)) = (step, copies.next()) {
                    copy.set(clone_of(path, 3)?.unwrap_or(-1));
                }
            }
            let read_only = mount_attributes(libc::AT_FDCWD, c"/", AT_RECURSIVE);
            check(4, read_only)?;
            Self::mount_memory(c"mode=0755,size=64k")?;
            Self::make_covers()?;
            for (step, copy) in self.steps.iter().zip(&self.copies) {
                if let Step::Writable(path) = step
                    && copy.get() >= 0
                {
                    move_to(copy.get(), path, 5)?;
                }
            }
            for step in &self.steps {
                step.mount()?;
            }
            Self::mount_terminals()?;
            Self::mount_memory(c"mode=1777,size=50%")
        }
    }

    /// Terminals of its own: in others of the same user somebody may be typing. A terminal that a
    /// command is given stays its own, though it has no name in here.
    #[expect(unsafe_code, reason = "system calls without a safe interface")]
    unsafe fn mount_terminals() -> Result<(), Failed> {
        let name = c"devpts".as_ptr();
        let flags = libc::MS_NOSUID | libc::MS_NOEXEC;
        let options = c"newinstance,ptmxmode=0666,mode=0620".as_ptr().cast();
        // SAFETY: a system call on texts.
        let mounted = unsafe { libc::mount(name, TERMINALS.as_ptr(), name, flags, options) };
        match check(9, mounted.into()) {
            // A machine without terminals has none to hide.
            Err((_, libc::ENOENT | libc::ENODEV)) => Ok(()),
            result => result,
        }
    }

    /// A file system in memory over `/dev/shm`.
    #[expect(unsafe_code, reason = "system calls without a safe interface")]
    unsafe fn mount_memory(options: &CStr) -> Result<(), Failed> {
        let name = c"tmpfs".as_ptr();
        let flags = libc::MS_NOSUID | libc::MS_NODEV;
        // SAFETY: a system call on texts.
        let mounted =
            unsafe { libc::mount(name, SHARED.as_ptr(), name, flags, options.as_ptr().cast()) };
        check(8, mounted.into())
    }

    /// What hidden entries are covered with: a directory and a file, empty and for nobody.
    #[expect(unsafe_code, reason = "system calls without a safe interface")]
    unsafe fn make_covers() -> Result<(), Failed> {
        // SAFETY: system calls on texts.
        unsafe {
            check(8, libc::mkdir(HIDING_DIRECTORY.as_ptr(), 0).into())?;
            check(
                8,
                libc::mknod(HIDING_FILE.as_ptr(), libc::S_IFREG, 0).into(),
            )?;
            check(8, mount_attributes(libc::AT_FDCWD, SHARED, 0))
        }
    }
}

impl Step {
    #[expect(unsafe_code, reason = "system calls without a safe interface")]
    unsafe fn mount(&self) -> Result<(), Failed> {
        // SAFETY: system calls on texts and on descriptors that were just opened.
        unsafe {
            let (source, path, stage) = match self {
                Self::Writable(_) => return Ok(()),
                Self::Pinned(path) | Self::ReadOnly(path) => (path.as_c_str(), path, 6),
                Self::HiddenDirectory(path) => (HIDING_DIRECTORY, path, 7),
                Self::HiddenFile(path) => (HIDING_FILE, path, 7),
            };
            let Some(copy) = clone_of(source, stage)? else {
                return Ok(());
            };
            if matches!(self, Self::ReadOnly(_)) {
                let empty = libc::AT_EMPTY_PATH.unsigned_abs();
                check(stage, mount_attributes(copy, c"", empty | AT_RECURSIVE))?;
            }
            move_to(copy, path, stage)
        }
    }
}

/// A copy of the mounts at a path; `None` if it is gone or out of reach.
#[expect(unsafe_code, reason = "a system call without a safe interface")]
unsafe fn clone_of(path: &CStr, stage: c_int) -> Result<Option<c_int>, Failed> {
    let flags = OPEN_TREE_CLONE | libc::O_CLOEXEC.unsigned_abs() | AT_RECURSIVE;
    // SAFETY: a system call on a text.
    let copy = unsafe { libc::syscall(libc::SYS_open_tree, libc::AT_FDCWD, path.as_ptr(), flags) };
    match checked(stage, copy) {
        Err((_, libc::ENOENT | libc::EACCES | libc::ENOTDIR)) => Ok(None),
        result => result.map(Some),
    }
}

#[expect(unsafe_code, reason = "a system call without a safe interface")]
unsafe fn move_to(copy: c_int, path: &CStr, stage: c_int) -> Result<(), Failed> {
    // SAFETY: system calls on a text and a descriptor of ours.
    let moved = unsafe {
        let moved = libc::syscall(
            libc::SYS_move_mount,
            copy,
            c"".as_ptr(),
            libc::AT_FDCWD,
            path.as_ptr(),
            MOVE_MOUNT_F_EMPTY_PATH,
        );
        let result = check(stage, moved);
        libc::close(copy);
        result
    };
    match moved {
        Err((_, libc::ENOENT | libc::EACCES | libc::ENOTDIR)) => Ok(()),
        result => result,
    }
}

#[expect(unsafe_code, reason = "a system call without a safe interface")]
unsafe fn mount_attributes(directory: c_int, path: &CStr, flags: c_uint) -> libc::c_long {
    // SAFETY: a system call on a text and on attributes of the size that is given.
    unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            directory,
            path.as_ptr(),
            flags,
            &raw const READ_ONLY,
            size_of::<MountAttributes>(),
        )
    }
}

#[expect(unsafe_code, reason = "system calls in a child that may not allocate")]
unsafe fn write_file(path: &CStr, text: &CStr) -> Result<(), Failed> {
    // SAFETY: system calls on texts.
    unsafe {
        let file = checked(
            1,
            libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC).into(),
        )?;
        let bytes = text.to_bytes();
        let written = libc::write(file, bytes.as_ptr().cast(), bytes.len());
        let result = check(1, i64::try_from(written).unwrap_or(-1));
        libc::close(file);
        result
    }
}

fn check(stage: c_int, result: libc::c_long) -> Result<(), Failed> {
    checked(stage, result).map(drop)
}

/// The result of a system call, or the stage it belongs to and its error.
#[expect(unsafe_code, reason = "reads errno")]
fn checked(stage: c_int, result: libc::c_long) -> Result<c_int, Failed> {
    if result < 0 {
        // SAFETY: the address of a number of this thread.
        return Err((stage, unsafe { *libc::__errno_location() }));
    }
    Ok(c_int::try_from(result).unwrap_or(c_int::MAX))
}
