//! The registrar: a service of root that adds and removes slots for the user of the gateways.
//!
//! It takes a verb and the name of a profile, and nothing else: what a slot runs is rendered here.
//! What lies in homes is read with the rights of that user.

use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use hermes_config::Environment;
use hermes_home::Location;

use crate::manager::{Caller, ManagerError};
use crate::s6::profile_home::ProfileHome;
use crate::s6::request::{LONGEST, Request, Verb};
use crate::s6::slot_build::Owner;
use crate::s6::slot_files::SlotDefinition;
use crate::s6::slots::{Registered, Slots};

/// How long a message may take to arrive, and an answer to be taken.
const MESSAGE_LIMIT: Duration = Duration::from_secs(2);

/// A registrar that listens.
#[derive(Debug)]
pub struct Registrar {
    listener: UnixListener,
    slots: Slots,
    location: Location,
    env: Environment,
    program: String,
    /// Who may ask, besides root.
    user: u32,
}

/// Why there is no registrar.
#[derive(Debug, thiserror::Error)]
pub enum RegistrarError {
    #[error("the registrar of service slots has to be root's, with an account `hermes` to serve")]
    NotRoot,
    #[error("could not listen on {}: {source}", path.display())]
    Socket {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error(transparent)]
    Manager(#[from] ManagerError),
}

impl Registrar {
    /// Listens on a socket, in the place of an earlier one.
    pub fn listen(
        socket: &Path,
        caller: &Caller,
        location: &Location,
        env: &Environment,
        program: &Path,
    ) -> Result<Self, RegistrarError> {
        let slots = Slots::new(caller, env);
        let Owner::Root(account) = slots.owner().clone() else {
            return Err(RegistrarError::NotRoot);
        };
        let files = |error: hermes_fs::Error| RegistrarError::Manager(error.into());
        if let Some(directory) = socket.parent() {
            hermes_fs::create_dir_all(directory, 0o755).map_err(files)?;
        }
        hermes_fs::remove_file_if_present(socket).map_err(files)?;
        let listener = UnixListener::bind(socket).map_err(|source| RegistrarError::Socket {
            path: socket.to_owned(),
            source,
        })?;
        slots.owner().share(socket, 0o660)?;
        Ok(Self {
            listener,
            user: account.uid,
            program: crate::definition::text(program)
                .unwrap_or_else(|_| program.to_string_lossy().into_owned()),
            slots,
            location: location.clone(),
            env: env.clone(),
        })
    }

    /// Answers until the process ends, one after the other. `tell` hears of every request.
    pub fn serve(&self, mut tell: impl FnMut(&str)) -> RegistrarError {
        loop {
            match self.listener.accept() {
                Ok((stream, _)) => self.attend(&stream, &mut tell),
                // Who connected has gone again; or a shortage that passes.
                Err(error) if error.kind() != ErrorKind::InvalidInput => {
                    tell(&format!("a connection could not be taken: {error}"));
                    std::thread::sleep(Duration::from_millis(100));
                }
                Err(source) => {
                    return RegistrarError::Socket {
                        path: PathBuf::new(),
                        source,
                    };
                }
            }
        }
    }

    fn attend(&self, stream: &UnixStream, tell: &mut impl FnMut(&str)) {
        let answer = match self.read(stream) {
            Ok(request) => {
                let line = request.line();
                let done = self.perform(&request);
                tell(&match &done {
                    Ok(done) => format!("{}: {done}", line.trim_end()),
                    Err(error) => format!("{}: {error}", line.trim_end()),
                });
                done.map_err(|error| error.to_string())
            }
            Err(reason) => {
                tell(&format!("refused: {reason}"));
                Err(reason)
            }
        };
        let line = match answer {
            Ok(done) => format!("ok {done}\n"),
            Err(reason) => format!("error {}\n", hermes_text::shown(&reason, LONGEST / 4)),
        };
        // Who does not take the answer goes without.
        let sent = stream
            .set_write_timeout(Some(MESSAGE_LIMIT))
            .and_then(|()| (&*stream).write_all(line.as_bytes()));
        if let Err(error) = sent {
            tell(&format!("an answer was not taken: {error}"));
        }
    }

    /// The request of somebody who may ask.
    fn read(&self, stream: &UnixStream) -> Result<Request, String> {
        let user = hermes_proc::peer_user(stream)
            .map_err(|error| format!("nobody knows who asks: {error}"))?;
        if user != 0 && user != self.user {
            return Err(format!("user {user} may not change service slots"));
        }
        Request::parse(&read_line(stream, MESSAGE_LIMIT)?)
    }

    fn perform(&self, request: &Request) -> Result<&'static str, ManagerError> {
        let home = ProfileHome {
            location: &self.location,
            profile: &request.profile,
            env: &self.env,
        };
        match request.verb {
            Verb::Register => {
                let facts = self.slots.owner().with_files(|| home.prepare())??;
                let slot = SlotDefinition {
                    profile: request.profile.clone(),
                    program: self.program.clone(),
                    stop_limit: facts.stop_limit,
                    is_down: !facts.is_wanted,
                };
                Ok(match self.slots.register(&slot)? {
                    Registered::New => "registered",
                    Registered::Existing => "exists",
                })
            }
            Verb::Unregister => Ok(if self.slots.unregister(&request.profile)? {
                "removed"
            } else {
                "absent"
            }),
            Verb::Rescan => {
                let facts = self.slots.owner().with_files(|| home.read())??;
                self.slots.set_down(&request.profile, !facts.is_wanted)?;
                self.slots.rescan()?;
                Ok("rescanned")
            }
        }
    }
}

/// One line, without its end, that has to arrive as a whole in good time.
pub(super) fn read_line(stream: &UnixStream, limit: Duration) -> Result<Vec<u8>, String> {
    let deadline = Instant::now() + limit;
    let mut line = Vec::new();
    let mut piece = [0; 256];
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err("the message did not end in time".to_owned());
        }
        let read = stream
            .set_read_timeout(Some(left))
            .and_then(|()| (&*stream).read(&mut piece));
        let count = match read {
            Ok(0) => return Err("the message broke off".to_owned()),
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) if [ErrorKind::WouldBlock, ErrorKind::TimedOut].contains(&error.kind()) => {
                continue;
            }
            Err(error) => return Err(format!("the message could not be read: {error}")),
        };
        let piece = piece.get(..count).unwrap_or_default();
        if let Some(end) = piece.iter().position(|byte| *byte == b'\n') {
            line.extend_from_slice(piece.get(..end).unwrap_or_default());
            return if line.len() <= LONGEST {
                Ok(line)
            } else {
                Err("the message is too long".to_owned())
            };
        }
        line.extend_from_slice(piece);
        if line.len() > LONGEST {
            return Err("the message is too long".to_owned());
        }
    }
}

#[cfg(test)]
#[path = "registrar_tests.rs"]
mod tests;
