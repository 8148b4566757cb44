//! Descriptors that a child and its parent hand over, one at a time.

use std::ffi::c_int;
use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{OwnedFd, RawFd};
use std::os::unix::net::UnixStream;

use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};

/// Writes to a descriptor that this process was started with and knows by its number only. Not by its
/// path below `/proc`: a pipe that root made before it started us cannot be opened again.
#[expect(unsafe_code, reason = "the number may be wrong, which is an error")]
pub fn write_to_descriptor(number: u32, bytes: &[u8]) -> io::Result<()> {
    let wrong = |_| io::Error::from(rustix::io::Errno::BADF);
    let number = c_int::try_from(number).map_err(wrong)?;
    // SAFETY: a system call on a number and on memory that outlives it. Nothing is closed.
    let written = unsafe { libc::write(number, bytes.as_ptr().cast(), bytes.len()) };
    if written < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// The descriptor that a child has sent.
pub(crate) fn received(socket: &UnixStream, flags: RecvFlags) -> io::Result<OwnedFd> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let flags = RecvFlags::CMSG_CLOEXEC | flags;
    recvmsg(
        socket,
        &mut [IoSliceMut::new(&mut byte)],
        &mut control,
        flags,
    )?;
    let mut received = control.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    });
    received
        .next()
        .ok_or_else(|| io::Error::other("the child handed nothing over"))
}

/// A message with one descriptor in it.
#[repr(C)]
struct DescriptorMessage {
    header: libc::cmsghdr,
    descriptor: c_int,
    padding: c_int,
}

/// Hands a descriptor to the parent, with a system call and nothing else.
#[expect(unsafe_code, reason = "a system call without a safe interface")]
pub(crate) unsafe fn send_descriptor(socket: RawFd, descriptor: c_int) -> isize {
    let mut byte = 0_u8;
    let mut data = libc::iovec {
        iov_base: (&raw mut byte).cast(),
        iov_len: 1,
    };
    // SAFETY: structures of the kernel's layout on our stack, all set before the call.
    unsafe {
        let mut control: DescriptorMessage = std::mem::zeroed();
        let length = size_of::<libc::cmsghdr>() + size_of::<c_int>();
        control.header.cmsg_len = length as _;
        control.header.cmsg_level = libc::SOL_SOCKET;
        control.header.cmsg_type = libc::SCM_RIGHTS;
        control.descriptor = descriptor;
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &raw mut data;
        message.msg_iovlen = 1;
        message.msg_control = (&raw mut control).cast();
        message.msg_controllen = size_of::<DescriptorMessage>() as _;
        libc::sendmsg(socket, &raw const message, 0)
    }
}
