//! The mount namespace of a sandbox: everything read-only but what may be written, hidden places
//! covered.
//!
//! It is built once, by a child that makes the mounts and ends, and kept alive by descriptors; every
//! command of the sandbox then only enters it. An ordinary user gets a user namespace first, in which
//! mounting is allowed.

use std::ffi::{CStr, CString, c_int, c_uint};
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr;

use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, WaitOptions, waitpid};

use super::plan::{SHARED_MEMORY, SandboxPlan};

/// The namespaces of a sandbox.
#[derive(Debug)]
pub(super) struct Namespaces {
    /// For ordinary users.
    pub(super) user: Option<OwnedFd>,
    pub(super) mount: OwnedFd,
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
    user_map: CString,
    group_map: CString,
    steps: Vec<Step>,
    /// One for each writable step.
    copies: Vec<RawSlot>,
    report: c_int,
    release: c_int,
}

/// A place for a descriptor.
type RawSlot = std::cell::Cell<c_int>;

const HIDING_DIRECTORY: &CStr = c"/dev/shm/d";
const HIDING_FILE: &CStr = c"/dev/shm/f";
const SHARED: &CStr = c"/dev/shm";

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
        let (mut report, report_end) = io::pipe()?;
        let (release_end, release) = io::pipe()?;
        let steps = steps(plan)?;
        let uid = rustix::process::geteuid().as_raw();
        let gid = rustix::process::getegid().as_raw();
        let writable = steps
            .iter()
            .filter(|step| matches!(step, Step::Writable(_)));
        let build = Build {
            in_user_namespace,
            user_map: CString::new(format!("{uid} {uid} 1"))?,
            group_map: CString::new(format!("{gid} {gid} 1"))?,
            copies: writable.map(|_| RawSlot::new(-1)).collect(),
            steps,
            report: report_end.as_raw_fd(),
            release: release_end.as_raw_fd(),
        };
        let child = build.fork()?;
        drop((report_end, release_end));
        let mut answer = [0; 8];
        let told = report.read_exact(&mut answer);
        let result = told.and_then(|()| {
            let (step, error) = answer.split_at(4);
            let number = |bytes: &[u8]| bytes.try_into().map_or(0, c_int::from_ne_bytes);
            match number(error) {
                0 => Self::of(child, in_user_namespace),
                error => {
                    let error = io::Error::from_raw_os_error(error);
                    let what = STAGES.get(number(step).unsigned_abs() as usize);
                    let what = what.copied().unwrap_or("mounting");
                    Err(io::Error::new(error.kind(), format!("{what}: {error}")))
                }
            }
        });
        // It waits for this; what it built lives on in our descriptors.
        drop(release);
        while matches!(
            waitpid(Some(child), WaitOptions::empty()),
            Err(rustix::io::Errno::INTR)
        ) {}
        result
    }

    /// Takes hold of the namespaces of the child that built them.
    fn of(child: Pid, in_user_namespace: bool) -> io::Result<Self> {
        let directory = PathBuf::from(format!("/proc/{}", child.as_raw_nonzero()));
        let open = |name: &str, flags: OFlags| {
            let path = directory.join(name);
            rustix::fs::open(path, flags | OFlags::CLOEXEC, Mode::empty())
        };
        Ok(Self {
            user: in_user_namespace
                .then(|| open("ns/user", OFlags::RDONLY))
                .transpose()?,
            mount: open("ns/mnt", OFlags::RDONLY)?,
            own_directories: vec![open("root/dev/shm", OFlags::PATH)?],
        })
    }
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
    #[expect(unsafe_code, reason = "there is no safe interface for a fork")]
    fn fork(&self) -> io::Result<Pid> {
        // SAFETY: the child makes system calls on memory that was prepared, and ends; it never
        // allocates, locks or unwinds.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => {
                let (stage, error) = match self.run() {
                    Ok(()) => (0, 0),
                    Err(failed) => failed,
                };
                let mut answer = [0; 8];
                let (first, second) = answer.split_at_mut(4);
                first.copy_from_slice(&stage.to_ne_bytes());
                second.copy_from_slice(&error.to_ne_bytes());
                // SAFETY: as above. It waits until its namespaces have been taken hold of, or until
                // whoever wanted them is gone.
                unsafe {
                    libc::write(self.report, answer.as_ptr().cast(), answer.len());
                    let mut byte = 0_u8;
                    libc::close(self.report);
                    // Our copy of the other end would keep us waiting for ever.
                    libc::syscall(libc::SYS_close_range, 3_u32, self.below_release(), 0);
                    libc::syscall(libc::SYS_close_range, self.above_release(), u32::MAX, 0);
                    libc::read(self.release, (&raw mut byte).cast(), 1);
                    libc::_exit(0)
                }
            }
            child => Pid::from_raw(child).ok_or_else(|| io::Error::other("no process id")),
        }
    }

    fn below_release(&self) -> u32 {
        self.release.unsigned_abs().saturating_sub(1)
    }

    fn above_release(&self) -> u32 {
        self.release.unsigned_abs().saturating_add(1)
    }

    /// Runs in the child.
    #[expect(unsafe_code, reason = "system calls without a safe interface")]
    fn run(&self) -> Result<(), Failed> {
        // SAFETY: system calls on prepared memory.
        unsafe {
            // Its entries below /proc belong to root otherwise, if ours do.
            libc::prctl(libc::PR_SET_DUMPABLE, 1);
            // A child of a terminal's group must not be stopped or ended by its keys half-way.
            libc::setsid();
            let mut namespaces = libc::CLONE_NEWNS;
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
            Self::mount_memory(c"mode=1777,size=50%")
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
