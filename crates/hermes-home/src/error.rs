//! What can go wrong with a profile.

use std::path::PathBuf;

use hermes_config::yaml::EditError;

use crate::{AliasError, NameError, ProfileName};

/// Result of a profile operation.
pub type Result<T> = std::result::Result<T, Error>;

/// The reason of a step the caller supplied.
pub type StepError = Box<dyn std::error::Error + Send + Sync>;

/// A profile operation that did not happen.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Name(#[from] NameError),
    #[error("Profile '{name}' does not exist")]
    Missing { name: ProfileName },
    #[error("Profile '{name}' already exists at {}", path.display())]
    Exists { name: ProfileName, path: PathBuf },
    #[error("there is nothing to clone: {} is not a directory", path.display())]
    MissingSource { path: PathBuf },
    #[error("the default profile cannot be {action}")]
    DefaultProfile {
        /// Participle: "deleted", "renamed".
        action: &'static str,
    },
    #[error("--no-skills cannot be combined with a clone: cloning copies the skills of the source")]
    SkillsOfClone,
    #[error("'{name}' is gone, but {} could not be removed: {source}", left.display())]
    LeftBehind {
        name: ProfileName,
        left: PathBuf,
        source: hermes_fs::Error,
    },
    #[error("{}: {source}", path.display())]
    Yaml { path: PathBuf, source: EditError },
    #[error("'{shown}' is neither a git URL nor a directory")]
    UnknownSource { shown: String },
    #[error("{origin} is not a profile distribution: {reason}")]
    NotADistribution { origin: String, reason: String },
    #[error("this distribution needs Hermes {required}; this is {current}")]
    Version { required: String, current: String },
    #[error("Profile '{name}' was not installed from a distribution")]
    NotInstalled { name: ProfileName },
    #[error("git is needed to install from '{shown}' and was not found")]
    NoGit { shown: String },
    #[error("git could not fetch '{shown}': {message}")]
    Git {
        shown: String,
        /// The last line git wrote.
        message: String,
    },
    /// A step the caller supplied (copying a database, migrating settings) failed.
    #[error("could not {action} {}: {source}", path.display())]
    Step {
        /// Verb phrase that completes "could not … PATH".
        action: &'static str,
        path: PathBuf,
        source: StepError,
    },
    #[error(transparent)]
    Alias(#[from] AliasError),
    #[error(transparent)]
    Process(#[from] hermes_proc::Error),
    #[error(transparent)]
    File(#[from] hermes_fs::Error),
}

impl Error {
    /// What the user can do next, where we know.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Name(error) => error.hint(),
            Self::Missing { name } => Some(format!(
                "list the profiles with: hermes profile list, or create it with: hermes profile \
                 create {name}"
            )),
            Self::Exists { name, .. } => Some(format!(
                "pick another name, or inspect it with: hermes profile show {name}"
            )),
            Self::MissingSource { .. } => {
                Some("name an existing profile with --clone-from".to_owned())
            }
            Self::DefaultProfile { action } => (*action == "deleted")
                .then(|| "to remove everything, delete the directory ~/.hermes".to_owned()),
            Self::SkillsOfClone => Some("leave out --no-skills or the clone option".to_owned()),
            Self::LeftBehind { left, .. } => Some(format!("remove it by hand: {}", left.display())),
            Self::Yaml { path, .. } => Some(format!("correct {} and try again", path.display())),
            Self::UnknownSource { .. } => Some(
                "give a URL such as https://github.com/user/repo or a directory with a \
                 distribution.yaml"
                    .to_owned(),
            ),
            Self::NotADistribution { .. } => {
                Some("a distribution has a distribution.yaml with a name at its top".to_owned())
            }
            Self::Version { .. } => Some(
                "update Hermes, or ask for an older \
                distribution"
                    .to_owned(),
            ),
            Self::NotInstalled { .. } => Some(
                "only profiles made by 'hermes profile install' have a \
                    distribution"
                    .to_owned(),
            ),
            Self::NoGit { .. } => Some("install git, or give a directory".to_owned()),
            Self::Git { .. } => Some("check the address and your access to it".to_owned()),
            Self::Step { .. } => None,
            Self::Alias(error) => error.hint(),
            Self::Process(error) => error.hint(),
            Self::File(error) => error.hint(),
        }
    }
}
