//! Questions of the agent to whoever sits at the terminal.

use std::sync::Arc;
use std::time::Duration;

use hermes_tools::{Answerer, CallContext, Question};

use super::wishes::{Talk, Wishes};
use crate::context::Context;
use crate::toolbox::Toolbox;
use crate::ui::{Echo, Person, visible};

/// Seconds a question stays open where nothing else is said.
const PATIENCE: u64 = 3_600;

/// Asks the person.
pub(super) struct AskPerson {
    person: Person,
    patience: Duration,
}

impl AskPerson {
    /// Somebody who can be asked: not in the quiet modes, and not without a terminal.
    pub(super) fn present(
        wishes: &Wishes,
        context: &Context,
        toolbox: &Toolbox,
    ) -> Option<Arc<dyn Answerer>> {
        let may_ask = matches!(wishes.talk, Talk::Query(_) | Talk::Lines { quiet: false });
        if !may_ask {
            return None;
        }
        let person = Person::present(&context.printer, toolbox.interrupt())?;
        let seconds = context.config().int("agent.clarify_timeout");
        let seconds = seconds.and_then(|seconds| u64::try_from(seconds).ok());
        Some(Arc::new(Self {
            person,
            patience: Duration::from_secs(seconds.unwrap_or(PATIENCE)),
        }))
    }
}

impl Answerer for AskPerson {
    fn answer(&self, question: &Question, _: &CallContext) -> Option<String> {
        let mut text = format!("\n{}\n", visible(&question.text));
        for (index, choice) in question.choices.iter().enumerate() {
            text.push_str(&format!("  {}. {}\n", index + 1, visible(choice)));
        }
        text.push_str("? ");
        let answer = self.person.ask(&text, self.patience, Echo::On)?;
        let answer = answer.expose().trim();
        let chosen = answer
            .parse::<usize>()
            .ok()
            .and_then(|number| question.choices.get(number.checked_sub(1)?));
        Some(chosen.map_or_else(|| answer.to_owned(), Clone::clone))
    }
}
