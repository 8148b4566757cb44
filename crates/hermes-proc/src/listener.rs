//! Who is at the other end of a socket, and who listens on a port.

use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use crate::linux::pids;

/// Tables of a machine with very many connections.
const TABLE_LIMIT: u64 = 64 << 20;
/// The state of a socket that listens, as the kernel writes it.
const LISTENS: &str = "0A";

/// The user of the process that connected to a socket of this machine.
pub fn peer_user(stream: impl AsFd) -> io::Result<u32> {
    let peer = rustix::net::sockopt::socket_peercred(stream)?;
    Ok(peer.uid.as_raw())
}

/// The process that listens on a TCP port, if it can be seen from here: others' processes show their
/// sockets to root only.
pub fn listener_on(port: u16) -> Option<u32> {
    let mut sockets: Vec<String> = Vec::new();
    for table in ["/proc/self/net/tcp", "/proc/self/net/tcp6"] {
        // A kernel without IPv6 has no such table.
        let bytes = hermes_fs::read_capped(Path::new(table), TABLE_LIMIT).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        sockets.extend(listening_sockets(&text, port));
    }
    if sockets.is_empty() {
        return None;
    }
    pids().into_iter().find(|pid| {
        let held = hermes_fs::read_dir(Path::new(&format!("/proc/{pid}/fd"))).unwrap_or_default();
        held.iter().any(|entry| {
            let target = hermes_fs::read_link(&entry.path).unwrap_or_default();
            sockets.iter().any(|socket| target == Path::new(socket))
        })
    })
}

/// The sockets that listen on a port, as links below `/proc` name them.
fn listening_sockets(table: &str, port: u16) -> Vec<String> {
    let rows = table.lines().skip(1).filter_map(|line| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let (_, local) = fields.get(1)?.rsplit_once(':')?;
        let listens = fields.get(3) == Some(&LISTENS);
        let is_meant = u16::from_str_radix(local, 16) == Ok(port);
        let inode = fields.get(9)?;
        (listens && is_meant).then(|| format!("socket:[{inode}]"))
    });
    rows.collect()
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn the_process_that_listens_is_found() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        assert_eq!(listener_on(port), Some(std::process::id()));
        drop(listener);
        assert_eq!(listener_on(port), None);
    }

    #[test]
    fn connections_are_no_listeners() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
             0: 0100007F:21C2 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 77 1\n\
             1: 0100007F:21C2 0100007F:9999 01 00000000:00000000 00:00000000 00000000 0 0 78 1\n";
        assert_eq!(listening_sockets(table, 0x21C2), ["socket:[77]"]);
        assert!(listening_sockets(table, 0x9999).is_empty());
    }
}
