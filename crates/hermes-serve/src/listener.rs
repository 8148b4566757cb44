//! The address a server listens on.

use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs as _};

/// Why a server cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// Somebody else has the port.
    #[error("port {port} on {host} is in use")]
    PortInUse { host: String, port: u16 },
    /// Anything else.
    #[error("cannot listen on {host}, port {port}: {source}")]
    Failed {
        host: String,
        port: u16,
        source: io::Error,
    },
}

/// A socket that listens. Nobody is answered before it is served.
#[derive(Debug)]
pub struct Listener {
    pub(crate) socket: TcpListener,
}

impl Listener {
    /// Listens on a name or an address of this machine; an IPv6 address may stand in brackets.
    pub fn bind(host: &str, port: u16) -> Result<Self, BindError> {
        Self::listen(host, port).map_err(|source| {
            let host = host.to_owned();
            match source.kind() {
                io::ErrorKind::AddrInUse => BindError::PortInUse { host, port },
                _ => BindError::Failed { host, port, source },
            }
        })
    }

    fn listen(host: &str, port: u16) -> io::Result<Self> {
        let name = host.trim_start_matches('[').trim_end_matches(']');
        let addresses: Vec<SocketAddr> = (name, port).to_socket_addrs()?.collect();
        let socket = TcpListener::bind(addresses.as_slice())?;
        socket.set_nonblocking(true)?;
        Ok(Self { socket })
    }

    /// Where it listens.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn taken_port_is_told_from_an_address_of_another_machine() {
        let first = Listener::bind("127.0.0.1", 0).unwrap();
        let port = first.address().unwrap().port();
        let error = Listener::bind("127.0.0.1", port).unwrap_err();
        assert!(matches!(error, BindError::PortInUse { .. }), "{error}");
        let error = Listener::bind("192.0.2.1", 0).unwrap_err();
        assert!(matches!(error, BindError::Failed { .. }), "{error}");
        assert!(error.to_string().contains("192.0.2.1"), "{error}");
    }
}
