//! `hermes chat` without a query: a line, a turn, until the input ends.
//!
//! At a terminal the first Ctrl-C ends the turn and the second one the program. Other input is read
//! to its end, each line to its answer.

use std::io::IsTerminal;
use std::process::ExitCode;
use std::sync::Arc;

use hermes_agent::{TurnInput, TurnOutcome, TurnResult};
use hermes_runtime::{GoalNews, Runtime, SessionChoice};
use hermes_session::SessionStore;

use super::display::Display;
use super::exit_code::exit_code;
use super::open_chat::OpenChat;
use super::options::ChatOptions;
use super::slash::{self, After, ChatState};
use crate::context::Context;
use crate::error::Result;
use crate::ui::{Line, Lines, visible};

/// The state of the loop.
struct Loop<'a> {
    context: &'a Context,
    chat: OpenChat,
    display: Display,
    is_person: bool,
    code: u8,
    last: Option<TurnResult>,
}

/// What follows a line.
enum Then {
    GoOn,
    Leave {
        /// Whether the session is deleted as well.
        delete: bool,
    },
    /// The session is left for this one.
    Resume(String),
}

pub(super) fn run(options: &ChatOptions, runtime: &Runtime, context: &Context) -> Result<ExitCode> {
    context.start_logging();
    let mut options = options.clone();
    // One reader for all sessions: it may hold lines that are still to be answered.
    let interrupt = Arc::clone(&options.request.interrupt);
    let mut input = Lines::of_standard_input(&interrupt)?;
    loop {
        let mut run = Loop {
            context,
            chat: OpenChat::open(&options, runtime, context)?,
            display: Display::new(&options, context),
            is_person: std::io::stdin().is_terminal(),
            code: 0,
            last: None,
        };
        run.display.resumed(&mut run.chat.conversation)?;
        match run.read_lines(&mut input)? {
            Then::Resume(session) => {
                run.leave(false)?;
                options.request.session = SessionChoice::Named(session);
            }
            Then::Leave { delete } => return run.leave(delete),
            Then::GoOn => return run.leave(false),
        }
    }
}

impl Loop<'_> {
    /// Reads and answers lines until one of them, or the end of the input, leaves the session.
    fn read_lines(&mut self, input: &mut Lines<'_>) -> Result<Then> {
        const LEAVE: Then = Then::Leave { delete: false };
        let interrupt = Arc::clone(self.chat.conversation.tools().interrupt());
        self.chat.expect_interrupt();
        loop {
            if self.is_person {
                self.context.printer.err("> ")?;
            }
            let line = match input.next()? {
                None if interrupt.is_raised() => {
                    if !self.chat.goes_on() {
                        return Ok(LEAVE);
                    }
                    let advice = "\nPress Ctrl-C again to exit, or keep typing.";
                    self.context.note(advice)?;
                    continue;
                }
                None => return Ok(LEAVE),
                Some(Line::TooLong) => {
                    let message = "The line is too long and was not sent.";
                    self.context.note(message)?;
                    continue;
                }
                Some(Line::Text(bytes)) => String::from_utf8_lossy(&bytes).into_owned(),
            };
            let line = line.trim();
            if line.is_empty() {
                continue;
            }
            self.chat.expect_interrupt();
            match self.line(line)? {
                Then::GoOn => {}
                end => return Ok(end),
            }
        }
    }

    fn line(&mut self, line: &str) -> Result<Then> {
        if !slash::is_command(line) {
            let text = self.chat.conversation.expand_references(line);
            return self.turn(text);
        }
        let printer = self.context.printer;
        let mut state = ChatState {
            conversation: &mut self.chat.conversation,
            display: &mut self.display,
            context: self.context,
            background: &self.chat.background,
            aside: Arc::new(move |title, text| {
                // A terminal that has gone wants no answer.
                drop(printer.note(format!("\n{title}\n{}", visible(&text))));
            }),
        };
        match slash::run(line, &mut state) {
            Ok(After::Prompt) => Ok(self.after_interruption()),
            Ok(After::Turn(text)) => self.turn(text),
            Ok(After::Goal) => {
                let news = self.chat.conversation.resume_goal(&|| false);
                self.pursue(news)
            }
            Ok(After::Quit { delete }) => Ok(Then::Leave { delete }),
            Ok(After::Resume(session)) => Ok(Then::Resume(session)),
            Err(error) => {
                self.context.note(format!("Error: {}", error.message))?;
                for hint in &error.hints {
                    self.context.hint(hint)?;
                }
                // A script learns of the error by the exit code; a person has read it.
                if !self.is_person {
                    self.code = 1;
                }
                Ok(self.after_interruption())
            }
        }
    }

    fn turn(&mut self, text: String) -> Result<Then> {
        let input = TurnInput::text(text);
        let result = self.chat.conversation.turn(input, &mut self.display);
        self.display.answer(&result)?;
        self.code = exit_code(&result, self.chat.conversation.is_worker());
        let interrupted = result.outcome == TurnOutcome::Interrupted;
        let news = self.chat.conversation.goal_after_turn(&result, &|| false);
        self.last = Some(result);
        if interrupted && !self.is_person {
            return Ok(Then::Leave { delete: false });
        }
        self.pursue(news)
    }

    /// Tells what became of the goal, and takes the turn that follows. An interrupt that came after the
    /// goal was judged is not cleared before that turn: it ends it, and pauses the goal.
    fn pursue(&mut self, news: hermes_runtime::Result<Option<GoalNews>>) -> Result<Then> {
        let Some(news) = news? else {
            return Ok(self.after_interruption());
        };
        self.context.note(visible(&news.notice))?;
        match news.next {
            Some(message) => self.turn(message),
            None => Ok(self.after_interruption()),
        }
    }

    /// Clears an interrupt, or ends the loop if the program is to end.
    fn after_interruption(&self) -> Then {
        if self.chat.goes_on() {
            Then::GoOn
        } else {
            Then::Leave { delete: false }
        }
    }

    fn leave(mut self, delete: bool) -> Result<ExitCode> {
        let agent = self.chat.conversation.agent();
        let id = agent.session_id().clone();
        let is_stored = agent.is_stored();
        let last = self.last.as_ref().filter(|last| last.session_id == id);
        if let Some(result) = last.filter(|_| !delete) {
            let conversation = &mut self.chat.conversation;
            self.display.farewell(conversation, result)?;
        }
        let code = self.chat.close(self.last.as_ref(), self.code)?;
        if delete && is_stored {
            SessionStore::open(&self.context.location.home)?.delete_session(&id)?;
            self.context.note(format!("Deleted session {id}"))?;
        }
        Ok(code)
    }
}
