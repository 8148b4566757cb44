//! Why something about hosts is refused.

use crate::id::TaskId;

/// Two installations with one id: one of them is a copy.
#[derive(Debug, thiserror::Error)]
#[error(
    "two installations use the host id {id}: '{other}' ({other_home}), seen {seen} s ago, and \
     this one, '{own}' ({own_home})"
)]
pub struct SharedHostId {
    pub id: String,
    pub other: String,
    pub other_home: String,
    /// Seconds since its last heartbeat.
    pub seen: i64,
    pub own: String,
    pub own_home: String,
}

/// A refusal. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    #[error(transparent)]
    IdTaken(#[from] Box<SharedHostId>),
    #[error("no such host: '{shown}' (hosts: {known})")]
    Unknown { shown: String, known: String },
    #[error("several hosts are called '{name}': {}", ids.join(", "))]
    Ambiguous { name: String, ids: Vec<String> },
    #[error("host {name} is up and cannot be forgotten")]
    Up { name: String },
    #[error("host {name} cannot be forgotten: it is working on {}", cards(tasks))]
    Busy { name: String, tasks: Vec<TaskId> },
    #[error("invalid host label: '{shown}'")]
    BadLabel { shown: String },
    #[error("invalid host name: '{shown}'")]
    BadName { shown: String },
    /// The file with the id of this installation holds something else.
    #[error("{path} does not hold a host id")]
    BadIdFile { path: String },
}

impl HostError {
    pub(crate) fn hint(&self) -> String {
        match self {
            Self::IdTaken(_) => "one of them is a copy of the other: `hermes kanban hosts new-id` \
                                     in the copy gives it an id of its own"
                .to_owned(),
            Self::Unknown { .. } => "`hermes kanban hosts` lists them".to_owned(),
            Self::Ambiguous { .. } => "name the id instead".to_owned(),
            Self::Up { .. } => "stop its dispatcher first: `hermes gateway stop` there".to_owned(),
            Self::Busy { tasks, .. } => {
                let first = tasks.first().map_or("ID", TaskId::as_str);
                format!("wait until the claims expire, or `hermes kanban reclaim {first}`")
            }
            Self::BadLabel { .. } => {
                "a label has up to 64 letters, digits and . _ - = : in one word; examples: gpu, \
                 zone:eu"
                    .to_owned()
            }
            Self::BadName { .. } => {
                "the name of a host has up to 64 characters, no blanks, commas, colons or slashes, \
                 and does not begin with '-'"
                    .to_owned()
            }
            Self::BadIdFile { .. } => {
                "`hermes kanban hosts new-id` gives this installation a new id".to_owned()
            }
        }
    }

    /// Whether the request itself is malformed.
    pub(crate) fn is_usage(&self) -> bool {
        matches!(self, Self::BadLabel { .. } | Self::BadName { .. })
    }
}

fn cards(tasks: &[TaskId]) -> String {
    let shown: Vec<&str> = tasks.iter().map(TaskId::as_str).collect();
    shown.join(", ")
}
