//! A conversation together with the signals that interrupt it.

use std::io::IsTerminal;
use std::process::ExitCode;
use std::sync::Arc;

use hermes_agent::TurnResult;
use hermes_runtime::{Conversation, Person, Runtime};

use super::options::{ChatOptions, InputMode};
use super::slash::BackgroundSessions;
use crate::context::Context;
use crate::error::Result;
use crate::signal_watch::{END_LIMIT, SignalWatch};
use crate::ui::TerminalPerson;

/// An open conversation and the signals that interrupt it.
pub(super) struct OpenChat {
    pub(super) conversation: Conversation,
    /// What `/background` has begun.
    pub(super) background: BackgroundSessions,
    signals: SignalWatch,
    /// Whether the first Ctrl-C is for the turn and not for the program.
    is_interactive: bool,
}

impl OpenChat {
    /// Opens the conversation that the options ask for.
    pub(super) fn open(
        options: &ChatOptions,
        runtime: &Runtime,
        context: &Context,
    ) -> Result<Self> {
        let interrupt = &options.request.interrupt;
        let person = TerminalPerson::new(context.printer, interrupt, options.asked());
        Self::open_with(options, runtime, person)
    }

    /// The same with another way to reach the person.
    pub(super) fn open_with(
        options: &ChatOptions,
        runtime: &Runtime,
        person: Arc<dyn Person>,
    ) -> Result<Self> {
        let conversation = runtime.open_conversation(&options.request, person)?;
        let limit = conversation.end_limit().unwrap_or(END_LIMIT);
        let signals = SignalWatch::start(conversation.tools(), limit)?;
        let has_lines = matches!(options.mode, InputMode::Lines { .. });
        Ok(Self {
            conversation,
            background: BackgroundSessions::default(),
            signals,
            is_interactive: has_lines && std::io::stdin().is_terminal(),
        })
    }

    /// Makes the next Ctrl-C interrupt the turn, in an interactive conversation.
    pub(super) fn expect_interrupt(&self) {
        if self.is_interactive {
            self.signals.next_interrupts_turn();
        }
    }

    /// Clears the interrupt after a turn or a Ctrl-C between turns. Gives whether the conversation
    /// goes on.
    pub(super) fn goes_on(&self) -> bool {
        // In this order: a signal that ends the program is noted before the interrupt is raised.
        self.conversation.tools().interrupt().clear();
        !self.signals.is_ending()
    }

    /// Tells whether a signal has asked the program to end.
    pub(super) fn ending(&self) -> Arc<dyn Fn() -> bool + Send + Sync> {
        self.signals.ending()
    }

    /// Ends the conversation. Gives the exit code: that of a signal, if one has come.
    pub(super) fn close(self, result: Option<&TurnResult>, code: u8) -> Result<ExitCode> {
        let signals = self.signals;
        let code = self
            .conversation
            .close(result, || signals.exit_code(code))?;
        Ok(ExitCode::from(code))
    }
}
