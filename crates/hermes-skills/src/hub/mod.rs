//! Skills from elsewhere: where they come from, what was installed, and what is kept about it in
//! `skills/.hub/`, in the reference's formats.
//!
//! Everything fetched is bounded, scanned in quarantine and published by one rename. Repositories are
//! cloned by the safe git, files come over HTTP from the public web.

mod fetch;
mod fetched;
mod git;
mod identifier;
mod install;
mod lock;
mod search;
mod snapshot;
mod taps;
mod web;

pub use fetched::{FetchTools, FetchedSkill};
pub use install::{Installed, UpdateState};
pub use lock::InstalledSkill;
pub use search::FoundSkill;
pub use snapshot::Imported;
pub use taps::Tap;

use std::path::{Path, PathBuf};

/// The installed skills of a home.
#[derive(Debug, Clone)]
pub struct Hub {
    home: PathBuf,
}

impl Hub {
    /// That of a home. Touches nothing.
    pub fn new(home: &Path) -> Self {
        Self {
            home: home.to_owned(),
        }
    }

    fn skills(&self) -> PathBuf {
        self.home.join("skills")
    }

    fn directory(&self) -> PathBuf {
        self.skills().join(".hub")
    }

    fn quarantine(&self) -> PathBuf {
        self.directory().join("quarantine")
    }

    fn make_directories(&self) -> hermes_fs::Result<()> {
        hermes_fs::create_dir_all(&self.quarantine(), 0o700)?;
        hermes_fs::create_dir_all(&self.directory().join("index-cache"), 0o700)
    }
}

#[cfg(test)]
#[path = "hub_tests.rs"]
mod tests;
