//! What a child does to itself before it becomes the program.
//!
//! Runs in the parent's memory while the parent stands still: system calls only, nothing allocates.
//! A step that fails ends the child; nothing runs with less than was prepared.

use std::ffi::{c_int, c_ulong};
use std::os::fd::{AsRawFd, RawFd};
use std::ptr;

use super::prepare::Sandbox;
use crate::descriptors::send_descriptor;

/// Capabilities that root keeps, which are about files only: owning, entering and changing those that
/// may be written. The mounts and Landlock bind root as well.
const KEPT: u32 =
    (1 << CAP_CHOWN) | (1 << CAP_DAC_OVERRIDE) | (1 << CAP_FOWNER) | (1 << CAP_FSETID);
const CAP_CHOWN: u32 = 0;
const CAP_DAC_OVERRIDE: u32 = 1;
const CAP_FOWNER: u32 = 3;
const CAP_FSETID: u32 = 4;
/// More than any kernel has; the first that does not exist ends the loop.
const MOST_CAPABILITIES: u32 = 64;

#[repr(C)]
struct CapabilityHeader {
    version: u32,
    pid: c_int,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct CapabilityData {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

impl Sandbox {
    /// Enters the namespaces. The directory is the root of the new one afterwards. Returns the error
    /// of the system, or zero.
    #[expect(unsafe_code, reason = "system calls without a safe interface")]
    pub(crate) unsafe fn enter_namespaces(&self) -> c_int {
        let Some(namespaces) = &self.confinement.namespaces else {
            return 0;
        };
        // SAFETY: system calls on descriptors that the parent keeps.
        unsafe {
            if let Some(user) = &namespaces.user
                && libc::setns(user.as_raw_fd(), libc::CLONE_NEWUSER) < 0
            {
                return errno();
            }
            if libc::setns(namespaces.ipc.as_raw_fd(), libc::CLONE_NEWIPC) < 0 {
                return errno();
            }
            if libc::setns(namespaces.mount.as_raw_fd(), libc::CLONE_NEWNS) < 0 {
                return errno();
            }
        }
        0
    }

    /// Gives up everything that the program must not have. Returns the error of the system, or zero.
    #[expect(unsafe_code, reason = "system calls without a safe interface")]
    pub(crate) unsafe fn restrict(&self, report: Option<RawFd>) -> c_int {
        const NONE: c_ulong = 0;
        // SAFETY: system calls on numbers, descriptors and prepared memory.
        unsafe {
            let error = drop_capabilities();
            if error != 0 {
                return error;
            }
            let one: c_ulong = 1;
            if libc::prctl(libc::PR_SET_NO_NEW_PRIVS, one, NONE, NONE, NONE) < 0 {
                return errno();
            }
            if let Some(ruleset) = &self.confinement.ruleset
                && libc::syscall(libc::SYS_landlock_restrict_self, ruleset.as_raw_fd(), 0_u32) < 0
            {
                return errno();
            }
            let filters = &self.confinement.filters;
            for filter in &filters.installed {
                let program = program_of(filter);
                if install(&program, 0) < 0 {
                    return errno();
                }
            }
            if let (Some(filter), Some(report)) = (&filters.reported, report) {
                let program = program_of(filter);
                let listener = install(&program, libc::SECCOMP_FILTER_FLAG_NEW_LISTENER);
                if listener < 0 {
                    return errno();
                }
                let listener = c_int::try_from(listener).unwrap_or(-1);
                if send_descriptor(report, listener) < 0 {
                    return errno();
                }
            }
        }
        0
    }
}

fn program_of(filter: &[seccompiler::sock_filter]) -> libc::sock_fprog {
    libc::sock_fprog {
        // No filter of ours comes near the limit of 4096 instructions.
        len: u16::try_from(filter.len()).unwrap_or(u16::MAX),
        filter: filter.as_ptr().cast_mut().cast(),
    }
}

#[expect(unsafe_code, reason = "a system call without a safe interface")]
unsafe fn install(program: &libc::sock_fprog, flags: c_ulong) -> libc::c_long {
    // SAFETY: a system call on a prepared program.
    unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            flags,
            ptr::from_ref(program),
        )
    }
}

/// Root keeps those about files; everybody else has none, also none of a user namespace.
#[expect(unsafe_code, reason = "system calls without a safe interface")]
unsafe fn drop_capabilities() -> c_int {
    const NONE: c_ulong = 0;
    // SAFETY: system calls on numbers and on structures of the kernel's layout.
    unsafe {
        let kept = if libc::geteuid() == 0 { KEPT } else { 0 };
        for capability in 0..MOST_CAPABILITIES {
            let is_kept = capability < u32::BITS && kept & (1 << capability) != 0;
            if is_kept {
                continue;
            }
            let number = c_ulong::from(capability);
            let is_held = libc::prctl(libc::PR_CAPBSET_READ, number, NONE, NONE, NONE);
            if is_held < 0 {
                break;
            }
            // A process without the right to drop one has none to gain either: no new privileges.
            if is_held > 0 {
                libc::prctl(libc::PR_CAPBSET_DROP, number, NONE, NONE, NONE);
            }
        }
        let clear = libc::PR_CAP_AMBIENT_CLEAR_ALL as c_ulong;
        libc::prctl(libc::PR_CAP_AMBIENT, clear, NONE, NONE, NONE);
        let mut header = CapabilityHeader {
            // _LINUX_CAPABILITY_VERSION_3
            version: 0x2008_0522,
            pid: 0,
        };
        let mut held = [CapabilityData {
            effective: 0,
            permitted: 0,
            inheritable: 0,
        }; 2];
        if libc::syscall(libc::SYS_capget, &raw mut header, held.as_mut_ptr()) < 0 {
            return errno();
        }
        let [low, high] = &mut held;
        low.permitted &= kept;
        low.effective = low.permitted;
        low.inheritable = 0;
        *high = CapabilityData {
            effective: 0,
            permitted: 0,
            inheritable: 0,
        };
        if libc::syscall(libc::SYS_capset, &raw mut header, held.as_ptr()) < 0 {
            return errno();
        }
    }
    0
}

#[expect(unsafe_code, reason = "reads errno")]
fn errno() -> c_int {
    // SAFETY: the address of a number of this thread.
    unsafe { *libc::__errno_location() }
}
