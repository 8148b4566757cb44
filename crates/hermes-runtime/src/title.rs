//! Generates titles of new sessions after their first exchange.

use std::path::PathBuf;
use std::sync::Arc;

use hermes_agent::{PendingTitle, TitleJob, TurnInput, TurnOutcome, TurnResult};
use hermes_providers::AuxiliaryModels;
use hermes_secret::Redactor;
use serde_json::Value;

use crate::context::Context;
use crate::person::Person;

/// Characters of the name of a language.
const LANGUAGE: usize = 40;

/// Gives new sessions a title.
pub(crate) struct TitleKeeper {
    state: State,
    side: Arc<AuxiliaryModels>,
    home: PathBuf,
    /// None where no titles are asked for.
    redactor: Option<Arc<Redactor>>,
    person: Arc<dyn Person>,
    language: Option<String>,
}

enum State {
    /// The session has a title or needs none.
    Idle,
    /// The first exchange is yet to come.
    Waiting,
    /// A model is being asked for a title.
    Pending(PendingTitle),
}

impl TitleKeeper {
    /// `is_wanted` says whether the conversation asks for titles; the settings may still say no.
    pub(crate) fn new(
        is_wanted: bool,
        side: Arc<AuxiliaryModels>,
        person: Arc<dyn Person>,
        context: &Context,
    ) -> Self {
        let enabled = context.config().get("auxiliary.title_generation.enabled");
        let enabled = enabled.and_then(Value::as_bool).unwrap_or(true);
        let language = context.config().get("auxiliary.title_generation.language");
        let language = language.and_then(Value::as_str).map(str::trim);
        let language = language.filter(|language| !language.is_empty());
        let is_asked_for = enabled && is_wanted;
        Self {
            language: language.map(|language| hermes_text::one_line(language, LANGUAGE)),
            state: State::Idle,
            side,
            home: context.location.home.clone(),
            redactor: is_asked_for.then(|| Arc::new(context.redactor())),
            person,
        }
    }

    /// Asks these models for titles from now on.
    pub(crate) fn change_models(&mut self, side: Arc<AuxiliaryModels>) {
        self.side = side;
    }

    /// The person's message, if the turn that now begins may be the first exchange of a session.
    /// `is_new` says that nothing of the session is stored yet.
    pub(crate) fn before_turn(&mut self, input: &TurnInput, is_new: bool) -> Option<String> {
        let is_finished = match &self.state {
            State::Pending(pending) => pending.is_finished(),
            State::Idle | State::Waiting => false,
        };
        if is_finished || is_new {
            self.close();
        }
        if is_new && self.redactor.is_some() {
            self.state = State::Waiting;
        }
        matches!(self.state, State::Waiting).then(|| input.text.clone())
    }

    /// Asks for a title if the turn was an exchange.
    pub(crate) fn after_turn(&mut self, said: String, result: &TurnResult) {
        let answered = match (&result.final_response, result.outcome) {
            (Some(answer), TurnOutcome::Completed) => answer.clone(),
            _ => return,
        };
        let Some(redactor) = self.redactor.clone() else {
            return;
        };
        let job = TitleJob {
            auxiliary: Arc::clone(&self.side),
            home: self.home.clone(),
            session: result.session_id.clone(),
            said,
            answered,
            redactor,
            language: self.language.clone(),
        };
        self.state = match job.start() {
            Ok(pending) => State::Pending(pending),
            Err(error) => {
                self.report(&error.to_string());
                State::Idle
            }
        };
    }

    /// Reports a failure; a title that is not there yet is given up.
    pub(crate) fn close(&mut self) {
        if let State::Pending(pending) = std::mem::replace(&mut self.state, State::Idle)
            && let Err(reason) = pending.finish()
        {
            self.report(&reason);
        }
    }

    fn report(&self, reason: &str) {
        tracing::warn!(reason, "the session has no title");
        self.person
            .notify(&format!("This conversation has no title: {reason}"));
    }
}
