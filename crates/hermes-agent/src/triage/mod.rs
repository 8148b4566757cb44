//! Triage of cards by an auxiliary model: specifying a card, or decomposing it into several.
//!
//! The model only proposes: its answer is checked here and written by `hermes-board` in one
//! transaction. Expected problems are a [`TriageFailure`].

mod answer_json;
mod decompose;
mod specify;

use hermes_board::SqliteBoard;
use hermes_board::model::{Assignee, Status, Task, TaskId};
use hermes_board::store::BoardStore;
use hermes_proc::Wake;
use hermes_providers::{AuxiliaryModels, AuxiliaryTask, Message, ModelRequest};

pub(crate) use answer_json::object_in;
pub use decompose::{DecomposeOutcome, Profile, Roster, decompose};
pub use specify::{Specified, specify};

use crate::auxiliary::ask_auxiliary;

/// Maximum characters of title and body in the request.
const TITLE: usize = 400;
const BODY: usize = 4_000;

/// Why a card could not be triaged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TriageFailure {
    /// There is no such card.
    #[error("no such card")]
    Unknown,
    /// The card has another status.
    #[error("the card is not in triage: its status is {status}")]
    NotInTriage {
        /// The status.
        status: String,
    },
    /// No model is available.
    #[error("no model is available: {0}")]
    NoModel(String),
    /// The model did not answer.
    #[error("the model did not answer ({class}): {message}")]
    Unanswered {
        /// The kind of failure.
        class: &'static str,
        /// The message.
        message: String,
    },
    /// The answer cannot be used.
    #[error("the answer cannot be used: {0}")]
    Unusable(String),
    /// The card was changed in the meantime.
    #[error("the card was moved while the model was working")]
    MovedMeanwhile,
    /// The board refused the change.
    #[error("the board refused the change: {0}")]
    Refused(String),
}

/// The context of triage.
pub struct Triage<'a> {
    /// The board.
    pub store: &'a mut SqliteBoard,
    /// The models.
    pub auxiliary: &'a AuxiliaryModels,
    /// The author of changes.
    pub author: &'a str,
    /// Interrupts the request.
    pub interrupt: &'a Wake,
}

impl Triage<'_> {
    /// The card, if it is in triage.
    fn card(&self, id: &TaskId) -> Result<Task, TriageFailure> {
        let task = self.store.task(id).map_err(|error| refused(&error))?;
        let task = task.ok_or(TriageFailure::Unknown)?;
        match task.status() {
            Status::Triage => Ok(task),
            _ => Err(TriageFailure::NotInTriage {
                status: task.status_word().to_owned(),
            }),
        }
    }

    fn ask(&self, question: TriageQuestion<'_>) -> Result<String, TriageFailure> {
        let provider = self
            .auxiliary
            .open(question.task)
            .map_err(|error| TriageFailure::NoModel(error.to_string()))?;
        let request = ModelRequest {
            max_tokens: Some(question.max_tokens),
            temperature: Some(0.3),
            task: Some(question.task),
            ..ModelRequest::new(question.instructions, vec![Message::user(question.text)])
        };
        let answer = ask_auxiliary(&*provider, &request, self.interrupt).map_err(|error| {
            TriageFailure::Unanswered {
                class: error.class.name(),
                message: error.message.clone(),
            }
        })?;
        Ok(answer.text)
    }

    /// The outcome of a change of the board.
    fn written<T>(
        &self,
        id: &TaskId,
        outcome: hermes_board::Result<T>,
    ) -> Result<T, TriageFailure> {
        outcome.map_err(|error| match self.card(id) {
            Err(TriageFailure::NotInTriage { .. } | TriageFailure::Unknown) => {
                TriageFailure::MovedMeanwhile
            }
            _ => refused(&error),
        })
    }
}

/// A request about a card.
struct TriageQuestion<'q> {
    task: AuxiliaryTask,
    instructions: &'q str,
    text: String,
    max_tokens: u32,
}

fn refused(error: &hermes_board::Error) -> TriageFailure {
    TriageFailure::Refused(error.to_string())
}

/// The card as text for the model.
fn card_text(task: &Task) -> String {
    let body = task.body.as_deref().unwrap_or_default().trim();
    let body = if body.is_empty() { "(empty)" } else { body };
    format!(
        "Card: {}\nTitle: {}\nBody:\n{}\n",
        task.id,
        truncated(&task.title, TITLE),
        truncated(body, BODY)
    )
}

/// The text, with an ellipsis if it has more than `max` characters.
pub(crate) fn truncated(text: &str, max: usize) -> String {
    if text.chars().count() <= max {
        return text.to_owned();
    }
    let mut start: String = text.chars().take(max - 1).collect();
    start.push('…');
    start
}

/// A valid assignee.
fn assignee(name: &str) -> Option<Assignee> {
    Assignee::parse(name).ok()
}
