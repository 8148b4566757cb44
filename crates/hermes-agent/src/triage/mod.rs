//! Triage of cards by an auxiliary model: specifying a card, or decomposing it into several.
//!
//! The model only proposes: its answer is checked here and written by `hermes-board` in one
//! transaction. An error is a sentence.

mod decompose;
mod specify;

use hermes_board::StoredBoard;
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

/// The context of triage.
pub struct Triage<'a> {
    pub store: &'a mut StoredBoard,
    pub auxiliary: &'a AuxiliaryModels,
    pub author: &'a str,
    pub interrupt: &'a Wake,
}

impl Triage<'_> {
    /// The card, if it is in triage.
    fn card(&self, id: &TaskId) -> Result<Task, String> {
        let task = self.store.task(id).map_err(refused)?;
        let task = task.ok_or("no such card")?;
        if task.status() == Status::Triage {
            return Ok(task);
        }
        let status = task.status_word();
        Err(format!("the card is not in triage: its status is {status}"))
    }

    fn ask(&self, question: AuxiliaryQuestion) -> Result<String, String> {
        match question.ask(self.auxiliary, self.interrupt) {
            Ok(answer) => Ok(answer.text),
            Err(Unanswered::NoModel(reason)) => Err(format!("no model is available: {reason}")),
            Err(Unanswered::Failed(error)) => Err(format!(
                "the model did not answer ({}): {}",
                error.class.name(),
                error.message
            )),
        }
    }

    /// The outcome of a change of the board.
    fn written<T>(&self, id: &TaskId, outcome: hermes_board::Result<T>) -> Result<T, String> {
        outcome.map_err(|error| match self.store.task(id) {
            Ok(task)
                if task
                    .as_ref()
                    .is_none_or(|task| task.status() != Status::Triage) =>
            {
                "the card was moved while the model was working".to_owned()
            }
            _ => refused(error),
        })
    }
}

fn refused(error: hermes_board::Error) -> String {
    format!("the board refused the change: {error}")
}

fn unusable(why: impl std::fmt::Display) -> String {
    format!("the answer cannot be used: {why}")
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
