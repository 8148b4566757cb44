//! Slots on the disk: built out of sight, with the directories that supervisors would otherwise make
//! for root alone.

use std::io::{ErrorKind, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::StatVfsMountFlags;

use crate::account::Account;
use crate::manager::{Caller, ManagerError};
use crate::s6::slot_files::{RUNTIME_USER, SlotDefinition, SlotFile};

/// Reads the script beside the link by which it was called.
const LAUNCHER: &str = "/opt/hermes/s6/launch/run-script";

/// A listening post for events: whoever may write in it can have a supervisor write a byte anywhere.
const EVENTS: u32 = 0o3730;
/// Scripts of a slot are below this size.
const FILE_LIMIT: u64 = 64 << 10;

/// Whose slots are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Owner {
    /// Root's, for gateways of this account. It may control its slots and change nothing in them:
    /// what root runs, and what root writes, is out of its reach.
    Root(Account),
    /// The caller's, who has to trust everything that runs as the same user.
    Caller,
}

impl Owner {
    /// Who owns what this caller makes.
    pub fn of(caller: &Caller) -> Self {
        let account = (caller.uid == 0)
            .then(|| Account::named(RUNTIME_USER, &caller.file_system_root))
            .flatten();
        account.map_or(Self::Caller, Self::Root)
    }

    /// Does `work` in the homes of profiles, with no more rights than their owner has.
    pub fn with_files<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, ManagerError> {
        match self {
            Self::Root(account) => hermes_proc::with_files_of(account.uid, account.gid, work)
                .map_err(ManagerError::Identity),
            Self::Caller => Ok(work()),
        }
    }

    /// Gives the runtime user's group a part in something of root's.
    pub(super) fn share(&self, path: &Path, mode: u32) -> Result<(), ManagerError> {
        let mode = match self {
            Self::Root(account) => match hermes_fs::chown(path, 0, account.gid) {
                Ok(()) => mode,
                // A root that may not give files away has nobody else in its container to keep out.
                Err(error) if error.io_kind() == Some(ErrorKind::PermissionDenied) => {
                    tracing::warn!(%error, "open to all users of this machine");
                    mode | (mode >> 3 & 0o7)
                }
                Err(error) => return Err(error.into()),
            },
            Self::Caller => mode,
        };
        // A change of the owner takes special bits away.
        hermes_fs::set_mode(path, mode)?;
        Ok(())
    }
}

/// Builds a slot in a directory that does not exist yet.
pub(super) fn build(
    directory: &Path,
    slot: &SlotDefinition,
    owner: &Owner,
) -> Result<(), ManagerError> {
    hermes_fs::create_dir(directory, 0o755)?;
    hermes_fs::create_dir(&directory.join("log"), 0o755)?;
    for file in slot.files() {
        write(directory, &file)?;
    }
    add_control(directory, owner)?;
    add_control(&directory.join("log"), owner)
}

/// Makes a slot that is there what it should be, touching what differs only. `false` if the slot may
/// have been made by somebody else, or is not whole: then it has to be built anew.
pub(super) fn refresh(
    directory: &Path,
    slot: &SlotDefinition,
    owner: &Owner,
) -> Result<bool, ManagerError> {
    let services = [directory.to_owned(), directory.join("log")];
    for service in &services {
        let is_ours = hermes_fs::Directory::open_own(service).is_ok();
        if !is_ours || !has_control(service, owner) {
            return Ok(false);
        }
    }
    for file in slot.files() {
        let path = directory.join(file.path);
        if !is_current(&path, &file) {
            hermes_fs::write_atomic_exact(&path, file.content.as_bytes(), file.mode)?;
        }
    }
    if !slot.is_down {
        hermes_fs::remove_file_if_present(&directory.join("down"))?;
    }
    for service in &services {
        share_control(service, owner)?;
    }
    Ok(true)
}

fn is_current(path: &Path, file: &SlotFile) -> bool {
    let meta = hermes_fs::symlink_metadata(path);
    meta.is_ok_and(|meta| meta.is_file() && meta.mode() & 0o7777 == file.mode)
        && hermes_fs::read_capped(path, FILE_LIMIT)
            .is_ok_and(|content| content == file.content.as_bytes())
}

/// Whether a service has what its supervisor is controlled by, in nobody else's hands.
fn has_control(service: &Path, owner: &Owner) -> bool {
    let supervise = service.join("supervise");
    let is_kept = match owner {
        Owner::Root(_) => hermes_fs::Directory::open_own(&supervise).is_ok(),
        Owner::Caller => true,
    };
    let is_pipe = hermes_fs::symlink_metadata(&supervise.join("control"))
        .is_ok_and(|meta| meta.file_type().is_fifo());
    is_kept && is_pipe && service.join("event").is_dir()
}

/// The directories and the pipe by which a supervisor is controlled. It accepts them as they are.
pub(super) fn add_control(service: &Path, owner: &Owner) -> Result<(), ManagerError> {
    let supervise = service.join("supervise");
    hermes_fs::create_dir(&service.join("event"), EVENTS)?;
    hermes_fs::create_dir(&supervise, 0o755)?;
    hermes_fs::create_dir(&supervise.join("event"), EVENTS)?;
    hermes_fs::create_fifo(&supervise.join("control"), 0o660)?;
    share_control(service, owner)
}

/// Lets the user of the gateways control a service of root's. Search alone in its directory: a link
/// in it would have root write where it points.
fn share_control(service: &Path, owner: &Owner) -> Result<(), ManagerError> {
    if let Owner::Root(_) = owner {
        owner.share(&service.join("supervise"), 0o710)?;
        owner.share(&service.join("supervise/control"), 0o660)?;
    }
    Ok(())
}

/// Without waiting for the disk: what is below `/run` does not outlive the machine.
fn write(directory: &Path, file: &SlotFile) -> Result<(), ManagerError> {
    let is_script = file.mode & 0o111 != 0;
    if is_script && runs_nothing(directory) {
        hermes_fs::symlink(Path::new(LAUNCHER), &directory.join(file.path))?;
    }
    let path = content_path(directory, file);
    let mut created = hermes_fs::create_new(&path, file.mode)?;
    let written = created.write_all(file.content.as_bytes());
    written.map_err(hermes_fs::Error::io("write", &path))?;
    // The umask may have cut it.
    hermes_fs::set_mode(&path, file.mode)?;
    Ok(())
}

/// Where the content of a file of a slot lies: for a script that cannot be executed in its place,
/// beside the link to the program that reads it.
fn content_path(directory: &Path, file: &SlotFile) -> PathBuf {
    let path = directory.join(file.path);
    if hermes_fs::read_link(&path).is_ok() {
        path.with_extension("sh")
    } else {
        path
    }
}

/// Whether the file system is mounted so that no program of it can be executed, as engines mount
/// `--tmpfs`.
fn runs_nothing(directory: &Path) -> bool {
    Path::new(LAUNCHER).exists()
        && rustix::fs::statvfs(directory)
            .is_ok_and(|system| system.f_flag.contains(StatVfsMountFlags::NOEXEC))
}
