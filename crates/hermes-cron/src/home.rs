//! The files of scheduled jobs in one profile.

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// Where the jobs of one profile are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CronHome {
    home: PathBuf,
}

impl CronHome {
    /// The files below the home of a profile. Touches nothing.
    pub fn new(home: &Path) -> Self {
        Self {
            home: home.to_owned(),
        }
    }

    /// The home of the profile.
    pub fn profile_home(&self) -> &Path {
        &self.home
    }

    /// The list of jobs.
    pub fn jobs_file(&self) -> PathBuf {
        self.directory().join("jobs.json")
    }

    /// The only directory whose scripts run.
    pub fn scripts(&self) -> PathBuf {
        self.home.join("scripts")
    }

    /// Whether anything ever ran, or was missed.
    pub fn has_history(&self) -> bool {
        self.ledger().is_file()
    }

    pub(crate) fn directory(&self) -> PathBuf {
        self.home.join("cron")
    }

    pub(crate) fn jobs_lock(&self) -> PathBuf {
        self.directory().join(".jobs.lock")
    }

    /// Held while somebody decides what is due.
    pub(crate) fn tick_lock(&self) -> PathBuf {
        self.directory().join(".tick.lock")
    }

    /// Held by a scheduler of ours as long as it lives.
    pub(crate) fn scheduler_lock(&self) -> PathBuf {
        self.directory().join(".scheduler.lock")
    }

    pub(crate) fn ledger(&self) -> PathBuf {
        self.directory().join("executions.db")
    }

    /// When a scheduler last looked, in seconds since 1970.
    pub(crate) fn heartbeat(&self) -> PathBuf {
        self.directory().join("ticker_heartbeat")
    }

    /// When it last looked and nothing failed.
    pub(crate) fn last_success(&self) -> PathBuf {
        self.directory().join("ticker_last_success")
    }

    /// The outputs of a job. An id that would lead elsewhere is refused.
    pub(crate) fn outputs(&self, id: &str) -> Result<PathBuf> {
        let is_name = !id.is_empty()
            && !matches!(id, "." | "..")
            && !id.contains(['/', '\\', '\0'])
            && id.len() <= 200;
        if !is_name {
            return Err(Error::refused(
                format!("'{}' cannot be the id of a job", hermes_text::shown(id, 60)),
                "remove the job from cron/jobs.json with an editor",
            ));
        }
        Ok(self.directory().join("output").join(id))
    }

    /// Makes the directories, for everything that writes. A home that has gone is not made again: a
    /// scheduler may serve it for long.
    pub(crate) fn ensure(&self) -> Result<()> {
        for directory in [self.directory(), self.directory().join("output")] {
            match hermes_fs::create_dir(&directory, 0o700) {
                Err(hermes_fs::Error::AlreadyExists { .. }) if directory.is_dir() => {}
                made => made?,
            }
        }
        Ok(())
    }

    /// The same, also for a home that nobody has used yet.
    pub(crate) fn ensure_new(&self) -> Result<()> {
        hermes_fs::create_dir_all(&self.home, 0o700)?;
        self.ensure()
    }
}
