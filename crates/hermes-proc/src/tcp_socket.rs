//! The socket at one end of a TCP connection, as the kernel knows it.
//!
//! The kernel is asked for that one socket ([`sock_diag`]). Where it does not answer, its table
//! of all connections is read, which takes longer the more there are.

mod sock_diag;

use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

/// Tables of a machine with very many connections.
const TABLE_LIMIT: u64 = 64 << 20;
/// Connections in a row that the table has and the kernel does not tell of: after that it is not asked
/// any more. One without the part that answers looks for it anew every time, by starting a program.
const MOST_MISSED: u32 = 8;

/// Connections that were missed, since the kernel last told of one.
static MISSED: Missed = Missed(AtomicU32::new(0));

/// Counts what the kernel does not tell of.
struct Missed(AtomicU32);

impl Missed {
    /// What the kernel tells, as long as it tells anything; then what the table says.
    fn ask<T>(
        &self,
        kernel: impl FnOnce() -> Option<T>,
        table: impl FnOnce() -> Option<T>,
    ) -> Option<T> {
        let is_asked = self.0.load(Ordering::Relaxed) < MOST_MISSED;
        if let Some(found) = is_asked.then(kernel).flatten() {
            self.0.store(0, Ordering::Relaxed);
            return Some(found);
        }
        let listed = table();
        if is_asked && listed.is_some() {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
        listed
    }
}

/// A socket with a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Socket {
    /// The number by which the processes that hold it name it; 0 if none does.
    pub(crate) inode: u64,
    pub(crate) user: u32,
    /// The ends of its connection: its own, and the other one.
    pub(crate) ends: (SocketAddr, SocketAddr),
}

impl Socket {
    /// The socket of this network with these ends.
    pub(crate) fn with_ends(own: SocketAddr, other: SocketAddr) -> Option<Self> {
        let ends = (own, other);
        MISSED.ask(|| sock_diag::socket(ends), || Self::listed(ends))
    }

    /// The same by the table of all connections.
    fn listed(ends: (SocketAddr, SocketAddr)) -> Option<Self> {
        table_of("/proc/self/net", ends).ok().flatten()
    }

    /// Whether a process has the network of this socket: its table has the row.
    pub(crate) fn is_in_network_of(&self, pid: u32) -> bool {
        // Who has gone asks nothing; who cannot be asked may have it.
        match table_of(&format!("/proc/{pid}/net"), self.ends) {
            Ok(found) => found.is_some_and(|found| found.inode == self.inode),
            Err(error) => error != ErrorKind::NotFound,
        }
    }
}

/// The socket with these ends in the tables of a network.
fn table_of(directory: &str, ends: (SocketAddr, SocketAddr)) -> Result<Option<Socket>, ErrorKind> {
    let mut failed = None;
    for name in ["tcp", "tcp6"] {
        let path = PathBuf::from(directory).join(name);
        match hermes_fs::read_capped(&path, TABLE_LIMIT) {
            Ok(bytes) => {
                let text = String::from_utf8_lossy(&bytes);
                if let Some(found) = text.lines().find_map(|line| row(line, ends)) {
                    return Ok(Some(found));
                }
            }
            // A kernel without IPv6 has one table.
            Err(error) => failed = failed.or(error.io_kind().filter(|_| name == "tcp")),
        }
    }
    failed.map_or(Ok(None), Err)
}

/// A row of a table, if it is about a connection with these ends.
fn row(line: &str, ends: (SocketAddr, SocketAddr)) -> Option<Socket> {
    let mut fields = line.split_ascii_whitespace().skip(1);
    let is_end = |field: Option<&str>, end: SocketAddr| {
        let (address, port) = field?.split_once(':')?;
        (u16::from_str_radix(port, 16) == Ok(end.port())
            && address_of(address)? == end.ip().to_canonical())
        .then_some(())
    };
    is_end(fields.next(), ends.0)?;
    is_end(fields.next(), ends.1)?;
    let user = fields.nth(4)?.parse().ok()?;
    let inode = fields.nth(1)?.parse().ok()?;
    Some(Socket { inode, user, ends })
}

/// An address as the kernel writes it: words of four bytes, each in the order of this machine.
fn address_of(text: &str) -> Option<IpAddr> {
    let word = |at: usize| {
        let digits = text.get(at * 8..at * 8 + 8)?;
        Some(u32::from_str_radix(digits, 16).ok()?.to_ne_bytes())
    };
    match text.len() {
        8 => Some(Ipv4Addr::from(word(0)?).into()),
        32 => {
            let mut bytes = [0; 16];
            for (at, part) in bytes.chunks_exact_mut(4).enumerate() {
                part.copy_from_slice(&word(at)?);
            }
            Some(IpAddr::from(Ipv6Addr::from(bytes)).to_canonical())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn rows_are_known_by_both_ends() {
        let line = "   5: 0100007F:9C40 0100007F:238F 01 00000000:00000000 00:00000000 00000000  1000        0 4711 1 0000000000000000 20 4 30 10 -1";
        let ends = |local: &str, remote: &str| (local.parse().unwrap(), remote.parse().unwrap());
        let meant = ends("127.0.0.1:40000", "127.0.0.1:9103");
        let found = row(line, meant).unwrap();
        assert_eq!((found.inode, found.user), (4711, 1000));
        for other in [
            ends("127.0.0.1:9103", "127.0.0.1:40000"),
            ends("127.0.0.2:40000", "127.0.0.1:9103"),
            ends("127.0.0.1:40001", "127.0.0.1:9103"),
        ] {
            assert_eq!(row(line, other), None);
        }
        // One that speaks IPv6 and means the same machine.
        let mapped = line.replace("0100007F", "0000000000000000FFFF00000100007F");
        assert_eq!(row(&mapped, meant).unwrap().inode, 4711);
        assert_eq!(row("  sl  local_address rem_address   st", meant), None);
    }

    /// A connection to `address` of something that listens on `on`: the ends of the client.
    fn connected(on: &str, address: IpAddr) -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind(on).unwrap();
        let port = listener.local_addr().unwrap().port();
        let client = TcpStream::connect((address, port)).unwrap();
        (client, listener.accept().unwrap().0)
    }

    fn inode(stream: &TcpStream) -> u64 {
        rustix::fs::fstat(stream).unwrap().st_ino
    }

    #[test]
    fn a_single_question_and_the_table_agree() {
        let v4 = IpAddr::from(Ipv4Addr::LOCALHOST);
        let v6 = IpAddr::from(Ipv6Addr::LOCALHOST);
        let mapped = IpAddr::from(Ipv4Addr::LOCALHOST.to_ipv6_mapped());
        for (on, to) in [
            ("127.0.0.1:0", v4),
            ("[::1]:0", v6),
            // One end or both speak IPv6, and the connection is one of IPv4.
            ("[::]:0", v4),
            ("[::]:0", mapped),
            ("127.0.0.1:0", mapped),
        ] {
            let (client, server) = connected(on, to);
            for end in [&client, &server] {
                let ends = (end.local_addr().unwrap(), end.peer_addr().unwrap());
                let expected = Socket {
                    inode: inode(end),
                    user: rustix::process::geteuid().as_raw(),
                    ends,
                };
                assert_eq!(Socket::listed(ends).as_ref(), Some(&expected), "{on} {to}");
                assert_eq!(sock_diag::socket(ends), Some(expected), "{on} {to}");
            }
        }
    }

    #[test]
    fn a_connection_that_is_not_there_is_not_the_listener_of_its_port() {
        let (client, server) = connected("127.0.0.1:0", Ipv4Addr::LOCALHOST.into());
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let listening = listener.local_addr().unwrap();
        let elsewhere = SocketAddr::from((Ipv4Addr::new(127, 0, 0, 9), 9));
        for ends in [
            (listening, client.local_addr().unwrap()),
            (server.local_addr().unwrap(), elsewhere),
            (elsewhere, server.local_addr().unwrap()),
        ] {
            assert_eq!(sock_diag::socket(ends), None);
            assert_eq!(Socket::with_ends(ends.0, ends.1), None);
        }
    }
    #[test]
    fn a_kernel_that_tells_of_nothing_is_not_asked_for_ever() {
        let missed = Missed(AtomicU32::new(0));
        let asked = AtomicU32::new(0);
        let ask = |told: Option<u8>, listed: Option<u8>| {
            let kernel = || {
                asked.fetch_add(1, Ordering::Relaxed);
                told
            };
            missed.ask(kernel, || listed)
        };
        for _ in 0..MOST_MISSED * 2 {
            // Neither has it: whoever connected has gone.
            assert_eq!(ask(None, None), None);
            // It misses one now and then.
            assert_eq!(ask(None, Some(1)), Some(1));
            assert_eq!(ask(Some(2), None), Some(2));
        }
        asked.store(0, Ordering::Relaxed);
        for _ in 0..MOST_MISSED * 2 {
            assert_eq!(ask(None, Some(1)), Some(1));
        }
        assert_eq!(asked.load(Ordering::Relaxed), MOST_MISSED);
    }
}
