//! Telling the supervisor that the gateway is ready, alive, or about to stop: systemd by a datagram
//! to `NOTIFY_SOCKET`, s6 by a newline on a descriptor.
//!
//! A supervisor that cannot be reached never stops the gateway.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

use hermes_config::{Environment, vars};

/// Whom to tell.
#[derive(Debug)]
pub struct Readiness {
    socket: Option<SocketAddr>,
    /// The descriptor s6 listens on, by its number.
    descriptor: Option<u32>,
    watchdog: Option<Duration>,
}

impl Readiness {
    /// The supervisor that the environment names, and the descriptor of one that has none.
    pub fn new(env: &Environment, descriptor: Option<u32>) -> Self {
        let socket = env.text(&vars::NOTIFY_SOCKET).and_then(address);
        let microseconds: Option<u64> = env
            .text(&vars::WATCHDOG_USEC)
            .and_then(|text| text.trim().parse().ok());
        Self {
            watchdog: microseconds
                .filter(|number| *number > 0 && socket.is_some())
                .map(Duration::from_micros),
            socket,
            descriptor,
        }
    }

    /// The gateway serves from now on.
    pub fn ready(&mut self) {
        self.tell("READY=1\nSTATUS=serving");
        if let Some(number) = self.descriptor.take()
            && let Err(error) = hermes_proc::write_to_descriptor(number, b"\n")
        {
            tracing::warn!(%error, number, "could not tell the supervisor that the gateway is ready");
        }
    }

    /// The gateway is about to end.
    pub fn stopping(&self) {
        self.tell("STOPPING=1");
    }

    /// The gateway is alive.
    pub fn alive(&self) {
        if self.watchdog.is_some() {
            self.tell("WATCHDOG=1");
        }
    }

    /// How often to say so, if the supervisor wants to hear it.
    pub fn interval(&self) -> Option<Duration> {
        self.watchdog.map(|limit| limit / 2)
    }

    fn tell(&self, message: &str) {
        let Some(address) = &self.socket else { return };
        let sent = UnixDatagram::unbound().and_then(|socket| {
            socket.set_nonblocking(true)?;
            socket.send_to_addr(message.as_bytes(), address)
        });
        if let Err(error) = sent {
            tracing::debug!(%error, "could not tell systemd about the gateway");
        }
    }
}

/// `@name` is a name without a file.
fn address(text: &str) -> Option<SocketAddr> {
    match text.trim().strip_prefix('@') {
        Some(name) => SocketAddr::from_abstract_name(name).ok(),
        None => SocketAddr::from_pathname(text.trim()).ok(),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::fd::AsRawFd;

    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn systemd_hears_of_every_step() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("notify");
        let listener = UnixDatagram::bind(&path).unwrap();
        let pairs = [
            ("NOTIFY_SOCKET", path.to_str().unwrap()),
            ("WATCHDOG_USEC", "2000000"),
        ];
        let mut readiness = Readiness::new(&Environment::from_pairs(pairs), None);
        assert_eq!(readiness.interval(), Some(Duration::from_secs(1)));
        readiness.ready();
        readiness.alive();
        readiness.stopping();
        let mut heard = Vec::new();
        for _ in 0..3 {
            let mut buffer = [0; 64];
            let count = listener.recv(&mut buffer).unwrap();
            heard.push(String::from_utf8(buffer[..count].to_vec()).unwrap());
        }
        assert_eq!(
            heard,
            ["READY=1\nSTATUS=serving", "WATCHDOG=1", "STOPPING=1"]
        );
    }

    #[test]
    fn s6_gets_one_newline() {
        let (mut reader, writer) = std::io::pipe().unwrap();
        let number = u32::try_from(writer.as_raw_fd()).unwrap();
        let mut readiness = Readiness::new(&Environment::from_pairs([("", "")]), Some(number));
        readiness.ready();
        readiness.ready();
        drop(writer);
        let mut heard = String::new();
        reader.read_to_string(&mut heard).unwrap();
        assert_eq!(heard, "\n");
    }

    #[test]
    fn nobody_listening_is_no_trouble() {
        let env = Environment::from_pairs([
            ("NOTIFY_SOCKET", "/nowhere/at/all"),
            ("WATCHDOG_USEC", "soon"),
        ]);
        let mut readiness = Readiness::new(&env, Some(54_321));
        assert_eq!(readiness.interval(), None);
        readiness.ready();
        readiness.stopping();
    }
}
