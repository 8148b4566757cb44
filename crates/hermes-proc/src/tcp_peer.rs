//! Which program is at the other end of a TCP connection of this machine: an agent's, or not.
//!
//! The kernel says whose a connection is by the number of its socket, and which process holds that
//! socket by the links below `/proc`. A process that holds it is judged as the caller of a command is
//! ([`crate::agent_shell`]). A socket that no process is seen to hold is nobody's word for anything:
//! programs that may not be looked into (a tunnel of `sshd`) hold such, but so does an agent's command
//! that has put its socket away for a moment. So it counts as unknown as long as a command of an agent
//! runs that could have it.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::agent_shell;
use crate::identity::ancestors_of;
use crate::linux::{self, pids};
use crate::tcp_socket::Socket;

/// Programs that are looked at first, since they had a connection before.
const MOST_RECENT: usize = 8;

/// Who had a connection lately. A browser opens many.
static RECENT: Mutex<Vec<u32>> = Mutex::new(Vec::new());

/// What is known of the program at the other end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TcpPeer {
    /// No agent's.
    NotAnAgent,
    /// A command of an agent, or the program that runs its conversation.
    Agent(u32),
    /// It cannot be told; the text says why.
    Unknown(String),
}

/// The program that connected from `theirs` to `ours`, an address of this process. Looks through the
/// processes of this machine, which takes milliseconds.
pub fn tcp_peer(ours: SocketAddr, theirs: SocketAddr) -> TcpPeer {
    let unknown = |reason: &str| TcpPeer::Unknown(reason.to_owned());
    let Some(socket) = Socket::with_ends(theirs, ours) else {
        return unknown("the connection is not in this machine's table");
    };
    if socket.inode == 0 {
        return unknown("the program has gone");
    }
    let seen = Seen::of(&socket);
    if seen.holders.is_empty() {
        return unseen(&socket, &seen.closed);
    }
    for holder in &seen.holders {
        match agent_shell::evidence_about(*holder) {
            Ok(None) => {}
            Ok(Some(_)) => return TcpPeer::Agent(*holder),
            Err(_) => return unknown("the program has gone"),
        }
        if is_in_container(*holder) {
            return TcpPeer::Unknown(format!("process {holder} runs in a container"));
        }
    }
    remember(&seen.holders);
    TcpPeer::NotAnAgent
}

/// A connection whose holder cannot be seen: it may be any that cannot be looked into, and any command
/// that does not want to be found.
fn unseen(socket: &Socket, closed: &[u32]) -> TcpPeer {
    if linux::stat(1).is_none() {
        return TcpPeer::Unknown("processes are hidden from each other here".to_owned());
    }
    let is_here = |pid: u32| socket.is_in_network_of(pid);
    let marked = pids()
        .into_iter()
        .find(|pid| agent_shell::is_marked(*pid) && is_here(*pid));
    if let Some(pid) = marked {
        return TcpPeer::Unknown(format!(
            "it cannot be seen who asks, and it may be process {pid}, a command of Hermes"
        ));
    }
    let mut possible = closed.iter().filter(|pid| {
        let users = linux::users(**pid).unwrap_or_default();
        users.contains(&socket.user)
    });
    let Some(first) = possible.next() else {
        return TcpPeer::Unknown(format!(
            "no process of user {} that can be seen from here has it",
            socket.user
        ));
    };
    let contained = std::iter::once(first)
        .chain(possible)
        .find(|pid| is_in_container(**pid) && is_here(**pid));
    match contained {
        Some(pid) => TcpPeer::Unknown(format!(
            "it cannot be seen who asks, and it may be process {pid}, which runs in a container"
        )),
        None => TcpPeer::NotAnAgent,
    }
}

/// The processes of this machine, with regard to a socket.
#[derive(Debug, Default)]
struct Seen {
    /// Those that hold it.
    holders: Vec<u32>,
    /// Those whose descriptors cannot be looked at.
    closed: Vec<u32>,
}

impl Seen {
    fn of(socket: &Socket) -> Self {
        let link = PathBuf::from(format!("socket:[{}]", socket.inode));
        let recent = RECENT
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let mut seen = Self::default();
        // Whoever had a connection before probably has this one, alone.
        for pid in recent {
            seen.look(pid, &link);
            if !seen.holders.is_empty() {
                return seen;
            }
        }
        seen = Self::default();
        for pid in pids() {
            seen.look(pid, &link);
        }
        seen
    }

    fn look(&mut self, pid: u32, link: &Path) {
        match hermes_fs::read_dir(Path::new(&format!("/proc/{pid}/fd"))) {
            Ok(held) => {
                let is_it = |entry: &hermes_fs::Entry| {
                    hermes_fs::read_link(&entry.path).is_ok_and(|target| target == link)
                };
                if held.iter().any(is_it) {
                    self.holders.push(pid);
                }
            }
            Err(error) if error.io_kind() == Some(ErrorKind::NotFound) => {}
            Err(_) => self.closed.push(pid),
        }
    }
}

fn remember(holders: &[u32]) {
    let mut recent = RECENT.lock().unwrap_or_else(PoisonError::into_inner);
    for holder in holders {
        recent.retain(|known| known != holder);
        recent.insert(0, *holder);
    }
    recent.truncate(MOST_RECENT);
}

/// Whether a process is in a process space of its own that somebody else made: a container, which
/// carries no mark of whoever asked an engine for it. Browsers make such spaces for themselves.
fn is_in_container(pid: u32) -> bool {
    let depth = |pid: u32| linux::space_depth(pid).unwrap_or(usize::MAX);
    let own = depth(std::process::id());
    if depth(pid) <= own {
        return false;
    }
    let user = rustix::process::geteuid();
    let outside = ancestors_of(pid).into_iter().find(|one| depth(*one) <= own);
    let maker = outside.and_then(linux::users).unwrap_or_default();
    // Root's engines and root's browsers cannot be told apart.
    user.is_root() || maker.iter().any(|maker| *maker != user.as_raw()) || maker.is_empty()
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use pretty_assertions::assert_eq;

    use super::*;

    fn connected(address: &str) -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind(address).unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (server, _) = listener.accept().unwrap();
        (server, client)
    }

    fn ends(server: &TcpStream) -> (SocketAddr, SocketAddr) {
        (server.local_addr().unwrap(), server.peer_addr().unwrap())
    }

    #[test]
    fn own_connections_are_no_agents() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let (server, client) = connected(address);
            let (ours, theirs) = ends(&server);
            assert_eq!(tcp_peer(ours, theirs), TcpPeer::NotAnAgent);
            let socket = Socket::with_ends(theirs, ours).unwrap();
            assert_eq!(socket.user, rustix::process::geteuid().as_raw());
            assert!(socket.is_in_network_of(std::process::id()));
            drop(client);
            let TcpPeer::Unknown(reason) = tcp_peer(ours, theirs) else {
                panic!("somebody who has gone is known");
            };
            assert!(
                reason.contains("gone") || reason.contains("table"),
                "{reason}"
            );
        }
    }

    #[test]
    fn a_socket_that_nobody_is_seen_to_hold_is_unknown() {
        let (server, _client) = connected("127.0.0.1:0");
        let socket = Socket {
            inode: u64::MAX,
            user: u32::MAX,
            ends: ends(&server),
        };
        assert!(Seen::of(&socket).holders.is_empty());
        assert!(matches!(unseen(&socket, &[]), TcpPeer::Unknown(_)));
        // This process could have it, if it could not be looked into.
        let own = Socket {
            user: rustix::process::geteuid().as_raw(),
            ..socket
        };
        assert_eq!(unseen(&own, &[std::process::id()]), TcpPeer::NotAnAgent);
    }
}
