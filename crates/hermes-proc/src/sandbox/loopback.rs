//! The network of this machine only: every connection of a sandboxed command is made by us, or not.
//!
//! The kernel stops the command at `connect` and `listen` and tells a descriptor of ours. A thread
//! reads the address, takes a copy of the socket, and makes the call itself with its own copy of the
//! address: whatever the command changes in its memory meanwhile, nothing else is connected. Without
//! the thread the calls fail.

use std::ffi::c_int;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{Mode, OFlags, ResolveFlags};

use crate::{PollSet, linux};

/// Room for any address.
const LONGEST_ADDRESS: usize = 128;
/// Only a fallback: the thread is woken by calls and by the end of the last process.
const LOOK_AGAIN: Duration = Duration::from_hours(1);

/// Serves the calls that the kernel reports on `listener` until no process is left to make any.
pub(super) fn serve(listener: OwnedFd) -> io::Result<()> {
    let thread = std::thread::Builder::new().name("sandbox-network".to_owned());
    thread
        .spawn(move || while answer_next(&listener) {})
        .map(drop)
}

/// Answers one call; `false` when no process is left.
fn answer_next(listener: &OwnedFd) -> bool {
    let mut set = PollSet::new();
    let ready = set.readable([listener]);
    if set.wait(LOOK_AGAIN).is_err() {
        return false;
    }
    if !set.is_ready(&ready) {
        return true;
    }
    let call = match receive(listener) {
        Ok(call) => call,
        // The process was killed meanwhile; an end of all of them looks different.
        Err(error) if error.raw_os_error() == Some(libc::EINTR) => return true,
        Err(error) if error.raw_os_error() == Some(libc::ENOENT) => return !has_ended(listener),
        Err(_) => return false,
    };
    let result = perform(&call, listener);
    answer(listener, call.id, result);
    true
}

/// Whether the kernel has hung up: nobody is left.
fn has_ended(listener: &OwnedFd) -> bool {
    use rustix::event::{PollFd, PollFlags, poll};
    let mut polled = [PollFd::new(listener, PollFlags::IN)];
    let none = rustix::event::Timespec::default();
    let seen = poll(&mut polled, Some(&none)).map(|_| polled.map(|it| it.revents()));
    seen.is_ok_and(|[seen]| seen.contains(PollFlags::HUP))
}

/// Makes the call in place of the command; the error is the system's.
fn perform(call: &libc::seccomp_notif, listener: &OwnedFd) -> io::Result<()> {
    let task = call.pid;
    let [descriptor, first, second, ..] = call.data.args;
    let descriptor = RawFd::try_from(descriptor & 0xffff_ffff).map_err(io::Error::other)?;
    let number = libc::c_long::from(call.data.nr);
    if number == libc::SYS_listen {
        let socket = socket_of(task, descriptor)?;
        // The number may belong to another process by now.
        still_waits(listener, call.id)?;
        return listen(&socket, first);
    }
    if number != libc::SYS_connect {
        return Err(io::Error::from_raw_os_error(libc::EPERM));
    }
    let length = usize::try_from(second).unwrap_or(usize::MAX);
    if length > LONGEST_ADDRESS {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    let mut address = [0_u8; LONGEST_ADDRESS];
    let Some(room) = address.get_mut(..length) else {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    };
    read_memory(task, first, room)?;
    let socket = socket_of(task, descriptor)?;
    let target = Target::of(room)?;
    match target {
        Target::Internet => {
            still_waits(listener, call.id)?;
            connect(&socket, room)
        }
        Target::Path(path) => {
            let found = find_socket(task, &path)?;
            still_waits(listener, call.id)?;
            let link = format!("/proc/self/fd/{}", found.as_raw_fd());
            connect(&socket, &unix_address(link.as_bytes()))
        }
    }
}

/// What may be connected to.
#[derive(Debug, PartialEq, Eq)]
enum Target {
    /// This machine, by a network address; or nothing, which ends a connection.
    Internet,
    /// A socket with this path, as the command sees it.
    Path(PathBuf),
}

impl Target {
    fn of(address: &[u8]) -> io::Result<Self> {
        let denied = || io::Error::from_raw_os_error(libc::EACCES);
        let (family, rest) = address
            .split_first_chunk::<2>()
            .ok_or_else(|| io::Error::from_raw_os_error(libc::EINVAL))?;
        match c_int::from(u16::from_ne_bytes(*family)) {
            libc::AF_UNSPEC | libc::AF_NETLINK => Ok(Self::Internet),
            libc::AF_INET => {
                let octets: [u8; 4] = part(rest, 2)?;
                is_local(Ipv4Addr::from(octets).into())
                    .then_some(Self::Internet)
                    .ok_or_else(denied)
            }
            libc::AF_INET6 => {
                let octets: [u8; 16] = part(rest, 6)?;
                is_local(Ipv6Addr::from(octets).into())
                    .then_some(Self::Internet)
                    .ok_or_else(denied)
            }
            libc::AF_UNIX => {
                let end = rest.iter().position(|byte| *byte == 0);
                let path = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
                if path.is_empty() {
                    // A name without a path reaches everybody.
                    return Err(denied());
                }
                Ok(Self::Path(
                    Path::new(std::ffi::OsStr::from_bytes(path)).to_owned(),
                ))
            }
            _ => Err(denied()),
        }
    }
}

fn part<const N: usize>(bytes: &[u8], from: usize) -> io::Result<[u8; N]> {
    let rest = bytes.get(from..).unwrap_or_default();
    let found = rest.first_chunk::<N>();
    found
        .copied()
        .ok_or_else(|| io::Error::from_raw_os_error(libc::EINVAL))
}

/// Whether an address is one of this machine's own; the unspecified one means it as well.
fn is_local(address: IpAddr) -> bool {
    let address = address.to_canonical();
    address.is_loopback() || address.is_unspecified()
}

/// The socket behind a path in the command's own file system.
fn find_socket(task: u32, path: &Path) -> io::Result<OwnedFd> {
    let process = PathBuf::from(format!("/proc/{task}"));
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let root = rustix::fs::open(process.join("root"), flags, Mode::empty())?;
    let path = if path.is_absolute() {
        path.to_owned()
    } else {
        hermes_fs::read_link(&process.join("cwd"))
            .map_err(io::Error::other)?
            .join(path)
    };
    let found = rustix::fs::openat2(root, path, flags, Mode::empty(), ResolveFlags::IN_ROOT)?;
    Ok(found)
}

fn unix_address(path: &[u8]) -> Vec<u8> {
    let family = u16::try_from(libc::AF_UNIX).unwrap_or(1);
    let mut address = family.to_ne_bytes().to_vec();
    address.extend_from_slice(path);
    address.push(0);
    address
}

#[expect(unsafe_code, reason = "takes an address of any family")]
fn connect(socket: &OwnedFd, address: &[u8]) -> io::Result<()> {
    let length = libc::socklen_t::try_from(address.len()).map_err(io::Error::other)?;
    // SAFETY: bytes of that length, of which the kernel takes a copy.
    checked(unsafe { libc::connect(socket.as_raw_fd(), address.as_ptr().cast(), length) })
}

/// Listens where only this machine can knock.
#[expect(unsafe_code, reason = "reads an address of any family")]
fn listen(socket: &OwnedFd, backlog: u64) -> io::Result<()> {
    let mut address = [0_u8; LONGEST_ADDRESS];
    let mut length = libc::socklen_t::try_from(address.len()).map_err(io::Error::other)?;
    // SAFETY: room of the length that is given.
    checked(unsafe {
        libc::getsockname(
            socket.as_raw_fd(),
            address.as_mut_ptr().cast(),
            &raw mut length,
        )
    })?;
    let family = c_int::from(u16::from_ne_bytes(part(&address, 0)?));
    let is_allowed = match family {
        libc::AF_INET => Ipv4Addr::from(part::<4>(&address, 4)?).is_loopback(),
        libc::AF_INET6 => IpAddr::from(Ipv6Addr::from(part::<16>(&address, 8)?))
            .to_canonical()
            .is_loopback(),
        _ => true,
    };
    if !is_allowed {
        return Err(io::Error::from_raw_os_error(libc::EACCES));
    }
    let backlog = c_int::try_from(backlog & 0xffff).unwrap_or(c_int::MAX);
    // SAFETY: a call on numbers.
    checked(unsafe { libc::listen(socket.as_raw_fd(), backlog) })
}

/// A copy of a descriptor of another process.
#[expect(unsafe_code, reason = "system calls without a safe interface")]
fn socket_of(task: u32, descriptor: RawFd) -> io::Result<OwnedFd> {
    let process =
        linux::process_of_thread(task).ok_or_else(|| io::Error::from_raw_os_error(libc::ESRCH))?;
    // SAFETY: calls on numbers; what they return are descriptors of ours.
    unsafe {
        let opened = libc::syscall(libc::SYS_pidfd_open, process, 0);
        let opened = descriptor_of(opened)?;
        let copied = libc::syscall(libc::SYS_pidfd_getfd, opened.as_raw_fd(), descriptor, 0_u32);
        descriptor_of(copied)
    }
}

#[expect(unsafe_code, reason = "takes a descriptor from a system call")]
unsafe fn descriptor_of(result: libc::c_long) -> io::Result<OwnedFd> {
    match RawFd::try_from(result) {
        // SAFETY: the call that returned it made it for us.
        Ok(number) if number >= 0 => Ok(unsafe { OwnedFd::from_raw_fd(number) }),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Bytes of another process.
#[expect(unsafe_code, reason = "there is no safe interface for it")]
fn read_memory(task: u32, address: u64, room: &mut [u8]) -> io::Result<()> {
    let ours = libc::iovec {
        iov_base: room.as_mut_ptr().cast(),
        iov_len: room.len(),
    };
    let theirs = libc::iovec {
        iov_base: address as *mut libc::c_void,
        iov_len: room.len(),
    };
    let task = libc::pid_t::try_from(task).map_err(io::Error::other)?;
    // SAFETY: writes into room of the length that is given; their side is checked by the kernel.
    let count =
        unsafe { libc::process_vm_readv(task, &raw const ours, 1, &raw const theirs, 1, 0) };
    if usize::try_from(count) == Ok(room.len()) {
        Ok(())
    } else {
        Err(io::Error::from_raw_os_error(libc::EFAULT))
    }
}

#[expect(unsafe_code, reason = "a request of the kernel on a structure")]
fn receive(listener: &OwnedFd) -> io::Result<libc::seccomp_notif> {
    // SAFETY: the kernel wants zeros, and writes a structure of this type.
    unsafe {
        let mut call: libc::seccomp_notif = std::mem::zeroed();
        let request = libc::SECCOMP_IOCTL_NOTIF_RECV;
        checked(libc::ioctl(listener.as_raw_fd(), request, &raw mut call))?;
        Ok(call)
    }
}

/// Whether the process still waits for this answer: its number may have another owner by now.
#[expect(unsafe_code, reason = "a request of the kernel on a number")]
fn still_waits(listener: &OwnedFd, id: u64) -> io::Result<()> {
    let request = libc::SECCOMP_IOCTL_NOTIF_ID_VALID;
    // SAFETY: the kernel reads a number.
    checked(unsafe { libc::ioctl(listener.as_raw_fd(), request, &raw const id) })
}

#[expect(unsafe_code, reason = "a request of the kernel on a structure")]
fn answer(listener: &OwnedFd, id: u64, result: io::Result<()>) {
    let error = result
        .err()
        .map_or(0, |error| -error.raw_os_error().unwrap_or(libc::EACCES));
    // SAFETY: a structure of numbers, all set.
    unsafe {
        let mut response: libc::seccomp_notif_resp = std::mem::zeroed();
        response.id = id;
        response.error = error;
        let request = libc::SECCOMP_IOCTL_NOTIF_SEND;
        // A process that was killed meanwhile needs no answer.
        libc::ioctl(listener.as_raw_fd(), request, &raw mut response);
    }
}

fn checked(result: c_int) -> io::Result<()> {
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn internet(family: c_int, before: usize, address: &[u8]) -> Vec<u8> {
        let mut bytes = u16::try_from(family).unwrap().to_ne_bytes().to_vec();
        bytes.extend(vec![0; before]);
        bytes.extend_from_slice(address);
        bytes.extend([0; 8]);
        bytes
    }

    #[test]
    fn only_addresses_of_this_machine_are_targets() {
        for (address, is_allowed) in [
            ("127.0.0.1", true),
            ("127.9.9.9", true),
            ("0.0.0.0", true),
            ("10.0.0.1", false),
            ("169.254.169.254", false),
            ("8.8.8.8", false),
        ] {
            let octets = address.parse::<Ipv4Addr>().unwrap().octets();
            let target = Target::of(&internet(libc::AF_INET, 2, &octets));
            assert_eq!(target.is_ok(), is_allowed, "{address}");
        }
        for (address, is_allowed) in [
            ("::1", true),
            ("::ffff:127.0.0.1", true),
            ("::ffff:8.8.8.8", false),
            ("fe80::1", false),
            ("2001:db8::1", false),
        ] {
            let octets = address.parse::<Ipv6Addr>().unwrap().octets();
            let target = Target::of(&internet(libc::AF_INET6, 6, &octets));
            assert_eq!(target.is_ok(), is_allowed, "{address}");
        }
    }

    #[test]
    fn sockets_have_a_path_or_are_out_of_reach() {
        let path = Target::of(&unix_address(b"/run/x.sock")).unwrap();
        assert_eq!(path, Target::Path("/run/x.sock".into()));
        for bytes in [
            &unix_address(b"\0abstract")[..],
            &unix_address(b""),
            b"",
            b"\0",
        ] {
            assert!(Target::of(bytes).is_err(), "{bytes:?}");
        }
    }
}
