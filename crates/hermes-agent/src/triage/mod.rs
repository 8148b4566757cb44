//! Triage of cards by an auxiliary model: specifying a card, or decomposing it into several.
//!
//! The model only proposes: its answer is checked here and written by `hermes-board` in one
//! transaction. Expected problems are a [`TriageFailure`].

mod decompose;
mod specify;

use hermes_board::SqliteBoard;
use hermes_board::model::{Status, Task, TaskId};
use hermes_board::store::BoardStore;
use hermes_proc::Wake;
use hermes_providers::AuxiliaryModels;

pub use decompose::{DecomposeOutcome, Profile, Roster, decompose};
pub use specify::{Specified, specify};

use crate::auxiliary::{AuxiliaryQuestion, Unanswered};

/// Maximum characters of title and body in the request.
const TITLE: usize = 400;
const BODY: usize = 4_000;
const TEMPERATURE: f64 = 0.3;

/// Why a card could not be triaged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TriageFailure {
    #[error("no such card")]
    Unknown,
    #[error("the card is not in triage: its status is {status}")]
    NotInTriage { status: String },
    #[error("no model is available: {0}")]
    NoModel(String),
    #[error("the model did not answer ({class}): {message}")]
    Unanswered {
        class: &'static str,
        message: String,
    },
    #[error("the answer cannot be used: {0}")]
    Unusable(String),
    #[error("the card was moved while the model was working")]
    MovedMeanwhile,
    #[error("the board refused the change: {0}")]
    Refused(String),
}

/// The context of triage.
pub struct Triage<'a> {
    pub store: &'a mut SqliteBoard,
    pub auxiliary: &'a AuxiliaryModels,
    pub author: &'a str,
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

    fn ask(&self, question: AuxiliaryQuestion) -> Result<String, TriageFailure> {
        let answer = question.ask(self.auxiliary, self.interrupt);
        answer
            .map(|answer| answer.text)
            .map_err(|error| match error {
                Unanswered::NoModel(reason) => TriageFailure::NoModel(reason),
                Unanswered::Failed(error) => TriageFailure::Unanswered {
                    class: error.class.name(),
                    message: error.message.clone(),
                },
            })
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
    if text.chars().nth(max).is_none() {
        return text.to_owned();
    }
    format!("{}…", hermes_text::cut(text, max - 1))
}
