//! Titles of new conversations, line by line ones only: a single query is over before a title would
//! be of use, and makes no request that nobody asked for.

use std::path::PathBuf;
use std::sync::Arc;

use hermes_agent::{Outcome, PendingTitle, TitleJob, TurnInput, TurnResult};
use hermes_providers::SideModels;
use hermes_secret::Redactor;
use hermes_session::Session;
use serde_json::Value;

use super::wishes::{Talk, Wishes};
use crate::context::Context;
use crate::ui::{Printer, one_line};

/// Characters of what went wrong that are shown.
const SHOWN: usize = 300;

/// Sees to it that a new conversation gets a title.
pub(super) struct TitleKeeper {
    is_wanted: bool,
    state: State,
    side: Arc<SideModels>,
    home: PathBuf,
    redactor: Arc<Redactor>,
    printer: Printer,
}

enum State {
    /// There is nothing to do.
    Idle,
    /// The first exchange is yet to come.
    Waiting,
    /// A title is being thought of.
    Pending(PendingTitle),
}

impl TitleKeeper {
    pub(super) fn of(
        wishes: &Wishes,
        resumed: Option<&Session>,
        side: Arc<SideModels>,
        context: &Context,
    ) -> Self {
        let enabled = context.config().get("auxiliary.title_generation.enabled");
        let is_enabled = enabled.and_then(Value::as_bool).unwrap_or(true);
        let in_lines = matches!(wishes.talk, Talk::Lines { .. });
        let is_wanted = is_enabled && in_lines && !super::once::is_worker(context);
        Self {
            is_wanted,
            state: if is_wanted && resumed.is_none() {
                State::Waiting
            } else {
                State::Idle
            },
            side,
            home: context.location.home.clone(),
            redactor: Arc::new(context.redactor()),
            printer: context.printer.clone(),
        }
    }

    /// Another conversation begins in the place of this one.
    pub(super) fn start_over(&mut self) {
        self.close();
        if self.is_wanted {
            self.state = State::Waiting;
        }
    }

    /// What the person says, if the turn that now begins may be the first exchange.
    pub(super) fn wants(&mut self, input: &TurnInput) -> Option<String> {
        if let State::Pending(pending) = &self.state
            && pending.is_finished()
        {
            self.close();
        }
        matches!(self.state, State::Waiting).then(|| input.text.clone())
    }

    /// Begins to think of a title if there was an exchange.
    pub(super) fn after(&mut self, said: String, result: &TurnResult) {
        let answered = match (&result.final_response, result.outcome) {
            (Some(answer), Outcome::Completed) => answer.clone(),
            _ => return,
        };
        let job = TitleJob {
            side: Arc::clone(&self.side),
            home: self.home.clone(),
            session: result.session_id.clone(),
            said,
            answered,
            redactor: Arc::clone(&self.redactor),
        };
        self.state = match job.start() {
            Ok(pending) => State::Pending(pending),
            Err(error) => {
                self.tell(&error.to_string());
                State::Idle
            }
        };
    }

    /// Tells what went wrong; a title that is not there yet is given up.
    pub(super) fn close(&mut self) {
        if let State::Pending(pending) = std::mem::replace(&mut self.state, State::Idle)
            && let Err(reason) = pending.finish()
        {
            self.tell(&reason);
        }
    }

    fn tell(&self, reason: &str) {
        tracing::warn!(reason, "the session has no title");
        let reason = one_line(reason, SHOWN);
        // Nobody may be reading; the log has it.
        drop(
            self.printer
                .note(format!("This conversation has no title: {reason}")),
        );
    }
}
