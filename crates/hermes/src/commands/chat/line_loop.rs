//! `hermes chat` without a query: a line, a turn, until the input ends.
//!
//! At a terminal the first Ctrl-C ends the turn and the second one the program. Other input is read
//! to its end, each line to its answer.

use std::io::IsTerminal;
use std::process::ExitCode;

use hermes_agent::{Outcome, TurnInput, TurnResult};
use hermes_session::SessionStore;

use super::conversation::Conversation;
use super::display::Display;
use super::ending::exit_code;
use super::once::is_worker;
use super::references;
use super::slash::{self, After, Desk};
use super::wishes::Wishes;
use crate::context::Context;
use crate::error::Result;
use crate::ui::{Line, Lines};

/// How the loop stands.
struct Loop<'a> {
    context: &'a Context,
    conversation: Conversation,
    display: Display,
    is_person: bool,
    code: u8,
    last: Option<TurnResult>,
}

/// What a line leads to.
enum Then {
    GoOn,
    Leave {
        /// The session is to go as well.
        delete: bool,
    },
}

pub(super) fn run(wishes: &Wishes, context: &Context) -> Result<ExitCode> {
    let _logging = context.start_logging();
    let conversation = super::open(wishes, context)?;
    let mut run = Loop {
        context,
        conversation,
        display: Display::new(wishes, context),
        is_person: std::io::stdin().is_terminal(),
        code: 0,
        last: None,
    };
    run.display.resumed(&mut run.conversation)?;
    let delete = run.until_the_end()?;
    run.leave(delete)
}

impl Loop<'_> {
    /// Line by line; says whether the session is to go.
    fn until_the_end(&mut self) -> Result<bool> {
        let interrupt = self.conversation.interrupt();
        let mut input = Lines::of_standard_input(&interrupt)?;
        self.conversation.expect_interruption();
        loop {
            if self.is_person {
                self.context.printer.err("> ")?;
            }
            let line = match input.next()? {
                None if interrupt.is_raised() => {
                    if !self.conversation.goes_on() {
                        return Ok(false);
                    }
                    let advice = "\nPress Ctrl-C once more to leave, or type on.";
                    self.context.printer.note(advice)?;
                    continue;
                }
                None => return Ok(false),
                Some(Line::TooLong) => {
                    let words = "The line is too long and was not sent.";
                    self.context.printer.note(words)?;
                    continue;
                }
                Some(Line::Text(bytes)) => String::from_utf8_lossy(&bytes).into_owned(),
            };
            let line = line.trim();
            if line.is_empty() {
                continue;
            }
            self.conversation.expect_interruption();
            if let Then::Leave { delete } = self.line(line)? {
                return Ok(delete);
            }
        }
    }

    fn line(&mut self, line: &str) -> Result<Then> {
        if !slash::is_command(line) {
            let text = references::expanded(line, &mut self.conversation)?;
            return self.turn(text);
        }
        let mut desk = Desk {
            conversation: &mut self.conversation,
            display: &mut self.display,
            context: self.context,
        };
        match slash::run(line, &mut desk) {
            Ok(After::Prompt) => Ok(self.after_interruption()),
            Ok(After::Turn(text)) => self.turn(text),
            Ok(After::Quit { delete }) => Ok(Then::Leave { delete }),
            Err(error) => {
                let (message, hints) = error.words();
                self.context.printer.note(format!("Error: {message}"))?;
                for hint in hints {
                    self.context.printer.note(format!("hint: {hint}"))?;
                }
                // A script learns of it at its end; a person has read it.
                if !self.is_person {
                    self.code = 1;
                }
                Ok(self.after_interruption())
            }
        }
    }

    fn turn(&mut self, text: String) -> Result<Then> {
        let input = TurnInput::text(text);
        let result = self.conversation.turn(input, &mut self.display);
        self.display.answer(&result)?;
        self.code = exit_code(&result, is_worker(self.context));
        let interrupted = result.outcome == Outcome::Interrupted;
        self.last = Some(result);
        if interrupted && !self.is_person {
            return Ok(Then::Leave { delete: false });
        }
        Ok(self.after_interruption())
    }

    /// Takes an interruption down, or ends the loop if the program is to end.
    fn after_interruption(&self) -> Then {
        if self.conversation.goes_on() {
            Then::GoOn
        } else {
            Then::Leave { delete: false }
        }
    }

    fn leave(mut self, delete: bool) -> Result<ExitCode> {
        let id = self.conversation.agent().session_id().clone();
        let is_stored = self.conversation.agent().is_stored();
        let last = self.last.as_ref().filter(|last| last.session_id == id);
        if let Some(result) = last.filter(|_| !delete) {
            self.display.farewell(&mut self.conversation, result)?;
        }
        let code = self.conversation.close(self.last.as_ref(), self.code)?;
        if delete && is_stored {
            SessionStore::open(&self.context.location.home)?.delete_session(&id)?;
            self.context.printer.note(format!("Deleted session {id}"))?;
        }
        Ok(code)
    }
}
