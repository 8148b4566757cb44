//! The connection that all share.
//!
//! `ssh` keeps it in a process of its own behind a socket. Everyone who uses it, in whichever process,
//! holds a share of the lock beside the socket; the last one to let go closes the connection. A user
//! that is killed loses its share by itself, and `ssh` closes a connection that nobody has used for
//! five minutes.

use std::time::Duration;

use hermes_fs::{LockOptions, SharedLock};
use hermes_telemetry::best_effort;

use super::client::SshClient;
use super::control::ControlPaths;
use super::diagnosis::down;
use hermes_terminal::remote::TransportError;

/// How long closing may take: it is a word to a process on this machine.
const CLOSING: Duration = Duration::from_secs(5);

/// A share in a connection.
#[derive(Debug)]
pub(crate) struct MuxUser {
    share: SharedLock,
    control: ControlPaths,
}

impl MuxUser {
    /// Takes a share. Waits while the last user of before closes the connection.
    pub(crate) fn join(control: &ControlPaths, target: &str) -> Result<Self, TransportError> {
        control.prepare()?;
        let what = format!("the connection to {target}");
        let share = SharedLock::acquire(&control.lock, &LockOptions::new(&what));
        Ok(Self {
            share: share.map_err(|error| down(error.to_string(), error.hint()))?,
            control: control.clone(),
        })
    }

    /// Lets go, and closes the connection if nobody else uses it. Says whether it did.
    pub(crate) fn leave(self, client: &SshClient) -> bool {
        let Self { share, control } = self;
        let alone = best_effort("release a shared connection", || share.release());
        let Some(Some(alone)) = alone else {
            return false;
        };
        if hermes_fs::exists_no_follow(&control.socket) {
            // It may have ended by itself, which is what `ssh` then says.
            best_effort("close the shared connection", || {
                client.control("exit", CLOSING)
            });
            best_effort("remove the socket of the shared connection", || {
                hermes_fs::remove_file_if_present(&control.socket)
            });
        }
        // Newcomers have waited at the lock, and open a connection of their own now.
        drop(alone);
        true
    }
}

/// Lets what runs over a connection go on, but nothing new begin: whoever comes next makes another.
pub(crate) fn put_aside(client: &SshClient, control: &ControlPaths) {
    best_effort("set a connection aside", || client.control("stop", CLOSING));
    best_effort("remove the socket of a connection", || {
        hermes_fs::remove_file_if_present(&control.socket)
    });
}
