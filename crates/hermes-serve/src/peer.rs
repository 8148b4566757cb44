//! Who is at the other end of a connection.

use std::net::{IpAddr, SocketAddr};

use hermes_proc::{TcpPeer, tcp_peer};
use tokio::sync::OnceCell;

/// The other end of one connection.
#[derive(Debug)]
pub struct Peer {
    ours: SocketAddr,
    theirs: SocketAddr,
    program: OnceCell<TcpPeer>,
}

impl Peer {
    pub(crate) fn new(ours: SocketAddr, theirs: SocketAddr) -> Self {
        Self {
            ours,
            theirs,
            program: OnceCell::new(),
        }
    }

    /// Its address.
    pub fn ip(&self) -> IpAddr {
        self.theirs.ip().to_canonical()
    }

    /// Which program of this machine it is. Looks at processes, once for a connection, away from the
    /// thread of the connections.
    pub async fn program(&self) -> &TcpPeer {
        let (ours, theirs) = (self.ours, self.theirs);
        let look = || async move {
            let looked = tokio::task::spawn_blocking(move || tcp_peer(ours, theirs)).await;
            looked.unwrap_or_else(|error| TcpPeer::Unknown(error.to_string()))
        };
        self.program.get_or_init(look).await
    }
}
