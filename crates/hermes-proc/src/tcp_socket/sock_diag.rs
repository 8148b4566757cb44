//! One question to the kernel about one TCP socket, over `NETLINK_SOCK_DIAG`.
//!
//! It answers from the hash of its connections, so the time does not grow with their number. Anything
//! but a plain answer counts as none: the kernel may lack that part or refuse it, sockets bound to a
//! device are not found without its name, and where no connection has the ends, the socket that listens
//! comes instead.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recvfrom, send,
    socket_with,
};

use super::Socket;

/// `SOCK_DIAG_BY_FAMILY`.
const BY_FAMILY: u16 = 20;
/// `NLM_F_REQUEST`.
const IS_REQUEST: u16 = 1;
/// Bytes of a header, and of a request with it.
const HEADER: usize = 16;
const REQUEST: usize = HEADER + 56;
/// Room for an answer with what a later kernel may add.
const ROOM: usize = 1024;

/// The socket with these ends, its own first.
pub(crate) fn socket(ends: (SocketAddr, SocketAddr)) -> Option<Socket> {
    let kernel = socket_with(
        AddressFamily::NETLINK,
        SocketType::DGRAM,
        SocketFlags::CLOEXEC,
        Some(netlink::SOCK_DIAG),
    )
    .ok()?;
    send(&kernel, &request(ends), SendFlags::empty()).ok()?;
    let mut room = [0; ROOM];
    // The kernel has answered before `send` returns.
    let (received, _, from) = recvfrom(&kernel, &mut room, RecvFlags::DONTWAIT).ok()?;
    // Root's programs can write to this socket, too.
    let from = netlink::SocketAddrNetlink::try_from(from?).ok()?;
    (from.pid() == 0).then_some(())?;
    answered(room.get(..received)?, ends)
}

/// `struct nlmsghdr` and `struct inet_diag_req_v2`.
fn request((own, other): (SocketAddr, SocketAddr)) -> [u8; REQUEST] {
    let (own, other) = (canonical(own), canonical(other));
    let mut bytes = Vec::with_capacity(REQUEST);
    bytes.extend(u32::try_from(REQUEST).unwrap_or_default().to_ne_bytes());
    bytes.extend(BY_FAMILY.to_ne_bytes());
    bytes.extend(IS_REQUEST.to_ne_bytes());
    // A number and a sender, for those who ask more than once.
    bytes.extend([0; 8]);
    let (family, own_ip, other_ip) = match (own.ip(), other.ip()) {
        (IpAddr::V4(own), IpAddr::V4(other)) => (libc::AF_INET, words(own), words(other)),
        (own, other) => (libc::AF_INET6, octets(own), octets(other)),
    };
    let one = |number: i32| u8::try_from(number).unwrap_or_default();
    bytes.extend([one(family), one(libc::IPPROTO_TCP), 0, 0]);
    // In any state.
    bytes.extend(u32::MAX.to_ne_bytes());
    bytes.extend(own.port().to_be_bytes());
    bytes.extend(other.port().to_be_bytes());
    bytes.extend(own_ip);
    bytes.extend(other_ip);
    // On any interface, and whatever the kernel's cookie for it is.
    bytes.extend([0; 4]);
    bytes.extend([0xff; 8]);
    bytes.try_into().unwrap_or([0; REQUEST])
}

/// Reads `struct nlmsghdr` and `struct inet_diag_msg`.
fn answered(bytes: &[u8], ends: (SocketAddr, SocketAddr)) -> Option<Socket> {
    let mut fields = Fields(bytes);
    fields.skip(4)?;
    (u16::from_ne_bytes(fields.take()?) == BY_FAMILY).then_some(())?;
    fields.skip(10)?;
    let [family, _state, _timer, _retransmits] = fields.take()?;
    let own_port = u16::from_be_bytes(fields.take()?);
    let other_port = u16::from_be_bytes(fields.take()?);
    let own = SocketAddr::new(address(family, fields.take()?)?, own_port);
    let other = SocketAddr::new(address(family, fields.take()?)?, other_port);
    // Interface and cookie; timer, and what is in the queues.
    fields.skip(12 + 12)?;
    let user = u32::from_ne_bytes(fields.take()?);
    let inode = u64::from(u32::from_ne_bytes(fields.take()?));
    let is_it = own == canonical(ends.0) && other == canonical(ends.1);
    is_it.then_some(Socket { inode, user, ends })
}

/// Without what is not of the connection: how an address is written, zones and labels.
fn canonical(end: SocketAddr) -> SocketAddr {
    SocketAddr::new(end.ip().to_canonical(), end.port())
}

fn words(address: Ipv4Addr) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..4].copy_from_slice(&address.octets());
    bytes
}

fn octets(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
        IpAddr::V6(address) => address.octets(),
    }
}

fn address(family: u8, bytes: [u8; 16]) -> Option<IpAddr> {
    match i32::from(family) {
        libc::AF_INET => {
            let [a, b, c, d, ..] = bytes;
            Some(Ipv4Addr::new(a, b, c, d).into())
        }
        libc::AF_INET6 => Some(IpAddr::from(Ipv6Addr::from(bytes)).to_canonical()),
        _ => None,
    }
}

/// Bytes that are read from the front.
struct Fields<'b>(&'b [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*first)
    }

    fn skip(&mut self, count: usize) -> Option<()> {
        self.0 = self.0.get(count..)?;
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn only_a_whole_answer_about_these_ends_counts() {
        let ends = (
            "127.0.0.1:40000".parse().unwrap(),
            "127.0.0.1:9103".parse().unwrap(),
        );
        let mut bytes = request(ends).to_vec();
        // An answer has the ends where a request has them.
        bytes.truncate(HEADER + 4);
        bytes.extend_from_slice(&request(ends)[HEADER + 8..]);
        bytes.extend([0; 12]);
        bytes.extend(1000_u32.to_ne_bytes());
        bytes.extend(4711_u32.to_ne_bytes());
        let expected = Socket {
            inode: 4711,
            user: 1000,
            ends,
        };
        assert_eq!(answered(&bytes, ends), Some(expected));
        assert_eq!(answered(&bytes, (ends.1, ends.0)), None);
        for short in 0..bytes.len() {
            assert_eq!(answered(&bytes[..short], ends), None);
        }
        // An error of the kernel.
        bytes[4..6].copy_from_slice(&2_u16.to_ne_bytes());
        assert_eq!(answered(&bytes, ends), None);
    }
}
