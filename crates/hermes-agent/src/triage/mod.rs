//! Cards in triage, read by a side model: made clear, or split into several.
//!
//! A model only proposes. What it says is checked for its form here and written by `hermes-board`,
//! whole or not at all. Nothing that can be expected to go wrong is an error of the program: it is a
//! [`TriageFailure`], a sentence about the card.

mod decompose;
mod proposal;
mod specify;

use hermes_board::SqliteBoard;
use hermes_board::model::{Assignee, Status, Task, TaskId};
use hermes_board::store::BoardStore;
use hermes_proc::Wake;
use hermes_providers::{Message, Request, SideModels, SideTask};

pub use decompose::{Decomposed, Profile, Roster, decompose};
pub(crate) use proposal::object_in;
pub use specify::{Specified, specify};

use crate::side::ask_aside;

/// Characters of a title and of a body that a model is shown.
const TITLE: usize = 400;
const BODY: usize = 4_000;

/// Why nothing became of it, as a sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TriageFailure {
    /// There is no such card.
    #[error("there is no such card")]
    Unknown,
    /// It is somewhere else.
    #[error("the card is not in triage but in {status}")]
    NotInTriage {
        /// Where it is.
        status: String,
    },
    /// Nobody can be asked.
    #[error("no model can be asked: {0}")]
    NoModel(String),
    /// Nobody answered.
    #[error("the model did not answer ({class}): {message}")]
    Unanswered {
        /// What kind of failure.
        class: &'static str,
        /// What was said.
        message: String,
    },
    /// The answer cannot be used.
    #[error("the answer cannot be used: {0}")]
    Unusable(String),
    /// Somebody was quicker.
    #[error("the card was moved while the model was thinking")]
    MovedMeanwhile,
    /// The board refused.
    #[error("the board refuses: {0}")]
    Refused(String),
}

/// What both tasks need.
pub struct Triage<'a> {
    /// Where the card is.
    pub store: &'a mut SqliteBoard,
    /// Who is asked.
    pub side: &'a SideModels,
    /// In whose name.
    pub author: &'a str,
    /// Ends it early.
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

    fn ask(&self, question: Question<'_>) -> Result<String, TriageFailure> {
        let provider = self
            .side
            .open(question.task)
            .map_err(|error| TriageFailure::NoModel(error.to_string()))?;
        let request = Request {
            max_tokens: Some(question.max_tokens),
            temperature: Some(0.3),
            task: Some(question.task),
            ..Request::new(question.instructions, vec![Message::user(question.text)])
        };
        let answer = ask_aside(&*provider, &request, self.interrupt).map_err(|error| {
            TriageFailure::Unanswered {
                class: error.class.name(),
                message: error.message.clone(),
            }
        })?;
        Ok(answer.text)
    }

    /// What the board made of it.
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

/// A question about a card.
struct Question<'q> {
    task: SideTask,
    instructions: &'q str,
    text: String,
    max_tokens: u32,
}

fn refused(error: &hermes_board::Error) -> TriageFailure {
    TriageFailure::Refused(error.to_string())
}

/// The card as a model is shown it.
fn shown(task: &Task) -> String {
    let body = task.body.as_deref().unwrap_or_default().trim();
    let body = if body.is_empty() { "(empty)" } else { body };
    format!(
        "Card: {}\nTitle: {}\nBody:\n{}\n",
        task.id,
        cut(&task.title, TITLE),
        cut(body, BODY)
    )
}

fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let mut cut: String = text.chars().take(most - 1).collect();
    cut.push('…');
    cut
}

/// A name as the board takes it; `None` if it does not.
fn assignee(name: &str) -> Option<Assignee> {
    Assignee::parse(name).ok()
}
