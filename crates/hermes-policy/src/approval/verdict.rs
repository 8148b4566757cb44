//! The decision about a command.

use std::fmt;

/// Whether a command runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    Approved,
    /// A rule that cannot be bypassed stops it.
    Blocked,
    /// A person, a model, a setting or the lack of a person stops it.
    Denied,
    /// Somebody has to be asked and cannot be reached from here.
    PendingApproval,
}

/// Who approved a flagged command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApprovedBy {
    /// Settings, or an earlier approval.
    Settings,
    /// The model of `approvals.mode: smart`.
    Model,
    User,
}

impl fmt::Display for ApprovedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Settings => "the settings",
            Self::Model => "the approval model",
            Self::User => "the user",
        })
    }
}

/// The decision about a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    pub status: Status,
    /// Whether it is on the list of commands that never run.
    pub hardline: bool,
    /// The first key that was found.
    pub pattern_key: Option<String>,
    pub description: Option<String>,
    /// For the model and the user.
    pub message: Option<String>,
    /// Who approved it, if it was flagged.
    pub approved_by: Option<ApprovedBy>,
}

impl Verdict {
    /// It runs, and there is nothing to say.
    pub(super) fn approved() -> Self {
        Self {
            status: Status::Approved,
            hardline: false,
            pattern_key: None,
            description: None,
            message: None,
            approved_by: None,
        }
    }

    /// Whether the command runs.
    pub fn is_approved(&self) -> bool {
        self.status == Status::Approved
    }

    /// It runs although these keys were found.
    pub(super) fn approved_despite(keys: &[String], by: ApprovedBy) -> Self {
        Self {
            pattern_key: keys.first().cloned(),
            description: description(keys),
            approved_by: Some(by),
            ..Self::approved()
        }
    }

    pub(super) fn blocked(description: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            status: Status::Blocked,
            description: Some(description.into()),
            message: Some(message.into()),
            ..Self::approved()
        }
    }

    /// On the list of commands that never run.
    pub(super) fn hardline(what: &str) -> Self {
        let message = format!(
            "BLOCKED (hardline): {what}. Hermes never runs this, whatever is approved. If the user really wants it, they run it by hand in a terminal of their own. Do not try it in another form."
        );
        Self {
            hardline: true,
            ..Self::blocked(what, message)
        }
    }

    pub(super) fn denied(keys: &[String], why: &str) -> Self {
        Self::stopped(Status::Denied, keys, |what| {
            format!(
                "DENIED: {what} ({why}). Do not retry it, do not rephrase it, and do not reach the same end another way; go on without it or tell the user what you would need."
            )
        })
    }

    pub(super) fn pending(keys: &[String]) -> Self {
        Self::stopped(Status::PendingApproval, keys, |what| {
            format!(
                "Waiting for approval: {what}. Nobody could be asked from here; the user has to approve it first."
            )
        })
    }

    fn stopped(status: Status, keys: &[String], message: impl FnOnce(&str) -> String) -> Self {
        let description = description(keys);
        Self {
            status,
            pattern_key: keys.first().cloned(),
            message: Some(message(description.as_deref().unwrap_or("the command"))),
            description,
            ..Self::approved()
        }
    }
}

fn description(keys: &[String]) -> Option<String> {
    (!keys.is_empty()).then(|| keys.join("; "))
}
