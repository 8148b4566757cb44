//! What can go wrong with jobs, each with a way out.

use std::path::PathBuf;

use hermes_time::ScheduleError;

/// Why a job could not be read, changed or claimed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    File(#[from] hermes_fs::Error),
    #[error(transparent)]
    Store(#[from] hermes_store::Error),
    /// Nothing is written over such a file.
    #[error("{} cannot be read as a list of jobs: {reason}; it was left as it is", .path.display())]
    Damaged { path: PathBuf, reason: String },
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
    #[error("no such job: '{}'", hermes_text::shown(.0, 60))]
    NoSuchJob(String),
    #[error("several jobs are called '{}': {}", hermes_text::shown(.name, 60), .ids.join(", "))]
    Ambiguous { name: String, ids: Vec<String> },
    /// What was asked for makes no job.
    #[error("{message}")]
    Refused {
        message: String,
        hint: Option<String>,
    },
    #[error("job {0} is running already")]
    AlreadyRunning(String),
    #[error("another scheduler serves this home")]
    SchedulerRunning,
}

/// Results of this crate.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub(crate) fn refused(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Refused {
            message: message.into(),
            hint: Some(hint.into()),
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::File(error) => error.hint(),
            Self::Store(error) => error.hint(),
            Self::Damaged { path, .. } => Some(format!(
                "repair the file, or move it away to begin with an empty list: mv {0} {0}.damaged",
                path.display()
            )),
            Self::Schedule(error) => Some(error.hint().to_owned()),
            Self::NoSuchJob(_) => Some("`hermes cron list --all` shows all jobs".to_owned()),
            Self::Ambiguous { .. } => Some("use the id of the job".to_owned()),
            Self::Refused { hint, .. } => hint.clone(),
            Self::AlreadyRunning(_) => {
                Some("`hermes cron runs` shows when it has ended".to_owned())
            }
            Self::SchedulerRunning => {
                Some("`hermes cron status` shows which process it is".to_owned())
            }
        }
    }

    /// Whether the machine and not the user is at fault.
    pub fn is_outside(&self) -> bool {
        matches!(self, Self::File(error) if error.is_storage_full())
    }
}
