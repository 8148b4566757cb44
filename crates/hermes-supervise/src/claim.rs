//! The right to be the gateway of a home: `gateway.lock`, held for life, and `gateway.pid`.
//!
//! The lock is `flock` on the reference's file, so that its gateway and ours exclude each other. The
//! file is never unlinked here; but commands of the reference delete it under a running gateway, so
//! its owner looks from time to time whether it is still there ([`GatewayClaim::verify`]). That also
//! renews a heartbeat in it, for gateways on other machines that do not see the lock.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use hermes_fs::{FileLock, LockOptions};
use hermes_home::{gateway_elsewhere, gateway_pid, owner_elsewhere_beside, recorded_gateway};
use serde_json::Value;

use crate::PidRecord;

/// How long a start tries to get the lock: a status command may hold it for a moment.
const TRIES_FOR: Duration = Duration::from_millis(500);

/// Records are a few hundred bytes.
const RECORD_LIMIT: u64 = 1024 * 1024;

/// Why a process cannot be the gateway of a home.
#[derive(Debug, thiserror::Error)]
pub enum ClaimError {
    #[error("{}", held_by(*pid))]
    Held {
        /// The other gateway, if it can be seen from here.
        pid: Option<u32>,
    },
    #[error(
        "another gateway is already running for this home, in another container or on another \
         machine: on host {host}"
    )]
    Elsewhere {
        /// The name of the other host.
        host: String,
    },
    #[error(transparent)]
    File(#[from] hermes_fs::Error),
}

fn held_by(pid: Option<u32>) -> String {
    match pid {
        Some(pid) => format!("another gateway is already running for this home (PID {pid})"),
        None => "another gateway is already running for this home; its process cannot be seen \
                 from here, so it may be in another container"
            .to_owned(),
    }
}

/// The lock and the pid file of a home. Dropped, both are given back.
#[derive(Debug)]
pub struct GatewayClaim {
    home: PathBuf,
    record: PidRecord,
    /// More than one if the file was deleted and made again.
    locks: Vec<FileLock>,
}

impl GatewayClaim {
    /// Takes the lock, then creates the pid file. Files of gateways that are gone are replaced.
    pub fn take(home: &Path, record: PidRecord) -> Result<Self, ClaimError> {
        let lock = lock(home, &record)?;
        // It may hold a file of this name that was deleted.
        if let Some(pid) = recorded_gateway(home).filter(|pid| *pid != record.pid) {
            return Err(ClaimError::Held { pid: Some(pid) });
        }
        lock.write(record.to_lock_json().as_bytes())?;
        let claim = Self {
            home: home.to_owned(),
            record,
            locks: vec![lock],
        };
        hermes_fs::remove_file_if_present(&claim.pid_file())?;
        claim.write_pid_file()?;
        Ok(claim)
    }

    /// Checks that nobody has taken our place, mends what was deleted and renews the heartbeat.
    pub fn verify(&mut self) -> Result<(), ClaimError> {
        let own = match self.locks.last() {
            Some(lock) if lock.is_in_place()? => Some(lock),
            _ => None,
        };
        if let Some(own) = own {
            // Another machine took us for dead, and its file system knows nothing of our lock.
            refuse_other_host(&self.home, &self.record)?;
            own.write(self.record.to_lock_json().as_bytes())?;
        } else {
            let new = lock(&self.home, &self.record)?;
            new.write(self.record.to_lock_json().as_bytes())?;
            tracing::warn!("gateway.lock was deleted and has been made again");
            self.locks.push(new);
            // The first was ours alone and no path leads to it: nobody can ask for it.
            self.locks.drain(..self.locks.len() - 1);
        }
        match self.write_pid_file() {
            // There, as it should be.
            Err(hermes_fs::Error::AlreadyExists { .. }) => Ok(()),
            Ok(()) => {
                tracing::warn!("gateway.pid was deleted and has been made again");
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    fn pid_file(&self) -> PathBuf {
        self.home.join("gateway.pid")
    }

    fn write_pid_file(&self) -> hermes_fs::Result<()> {
        let path = self.pid_file();
        let mut file = hermes_fs::create_new(&path, 0o600)?;
        let written = file.write_all(self.record.to_json().as_bytes());
        written.map_err(hermes_fs::Error::io("write", &path))
    }

    fn owns_pid_file(&self) -> bool {
        let bytes = hermes_fs::read_optional(&self.pid_file(), RECORD_LIMIT);
        let record: Option<Value> = bytes
            .ok()
            .flatten()
            .and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let pid = record.and_then(|record| record.get("pid")?.as_u64());
        pid == Some(u64::from(self.record.pid))
    }
}

impl Drop for GatewayClaim {
    fn drop(&mut self) {
        // What is left behind names a process that is no more, and the next gateway replaces it.
        if self.owns_pid_file() {
            drop(hermes_fs::remove_file_if_present(&self.pid_file()));
        }
        if refuse_other_host(&self.home, &self.record).is_ok() {
            for lock in &self.locks {
                drop(lock.write(b""));
            }
        }
    }
}

/// A lock that is ours says nothing about machines whose locks are not seen here.
fn refuse_other_host(home: &Path, own: &PidRecord) -> Result<(), ClaimError> {
    let other = own
        .space()
        .and_then(|own| owner_elsewhere_beside(home, own));
    match other {
        Some(host) => Err(ClaimError::Elsewhere { host }),
        None => Ok(()),
    }
}

/// Takes the lock on the file that the path leads to.
fn lock(home: &Path, own: &PidRecord) -> Result<FileLock, ClaimError> {
    let path = home.join("gateway.lock");
    let deadline = Instant::now() + TRIES_FOR;
    loop {
        let options = LockOptions {
            timeout: deadline.saturating_duration_since(Instant::now()),
            ..LockOptions::new("the gateway of this home")
        };
        match FileLock::acquire(&path, &options) {
            Ok(lock) if lock.is_in_place()? => {
                refuse_other_host(home, own)?;
                return Ok(lock);
            }
            // Deleted between opening and locking.
            Ok(_) => {}
            Err(hermes_fs::Error::LockTimeout { .. }) => {
                return Err(match gateway_elsewhere(home) {
                    Some(host) => ClaimError::Elsewhere { host },
                    None => ClaimError::Held {
                        pid: gateway_pid(home),
                    },
                });
            }
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(test)]
#[path = "claim_tests.rs"]
mod tests;
