//! What was decided about a command.

use serde_json::{Value, json};

/// How it was decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// It runs.
    Approved,
    /// A rule that cannot be bypassed stops it.
    Blocked,
    /// A person, a setting or the lack of a person stops it.
    Denied,
    /// Somebody has to be asked and cannot be reached from here.
    PendingApproval,
}

/// The decision about a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// Whether it runs.
    pub approved: bool,
    /// Whether it is on the list of what never runs.
    pub hardline: bool,
    /// The first key that was met.
    pub pattern_key: Option<String>,
    /// What it is about.
    pub description: Option<String>,
    /// For the model and the user.
    pub message: Option<String>,
    /// How it was decided.
    pub status: Status,
}

impl Verdict {
    /// It runs, and there is nothing to say.
    pub fn approved() -> Self {
        Self {
            approved: true,
            hardline: false,
            pattern_key: None,
            description: None,
            message: None,
            status: Status::Approved,
        }
    }

    /// It runs although these keys were met.
    pub(super) fn approved_despite(keys: &[String]) -> Self {
        Self {
            pattern_key: keys.first().cloned(),
            description: description(keys),
            ..Self::approved()
        }
    }

    pub(super) fn blocked(description: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            approved: false,
            hardline: false,
            pattern_key: None,
            description: Some(description.into()),
            message: Some(message.into()),
            status: Status::Blocked,
        }
    }

    /// On the list of what never runs.
    pub(super) fn hardline(what: &str) -> Self {
        let message = format!(
            "BLOCKED (hardline): {what}. Hermes never runs this, whatever is approved. If it is really wanted, the user runs it by hand in a terminal of their own. Do not try it in another form."
        );
        Self {
            hardline: true,
            ..Self::blocked(what, message)
        }
    }

    pub(super) fn denied(keys: &[String], why: &str) -> Self {
        let description = description(keys);
        let message = format!(
            "DENIED: {} ({why}). Do not retry it, do not rephrase it, and do not reach the same end another way; go on without it or tell the user what you would need.",
            description.as_deref().unwrap_or("the command")
        );
        Self {
            approved: false,
            hardline: false,
            pattern_key: keys.first().cloned(),
            description,
            message: Some(message),
            status: Status::Denied,
        }
    }

    pub(super) fn pending(keys: &[String]) -> Self {
        let description = description(keys);
        let message = format!(
            "Waiting for approval: {}. Nobody could be asked from here; the user has to approve it first.",
            description.as_deref().unwrap_or("the command")
        );
        Self {
            message: Some(message),
            status: Status::PendingApproval,
            ..Self::denied(keys, "")
        }
    }

    /// The shape that `--check` prints: what is not set is left out.
    pub fn to_json(&self) -> Value {
        let mut object = json!({ "approved": self.approved });
        let Some(map) = object.as_object_mut() else {
            return object;
        };
        if self.hardline {
            map.insert("hardline".to_owned(), Value::Bool(true));
        }
        for (name, value) in [
            ("pattern_key", &self.pattern_key),
            ("description", &self.description),
            ("message", &self.message),
        ] {
            if let Some(text) = value {
                map.insert(name.to_owned(), Value::String(text.clone()));
            }
        }
        object
    }
}

fn description(keys: &[String]) -> Option<String> {
    (!keys.is_empty()).then(|| keys.join("; "))
}
