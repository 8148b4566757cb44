//! The system call filters of a sandbox.
//!
//! A list of what is denied, not of what is allowed: ordinary programs notice nothing, and what is
//! denied is what ordinary programs never need, or what leads out of the sandbox.

use std::collections::BTreeMap;
use std::io;

use seccompiler::SeccompCmpArgLen::Dword;
use seccompiler::SeccompCmpOp::{Eq, MaskedEq, Ne};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, sock_filter,
};

use super::plan::Network;
use crate::kernel_mark::CARRIER;

/// Denied whatever their arguments are.
const DENIED: &[libc::c_long] = &[
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_perf_event_open,
    // Mounts, roots and namespaces.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsmount,
    libc::SYS_fsconfig,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_setns,
    libc::SYS_unshare,
    // Keys of the session outside.
    libc::SYS_add_key,
    libc::SYS_keyctl,
    libc::SYS_request_key,
    // Ways around the checks of paths and of system calls.
    libc::SYS_open_by_handle_at,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_userfaultfd,
    libc::SYS_bpf,
    // The machine.
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_reboot,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_settimeofday,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_vhangup,
    libc::SYS_syslog,
    libc::SYS_lookup_dcookie,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_modify_ldt,
];

/// Flags of `clone` that ask for a new namespace.
const NAMESPACE_FLAGS: &[libc::c_int] = &[
    libc::CLONE_NEWNS,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
];

/// A program that runs as its owner; another user could start it later.
const SET_USER_ID: u64 = libc::S_ISUID as u64;

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: TargetArch = TargetArch::x86_64;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: TargetArch = TargetArch::aarch64;

/// The filters of every sandbox, and that of its network.
pub(super) fn filters(network: Network) -> io::Result<Vec<BpfProgram>> {
    let mut filters = vec![not_there_or(by_number(
        denied().map_err(io::Error::other)?,
        libc::EPERM,
    )?)?];
    match network {
        Network::On => {}
        Network::Loopback => {
            filters.push(compiled(
                all_but_streams().map_err(io::Error::other)?,
                libc::EACCES,
            )?);
        }
        Network::Off => {
            filters.push(compiled(
                internet_sockets().map_err(io::Error::other)?,
                libc::EACCES,
            )?);
        }
    }
    Ok(filters)
}

/// Calls that one compiled list holds: see [`by_number`].
const CALLS_TOGETHER: usize = 6;

/// The rules as several short lists, and a jump to the one that the number of a call belongs to.
///
/// When a filter is installed the kernel finds out which calls it always allows by following it for
/// every number there is, and one list of everything made that the longest part of starting a
/// sandboxed command.
fn by_number(rules: Rules, error: libc::c_int) -> io::Result<BpfProgram> {
    let mut lists: Vec<(i64, Rules)> = Vec::new();
    for (call, rules) in rules {
        match lists.last_mut() {
            Some((_, list)) if list.len() < CALLS_TOGETHER => list.insert(call, rules),
            _ => {
                lists.push((call, Rules::from([(call, rules)])));
                None
            }
        };
    }
    let mut jumps = vec![instruction(LOAD, 0, 0, 0)];
    let mut bodies: BpfProgram = Vec::new();
    // The highest numbers come first, so the first list that begins below a number is its own.
    let count = lists.len();
    for (place, (first, list)) in lists.into_iter().rev().enumerate() {
        // Two instructions for every jump that follows, and one for the end.
        let after = 2 * (count - place - 1) + 1;
        let distance = u32::try_from(after + bodies.len()).map_err(io::Error::other)?;
        jumps.push(instruction(JUMP_IF_AT_LEAST, 0, 1, number(first)));
        jumps.push(instruction(JUMP, 0, 0, distance));
        bodies.extend(compiled(list, error)?);
    }
    jumps.push(instruction(RETURN, 0, 0, ALLOW));
    jumps.extend(bodies);
    Ok(jumps)
}

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

fn compiled(rules: Rules, error: libc::c_int) -> io::Result<BpfProgram> {
    let error = SeccompAction::Errno(error.unsigned_abs());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, error, ARCHITECTURE);
    let program: Result<BpfProgram, _> = filter.map_err(io::Error::other)?.try_into();
    program.map_err(io::Error::other)
}

fn denied() -> Result<Rules, seccompiler::BackendError> {
    let mut rules: Rules = DENIED.iter().map(|call| (*call, Vec::new())).collect();
    let mut deny = |call: libc::c_long, conditions: Vec<SeccompCondition>| {
        let rule = SeccompRule::new(conditions)?;
        rules.entry(call).or_default().push(rule);
        Ok::<(), seccompiler::BackendError>(())
    };
    for flag in NAMESPACE_FLAGS {
        let flag = u64::from(flag.unsigned_abs());
        deny(libc::SYS_clone, vec![when(0, MaskedEq(flag), flag)?])?;
    }
    // Typing into the terminal of whoever started us.
    for request in [libc::TIOCSTI, libc::TIOCLINUX] {
        deny(libc::SYS_ioctl, vec![when(1, Eq, request)?])?;
    }
    // The plain personality, and asking for it.
    deny(
        libc::SYS_personality,
        vec![when(0, Ne, 0)?, when(0, Ne, 0xffff_ffff)?],
    )?;
    // The limit that marks the processes of a command; it can still be read.
    let carrier = u64::from(CARRIER);
    deny(libc::SYS_setrlimit, vec![when(0, Eq, carrier)?])?;
    let is_set = SeccompCondition::new(2, SeccompCmpArgLen::Qword, Ne, 0)?;
    deny(
        libc::SYS_prlimit64,
        vec![when(1, Eq, carrier)?, is_set.clone()],
    )?;
    // Limits of other processes: one without descriptors or time is as good as dead.
    deny(libc::SYS_prlimit64, vec![when(0, Ne, 0)?, is_set])?;
    let families = [
        libc::AF_UNIX,
        libc::AF_INET,
        libc::AF_INET6,
        libc::AF_NETLINK,
    ];
    for call in [libc::SYS_socket, libc::SYS_socketpair] {
        let others = families.map(|family| when(0, Ne, u64::from(family.unsigned_abs())));
        deny(call, others.into_iter().collect::<Result<_, _>>()?)?;
        let netlink = u64::from(libc::AF_NETLINK.unsigned_abs());
        // Addresses and routes, which looking up a name asks for; protocol 0.
        deny(call, vec![when(0, Eq, netlink)?, when(2, Ne, 0)?])?;
    }
    let with_mode = |index| when(index, MaskedEq(SET_USER_ID), SET_USER_ID);
    let creates = |index| when(index, MaskedEq(CREATE), CREATE);
    deny(libc::SYS_fchmod, vec![with_mode(1)?])?;
    deny(libc::SYS_fchmodat, vec![with_mode(2)?])?;
    deny(FCHMODAT2, vec![with_mode(2)?])?;
    deny(libc::SYS_mknodat, vec![with_mode(2)?])?;
    deny(libc::SYS_openat, vec![creates(2)?, with_mode(3)?])?;
    #[cfg(target_arch = "x86_64")]
    {
        deny(libc::SYS_chmod, vec![with_mode(1)?])?;
        deny(libc::SYS_creat, vec![with_mode(1)?])?;
        deny(libc::SYS_mknod, vec![with_mode(1)?])?;
        deny(libc::SYS_open, vec![creates(1)?, with_mode(2)?])?;
    }
    Ok(rules)
}

/// Newer than the tables of the C library.
const FCHMODAT2: libc::c_long = 452;
const CREATE: u64 = libc::O_CREAT as u64;

fn internet_sockets() -> Result<Rules, seccompiler::BackendError> {
    let mut rules = Rules::new();
    for family in [libc::AF_INET, libc::AF_INET6] {
        let family = u64::from(family.unsigned_abs());
        let rule = SeccompRule::new(vec![when(0, Eq, family)?])?;
        rules.entry(libc::SYS_socket).or_default().push(rule);
    }
    Ok(rules)
}

/// With connections made by us only those sockets may exist that need one before they send.
fn all_but_streams() -> Result<Rules, seccompiler::BackendError> {
    /// The bits of the type that are not flags.
    const TYPE: u64 = 0xf;
    let stream = u64::from(libc::SOCK_STREAM.unsigned_abs());
    let tcp = u64::from(libc::IPPROTO_TCP.unsigned_abs());
    let mut rules = Rules::new();
    let mut deny = |call: libc::c_long, conditions: Vec<SeccompCondition>| {
        let rule = SeccompRule::new(conditions)?;
        rules.entry(call).or_default().push(rule);
        Ok::<(), seccompiler::BackendError>(())
    };
    for family in [libc::AF_INET, libc::AF_INET6] {
        let family = u64::from(family.unsigned_abs());
        for other in (0..=TYPE).filter(|kind| *kind != stream) {
            deny(
                libc::SYS_socket,
                vec![when(0, Eq, family)?, when(1, MaskedEq(TYPE), other)?],
            )?;
        }
        // Other protocols connect when something is sent.
        deny(
            libc::SYS_socket,
            vec![when(0, Eq, family)?, when(2, Ne, 0)?, when(2, Ne, tcp)?],
        )?;
    }
    let fast_open = u64::from(libc::MSG_FASTOPEN.unsigned_abs());
    for (call, flags) in [
        (libc::SYS_sendto, 3),
        (libc::SYS_sendmsg, 2),
        (libc::SYS_sendmmsg, 3),
    ] {
        deny(call, vec![when(flags, MaskedEq(fast_open), fast_open)?])?;
    }
    Ok(rules)
}

/// The calls that we make in place of the command.
pub(super) fn reported(network: Network) -> Option<BpfProgram> {
    /// `SECCOMP_RET_USER_NOTIF`
    const REPORT: u32 = 0x7fc0_0000;
    if network != Network::Loopback {
        return None;
    }
    Some(vec![
        instruction(LOAD, 0, 0, 0),
        instruction(JUMP_IF_EQUAL, 2, 0, number(libc::SYS_connect)),
        instruction(JUMP_IF_EQUAL, 1, 0, number(libc::SYS_listen)),
        instruction(RETURN, 0, 0, ALLOW),
        instruction(RETURN, 0, 0, REPORT),
    ])
}

fn when(
    argument: u8,
    operator: SeccompCmpOp,
    value: u64,
) -> Result<SeccompCondition, seccompiler::BackendError> {
    SeccompCondition::new(argument, Dword, operator, value)
}

// A filter is a program for the kernel's packet filter. These are its instructions.
const LOAD: u16 = 0x20;
const JUMP: u16 = 0x05;
const JUMP_IF_EQUAL: u16 = 0x15;
const JUMP_IF_AT_LEAST: u16 = 0x35;
const JUMP_IF_SET: u16 = 0x45;
const RETURN: u16 = 0x06;
/// `SECCOMP_RET_ALLOW`
const ALLOW: u32 = 0x7fff_0000;
/// `SECCOMP_RET_ERRNO`, with the number of the error added.
const ERROR: u32 = 0x0005_0000;
/// The bit by which a 64-bit machine marks calls of its 32-bit pointers' interface.
#[cfg(target_arch = "x86_64")]
const X32: u32 = 0x4000_0000;
#[cfg(not(target_arch = "x86_64"))]
const X32: u32 = 0x8000_0000;

fn instruction(code: u16, jt: u8, jf: u8, k: u32) -> sock_filter {
    sock_filter { code, jt, jf, k }
}

/// A number of a call as filters see it.
fn number(call: libc::c_long) -> u32 {
    u32::try_from(call).unwrap_or(u32::MAX)
}

/// Calls whose arguments lie in memory, where no filter can look at them: they are said not to exist,
/// and programs use the older ones. Those of the x32 interface bypass every number above. What calls
/// of another machine's interface mean is not known; such a program is ended.
fn not_there_or(others: BpfProgram) -> io::Result<BpfProgram> {
    let mut program: BpfProgram = SeccompFilter::new(
        Rules::new(),
        SeccompAction::Allow,
        SeccompAction::KillProcess,
        ARCHITECTURE,
    )
    .and_then(TryInto::try_into)
    .map_err(io::Error::other)?;
    // It ends with what becomes of calls of this machine's own interface.
    program.pop();
    program.extend([
        // The number of the call is the first field.
        instruction(LOAD, 0, 0, 0),
        instruction(JUMP_IF_SET, 2, 0, X32),
        instruction(JUMP_IF_EQUAL, 1, 0, number(libc::SYS_clone3)),
        instruction(JUMP_IF_EQUAL, 0, 1, number(libc::SYS_openat2)),
        instruction(RETURN, 0, 0, ERROR | libc::ENOSYS.unsigned_abs()),
    ]);
    program.extend(others);
    Ok(program)
}

#[cfg(test)]
#[path = "filters_tests.rs"]
mod tests;
