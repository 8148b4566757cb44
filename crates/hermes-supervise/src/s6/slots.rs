//! The scan directory of `s6-svscan`: adding, removing and controlling the slots in it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use hermes_config::{Environment, vars};
use hermes_fs::{FileLock, LockOptions};
use hermes_home::ProfileName;

use crate::manager::{Caller, ManagerError};
use crate::s6::slot_build::{self, Owner};
use crate::s6::slot_files::{SlotDefinition, profile_of_slot, slot_name};
use crate::s6::status::SlotStatus;
use crate::s6::tools::S6Tools;

/// Where the image has it.
const SCAN_DIRECTORY: &str = "run/service";
/// How long a supervisor may take to appear, or to be gone.
const SUPERVISOR_LIMIT: Duration = Duration::from_secs(2);
/// How long a gateway of a slot that is removed has to end.
const REMOVAL_LIMIT: Duration = Duration::from_secs(10);
/// How often something is looked at that tells nobody of a change.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// What became of a registration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Registered {
    New,
    /// There was a slot; it is as it was.
    Existing,
}

/// The slots of a machine.
#[derive(Debug, Clone)]
pub struct Slots {
    path: PathBuf,
    tools: S6Tools,
    owner: Owner,
}

impl Slots {
    /// The slots of the machine of this caller.
    pub fn new(caller: &Caller, env: &Environment) -> Self {
        let chosen = env.os(&vars::S6_PROFILE_GATEWAY_SCANDIR);
        let chosen = chosen.filter(|path| !path.is_empty()).map(PathBuf::from);
        Self {
            path: chosen.unwrap_or_else(|| caller.at(SCAN_DIRECTORY)),
            tools: S6Tools::new(caller),
            owner: Owner::of(caller),
        }
    }

    /// The scan directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn owner(&self) -> &Owner {
        &self.owner
    }

    pub(crate) fn slot(&self, profile: &ProfileName) -> PathBuf {
        self.path.join(slot_name(profile))
    }

    /// Whether a profile has a slot.
    pub fn has(&self, profile: &ProfileName) -> bool {
        is_slot(&self.slot(profile))
    }

    /// The profiles that have slots, by name.
    pub fn profiles(&self) -> Result<Vec<ProfileName>, ManagerError> {
        let is_named = |name: &OsStr| {
            name.to_str()
                .is_some_and(|name| name.starts_with("gateway-"))
        };
        let entries = match hermes_fs::read_dir_named(&self.path, is_named) {
            Ok(entries) => entries,
            Err(error) if error.is_not_found() => Vec::new(),
            Err(error) => return Err(error.into()),
        };
        let slots = entries.iter().filter(|entry| is_slot(&entry.path));
        Ok(slots
            .filter_map(|entry| profile_of_slot(entry.name.to_str()?))
            .collect())
    }

    /// What the slot of a profile does.
    pub fn status(&self, profile: &ProfileName) -> Result<SlotStatus, ManagerError> {
        self.tools.status(&self.demand(profile)?)
    }

    /// What another service of this scan directory does; `None` if there is no such service.
    pub fn status_of_service(&self, name: &str) -> Option<Result<SlotStatus, ManagerError>> {
        let service = self.path.join(name);
        service.is_dir().then(|| self.tools.status(&service))
    }

    /// Whether `s6-svscan` looks after the directory at this time.
    pub fn is_scanned(&self) -> bool {
        let control = self.path.join(".s6-svscan/control");
        hermes_fs::fifo_has_reader(&control).unwrap_or(false)
    }

    /// Whether the slot of a profile has a live supervisor.
    pub(crate) fn is_supervised(&self, profile: &ProfileName) -> bool {
        has_supervisor(&self.slot(profile))
    }

    /// Adds a slot and has it supervised. What fails leaves nothing behind.
    pub(crate) fn register(&self, slot: &SlotDefinition) -> Result<Registered, ManagerError> {
        let _lock = self.lock()?;
        if self.is_taken(&slot.profile)? {
            return Ok(Registered::Existing);
        }
        self.publish(slot)?;
        if let Err(error) = self.tools.rescan(&self.path, false) {
            self.take_back(&slot.profile);
            return Err(error);
        }
        self.wait_for_supervisor(&slot.profile);
        Ok(Registered::New)
    }

    /// Makes a slot what it should be, whatever is there, without telling `s6-svscan`.
    pub(crate) fn rebuild(&self, slot: &SlotDefinition) -> Result<(), ManagerError> {
        if self.is_taken(&slot.profile)? {
            let directory = self.slot(&slot.profile);
            // Of an earlier run of the container, or in use.
            if slot_build::refresh(&directory, slot, &self.owner)? {
                return Ok(());
            }
            if self.is_supervised(&slot.profile) {
                return Err(ManagerError::ForeignSlot(directory));
            }
            hermes_fs::remove_tree(&directory)?;
        }
        self.publish(slot)
    }

    /// Removes a slot with its supervisors; `false` if there was none.
    pub(crate) fn unregister(&self, profile: &ProfileName) -> Result<bool, ManagerError> {
        let _lock = self.lock()?;
        if !self.is_taken(profile)? {
            return Ok(false);
        }
        let slot = self.slot(profile);
        if has_supervisor(&slot) {
            self.control(profile, "stop", "-d")?;
            self.wait_until(profile, REMOVAL_LIMIT, |status| !status.is_up)?;
        }
        let removed = self.path.join(format!(".{}.del", slot_name(profile)));
        hermes_fs::remove_tree(&removed)?;
        // Out of sight first: as long as it is there its supervisors stay.
        hermes_fs::rename_unsynced(&slot, &removed)?;
        if let Err(error) = self.tools.rescan(&self.path, true) {
            hermes_fs::rename_unsynced(&removed, &slot)?;
            return Err(error);
        }
        let deadline = Instant::now() + SUPERVISOR_LIMIT;
        while (has_supervisor(&removed) || has_supervisor(&removed.join("log")))
            && Instant::now() < deadline
        {
            std::thread::sleep(LOOK_AGAIN);
        }
        hermes_fs::remove_tree(&removed)?;
        Ok(true)
    }

    /// Tells the supervisor of a slot something.
    pub(crate) fn control(
        &self,
        profile: &ProfileName,
        verb: &'static str,
        flag: &str,
    ) -> Result<(), ManagerError> {
        self.tools.control(&self.demand(profile)?, verb, flag)
    }

    /// Waits until a slot is in a state; the last state if that takes too long.
    pub(crate) fn wait_until(
        &self,
        profile: &ProfileName,
        limit: Duration,
        is_reached: impl Fn(SlotStatus) -> bool,
    ) -> Result<SlotStatus, ManagerError> {
        let deadline = Instant::now() + limit;
        loop {
            let status = self.status(profile)?;
            if is_reached(status) || Instant::now() >= deadline {
                return Ok(status);
            }
            std::thread::sleep(LOOK_AGAIN);
        }
    }

    /// Waits for the supervisor of a slot; whether there is one.
    pub(crate) fn wait_for_supervisor(&self, profile: &ProfileName) -> bool {
        let deadline = Instant::now() + SUPERVISOR_LIMIT;
        loop {
            if self.is_supervised(profile) {
                return true;
            }
            if Instant::now() >= deadline {
                return false;
            }
            std::thread::sleep(LOOK_AGAIN);
        }
    }

    /// Whether a slot stays down when its supervisor begins anew.
    pub(crate) fn set_down(
        &self,
        profile: &ProfileName,
        is_down: bool,
    ) -> Result<(), ManagerError> {
        let file = self.demand(profile)?.join("down");
        if is_down {
            hermes_fs::touch(&file, 0o644)?;
        } else {
            hermes_fs::remove_file_if_present(&file)?;
        }
        Ok(())
    }

    /// Has `s6-svscan` look at its directory.
    pub(crate) fn rescan(&self) -> Result<(), ManagerError> {
        self.tools.rescan(&self.path, false)
    }

    /// The slot of a profile, which must have one.
    fn demand(&self, profile: &ProfileName) -> Result<PathBuf, ManagerError> {
        let slot = self.slot(profile);
        if is_slot(&slot) {
            return Ok(slot);
        }
        Err(ManagerError::NoSlot {
            profile: profile.to_string(),
            directory: self.path.clone(),
        })
    }

    /// Whether there is a slot; anything else of its name is an error.
    fn is_taken(&self, profile: &ProfileName) -> Result<bool, ManagerError> {
        let slot = self.slot(profile);
        match hermes_fs::symlink_metadata(&slot) {
            Ok(meta) if meta.is_dir() => Ok(true),
            Ok(_) => Err(ManagerError::ForeignSlot(slot)),
            Err(error) if error.is_not_found() => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Builds a slot out of sight and gives it its name.
    fn publish(&self, slot: &SlotDefinition) -> Result<(), ManagerError> {
        let name = slot_name(&slot.profile);
        let staged = self.path.join(format!(".{name}.tmp"));
        hermes_fs::remove_tree(&staged)?;
        let built = slot_build::build(&staged, slot, &self.owner)
            .and_then(|()| Ok(hermes_fs::rename_unsynced(&staged, &self.path.join(name))?));
        if built.is_err() {
            // Why it could not be built is what is reported; nobody looks at a hidden directory.
            drop(hermes_fs::remove_tree(&staged));
        }
        built
    }

    /// Removes a slot that nobody was told of.
    fn take_back(&self, profile: &ProfileName) {
        let hidden = self.path.join(format!(".{}.del", slot_name(profile)));
        let removed = hermes_fs::remove_tree(&hidden)
            .and_then(|()| hermes_fs::rename_unsynced(&self.slot(profile), &hidden))
            .and_then(|()| hermes_fs::remove_tree(&hidden));
        if let Err(error) = removed {
            tracing::warn!(%error, "a service slot could not be taken back");
        }
    }

    /// Held while slots are added or removed.
    fn lock(&self) -> Result<FileLock, ManagerError> {
        let path = self.path.join(".gateway-slots.lock");
        let options = LockOptions {
            timeout: REMOVAL_LIMIT + SUPERVISOR_LIMIT,
            ..LockOptions::new("the service slots of the gateways")
        };
        Ok(FileLock::acquire(&path, &options)?)
    }
}

/// A directory, not a link to one.
fn is_slot(path: &Path) -> bool {
    hermes_fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir())
}

fn has_supervisor(service: &Path) -> bool {
    hermes_fs::fifo_has_reader(&service.join("supervise/control")).unwrap_or(false)
}
