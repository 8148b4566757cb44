//! Acceptance checks: commands that must pass before a card counts as done.

use serde::Serialize;

use crate::model::text_enum::text_enum;
use crate::model::{RunId, TaskId, WorkerIdentity};

/// One check of a card.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// Position, from 1.
    pub position: u32,
    /// A command line for the user's shell.
    pub command: String,
    /// Whether it runs on this machine, wherever the work is done.
    #[serde(skip_serializing_if = "is_false")]
    pub on_host: bool,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature is serde's"
)]
fn is_false(yes: &bool) -> bool {
    !*yes
}

/// A check to be added to a card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewCheck {
    pub command: String,
    /// See [`Check::on_host`]. Only a person may ask for it.
    pub on_host: bool,
}

impl<T: Into<String>> From<T> for NewCheck {
    /// A check that runs where the work is done.
    fn from(command: T) -> Self {
        Self {
            command: command.into(),
            on_host: false,
        }
    }
}

/// The process that runs the checks of a card.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Checker {
    /// `<host>:<pid>`, as in a claim.
    pub lock: String,
    pub pid: u32,
    /// Tells the process from a later one with the same id.
    pub identity: Option<WorkerIdentity>,
}

text_enum! {
    /// State of a session of checks.
    CheckState {
        Pending = "pending",
        /// All passed; the card is done.
        Passed = "passed",
        Failed = "failed",
        /// The process that ran them is gone, or the card changed meanwhile.
        Abandoned = "abandoned",
    }
}

/// Result of one check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CheckEvidence {
    pub position: u32,
    pub command: String,
    /// Its exit code; `None` if a signal or the time limit ended it, or it could not be started.
    pub exit_code: Option<i32>,
    pub timed_out: bool,
    /// The end of its output.
    pub output: String,
    pub duration_ms: u64,
}

impl CheckEvidence {
    /// Whether the check passed.
    pub fn passed(&self) -> bool {
        self.exit_code == Some(0) && !self.timed_out
    }

    /// How the check ended, as text.
    pub fn ending(&self) -> String {
        match self.exit_code {
            _ if self.timed_out => "ran out of time".to_owned(),
            Some(code) => format!("ended with exit code {code}"),
            None => "did not end by itself".to_owned(),
        }
    }
}

/// One session of checks, begun by a completion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CheckSession {
    pub id: i64,
    pub task_id: TaskId,
    pub run_id: RunId,
    pub state: CheckState,
    pub checker: Checker,
    pub started_at: i64,
    pub ended_at: Option<i64>,
    pub results: Vec<CheckEvidence>,
}

/// What the checks of a card say about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckMark {
    None,
    /// It has some and is not done.
    Open,
    /// It is done, and its last completion passed them.
    Checked,
    /// It is done, and nobody ran them: another program completed it, or they were added later.
    Unchecked,
}
