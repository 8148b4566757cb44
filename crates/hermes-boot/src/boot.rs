//! The boot hook: what happens at every start of a container before anything else runs.
//!
//! In two halves. The first is root's: numbers of the runtime user, groups, ownership. The second is
//! the runtime user's own: everything that is written into the home. Without root there is only the
//! second.

use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use hermes_config::{Environment, vars};

use crate::Log;
use crate::accounts::{Accounts, NAME, RuntimeUser};
use crate::ids::WantedIds;
use crate::{ownership, seed};

/// The volume, unless `HERMES_HOME` says otherwise.
const HOME: &str = "/opt/data";
/// Where the engine's socket may be mounted.
const SOCKETS: [&str; 2] = ["var/run/docker.sock", "run/docker.sock"];
/// Password and group files of a large site.
const ACCOUNTS_LIMIT: u64 = 16 << 20;

/// A start that cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum BootError {
    #[error("the container was started as user {uid}, which is neither root nor {NAME} ({own})")]
    ForeignUser { uid: u32, own: u32 },
    #[error("the image has no user {NAME}")]
    NoRuntimeUser,
}

impl BootError {
    /// What the user can do next.
    pub fn hint(&self) -> String {
        match self {
            Self::ForeignUser { .. } => {
                "leave --user out and set HERMES_UID and HERMES_GID (or PUID \
                and PGID) to the owner of the volume; or use --user 10000:10000"
                    .to_owned()
            }
            Self::NoRuntimeUser => {
                "its /etc/passwd was replaced; mount nothing over it, or add a line for the user"
                    .to_owned()
            }
        }
    }
}

/// Where a start happens, and who does it.
#[derive(Debug)]
pub struct Machine<'a> {
    pub env: &'a Environment,
    /// The effective user.
    pub uid: u32,
    /// Where absolute paths begin.
    pub root: &'a Path,
}

impl Machine<'_> {
    /// The home of the default profile.
    pub fn home(&self) -> PathBuf {
        let home = self.env.text(&vars::HERMES_HOME);
        home.map_or_else(|| PathBuf::from(HOME), PathBuf::from)
    }

    /// The runtime user as the image has it now.
    pub fn runtime_user(&self) -> Result<RuntimeUser, BootError> {
        let user = self.accounts().and_then(|accounts| accounts.runtime_user());
        user.ok_or(BootError::NoRuntimeUser)
    }

    /// Root's half; gives the runtime user with the numbers it has from now on. Called by the runtime
    /// user it checks, and changes nothing.
    pub fn prepare(&self, log: &mut Log<'_>) -> Result<RuntimeUser, BootError> {
        let user = self.runtime_user()?;
        if self.uid != 0 && self.uid != user.uid {
            return Err(BootError::ForeignUser {
                uid: self.uid,
                own: user.uid,
            });
        }
        let home = self.home();
        if let Err(error) = hermes_fs::create_dir_all(&home, 0o755) {
            log(&format!("warning: {error}"));
        }
        if self.uid != 0 {
            return Ok(user);
        }
        let user = self.change_accounts(user, log);
        ownership::hand_over(&home, user.uid, user.gid, log);
        Ok(user)
    }

    /// The runtime user's half.
    pub fn seed(&self, log: &mut Log<'_>) {
        seed::seed(&self.home(), self.env, log);
    }

    fn accounts(&self) -> Option<Accounts> {
        let read = |name: &str| {
            let bytes = hermes_fs::read_capped(&self.root.join(name), ACCOUNTS_LIMIT).ok()?;
            Some(String::from_utf8_lossy(&bytes).into_owned())
        };
        Some(Accounts {
            passwd: read("etc/passwd")?,
            group: read("etc/group")?,
        })
    }

    /// Other numbers and the group of the engine's socket.
    fn change_accounts(&self, user: RuntimeUser, log: &mut Log<'_>) -> RuntimeUser {
        let wanted = WantedIds::resolve(self.env);
        for warning in &wanted.warnings {
            log(warning);
        }
        let Some(before) = self.accounts() else {
            return user;
        };
        let mut changed = before.with_ids(wanted.uid, wanted.gid);
        if let Some(gid) = self.socket_group() {
            changed = changed.with_socket_group(gid);
        }
        if changed == before {
            return user;
        }
        for (name, old, new) in [
            ("etc/group", &before.group, &changed.group),
            ("etc/passwd", &before.passwd, &changed.passwd),
        ] {
            let path = self.root.join(name);
            if old != new
                && let Err(error) = hermes_fs::write_atomic(&path, new.as_bytes(), 0o644)
            {
                log(&format!(
                    "warning: {NAME} keeps its numbers and groups: {error}"
                ));
                return user;
            }
        }
        let changed = changed.runtime_user().unwrap_or(user);
        log(&format!("{NAME} is {}:{}", changed.uid, changed.gid));
        changed
    }

    /// The group of the engine's socket, if one is mounted.
    fn socket_group(&self) -> Option<u32> {
        SOCKETS.iter().find_map(|socket| {
            let meta = hermes_fs::metadata(&self.root.join(socket)).ok()?;
            meta.file_type().is_socket().then(|| meta.gid())
        })
    }
}

#[cfg(test)]
#[path = "boot_tests.rs"]
mod tests;
