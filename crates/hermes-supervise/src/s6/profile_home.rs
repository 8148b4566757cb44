//! The home of a profile, as far as its slot depends on it.
//!
//! All of this is done with the rights of the user that gateways run as, whoever asks.

use std::path::PathBuf;
use std::time::Duration;

use hermes_config::{Config, Environment, Sources};
use hermes_home::{Location, ProfileName};

use crate::definition::{drain_timeout, stop_limit};
use crate::manager::ManagerError;
use crate::s6::log_directory;
use crate::state_file::{DesiredState, StateFile};

/// The home of one profile.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ProfileHome<'a> {
    pub(crate) location: &'a Location,
    pub(crate) profile: &'a ProfileName,
    pub(crate) env: &'a Environment,
}

/// What a home says about its slot.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HomeFacts {
    pub(crate) stop_limit: Duration,
    /// Whether the operator wants the gateway to run.
    pub(crate) is_wanted: bool,
}

impl ProfileHome<'_> {
    /// Makes the home ready for its slot and reads what the slot depends on.
    pub(crate) fn prepare(&self) -> Result<HomeFacts, ManagerError> {
        self.open()?;
        log_directory::prepare(&self.location.root, self.profile)?;
        self.read()
    }

    /// Reads what the slot depends on; changes nothing.
    pub(crate) fn read(&self) -> Result<HomeFacts, ManagerError> {
        let home = self.open()?;
        let config = Config::load_read_only(&Sources::new(self.env, &home));
        let state = StateFile::of_home(&home).read().unwrap_or_default();
        let wanted = state.get("desired_state").and_then(|value| value.as_str());
        Ok(HomeFacts {
            stop_limit: stop_limit(drain_timeout(&config)),
            is_wanted: wanted == Some(DesiredState::Running.name()),
        })
    }

    /// The home, which must be a directory that can be entered.
    fn open(&self) -> Result<PathBuf, ManagerError> {
        let home = self.location.profile_home(self.profile);
        if !home.is_dir() {
            return Err(ManagerError::NoProfile(self.profile.to_string()));
        }
        hermes_fs::Directory::open(&home)?;
        Ok(home)
    }
}
