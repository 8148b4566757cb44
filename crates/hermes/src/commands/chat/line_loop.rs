//! `hermes chat` without a query: a line, a turn, until the input ends.

use std::io::IsTerminal;
use std::process::ExitCode;

use hermes_agent::{Outcome, TurnInput};

use super::display::Display;
use super::ending::exit_code;
use super::once::is_worker;
use super::wishes::Wishes;
use crate::context::Context;
use crate::error::Result;
use crate::ui::{Line, Lines, one_line};

/// Characters of what was taken back that are shown.
const SHOWN: usize = 60;

pub(super) fn run(wishes: &Wishes, context: &Context) -> Result<ExitCode> {
    let _logging = context.start_logging();
    let mut conversation = super::open(wishes, context)?;
    let mut display = Display::new(wishes, context);
    display.resumed(&mut conversation)?;
    let interrupt = conversation.interrupt();
    let mut input = Lines::of_standard_input(&interrupt)?;
    let is_person = std::io::stdin().is_terminal();
    let mut code = 0;
    let mut last = None;
    loop {
        if is_person {
            context.printer.err("> ")?;
        }
        let line = match input.next()? {
            None => break,
            Some(Line::TooLong) => {
                context
                    .printer
                    .note("The line is too long and was not sent.")?;
                continue;
            }
            Some(Line::Text(bytes)) => String::from_utf8_lossy(&bytes).into_owned(),
        };
        let line = line.trim();
        if line.is_empty() {
            continue;
        }
        let text = match line {
            "/quit" | "/exit" => break,
            "/undo" | "/retry" => {
                let taken = conversation.agent().undo(1)?;
                let words = match &taken {
                    Some(text) => format!("Taken back: {}", one_line(text, SHOWN)),
                    None => "There is nothing to take back.".to_owned(),
                };
                context.printer.note(words)?;
                match taken.filter(|_| line == "/retry") {
                    Some(text) => text,
                    None => continue,
                }
            }
            text => text.to_owned(),
        };
        let result = conversation.turn(TurnInput::text(text), &mut display);
        display.answer(&result)?;
        code = exit_code(&result, is_worker(context));
        let interrupted = result.outcome == Outcome::Interrupted;
        last = Some(result);
        if interrupted || conversation.is_ending() {
            break;
        }
    }
    if let Some(result) = &last {
        display.farewell(&mut conversation, result)?;
    }
    conversation.close(last.as_ref(), code)
}
