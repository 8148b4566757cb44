//! Asking the registrar for a slot.

use std::io::Write;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::manager::{Caller, ManagerError};
use crate::s6::registrar::read_line;
use crate::s6::request::Request;

/// Where the registrar of the image listens.
const SOCKET: &str = "run/hermes/registrar.sock";
/// How long a registrar may take: it ends a gateway, and may be busy with another request.
const ANSWER_LIMIT: Duration = Duration::from_secs(40);
/// How long one that is started anew may be away.
const CONNECT_LIMIT: Duration = Duration::from_secs(2);
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// The registrar of this machine.
#[derive(Debug, Clone)]
pub(super) struct RegistrarClient {
    socket: PathBuf,
}

impl RegistrarClient {
    /// The registrar, if this machine has one.
    pub(super) fn find(caller: &Caller) -> Option<Self> {
        let socket = caller.at(SOCKET);
        let meta = hermes_fs::symlink_metadata(&socket).ok()?;
        meta.file_type().is_socket().then_some(Self { socket })
    }

    /// Asks, and waits for the answer: what was done.
    pub(super) fn ask(&self, request: &Request) -> Result<String, ManagerError> {
        let mut stream = self.connect()?;
        let sent = stream.write_all(request.line().as_bytes());
        sent.map_err(|error| ManagerError::Registrar(format!("took no message: {error}")))?;
        let answer = read_line(&stream, ANSWER_LIMIT)
            .map_err(|reason| ManagerError::Registrar(format!("gave no answer: {reason}")))?;
        let answer = String::from_utf8_lossy(&answer);
        match answer.split_once(' ') {
            Some(("ok", done)) => Ok(done.to_owned()),
            Some(("error", reason)) => Err(ManagerError::Registrar(format!("refused: {reason}"))),
            _ => Err(ManagerError::Registrar(
                "gave an answer that is not understood".to_owned(),
            )),
        }
    }

    fn connect(&self) -> Result<UnixStream, ManagerError> {
        let deadline = Instant::now() + CONNECT_LIMIT;
        loop {
            match UnixStream::connect(&self.socket) {
                Ok(stream) => return Ok(stream),
                Err(error) if Instant::now() >= deadline => {
                    let socket = self.socket.display();
                    let reason = format!("does not answer on {socket}: {error}");
                    return Err(ManagerError::Registrar(reason));
                }
                Err(_) => std::thread::sleep(LOOK_AGAIN),
            }
        }
    }
}
