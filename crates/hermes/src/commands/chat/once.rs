//! One query and its answer.

use std::process::ExitCode;

use hermes_agent::{TurnInput, TurnResult};
use hermes_config::vars;

use super::display::Display;
use super::ending::exit_code;
use super::goal;
use super::picture;
use super::references;
use super::usage_report;
use super::wishes::Wishes;
use crate::context::Context;
use crate::error::Result;

/// `chat -q` and `chat -Q -q`.
pub(super) fn query(query: &str, wishes: &Wishes, context: &Context) -> Result<ExitCode> {
    let _logging = context.start_logging();
    let image = match &wishes.image {
        Some(path) => Some(picture::load(path)?),
        None => None,
    };
    let mut conversation = super::open(wishes, context)?;
    let mut display = Display::new(wishes, context);
    let prepared = display
        .resumed(&mut conversation)
        .and_then(|()| display.query(query))
        .and_then(|()| references::expanded(query, &mut conversation));
    let mut input = match prepared {
        Ok(text) => TurnInput::text(text),
        Err(error) => {
            conversation.close(None, 1)?;
            return Err(error);
        }
    };
    input.images.extend(image);
    if let Some(worker) = &conversation.worker {
        let references = worker.images(&context.location.user_home);
        input.images.extend(picture::referred(&references));
    }
    let result = conversation.turn(input, &mut display);
    let result = goal::pursue(&mut conversation, result, &mut display, context);
    let said = display
        .answer(&result)
        .and_then(|()| display.farewell(&mut conversation, &result));
    let code = exit_code(&result, is_worker(context));
    // Whether anybody still reads what is said, the conversation has an end.
    let ended = conversation.close(Some(&result), code);
    after_saying(said, ended)
}

/// `-z`.
pub(super) fn script(prompt: &str, wishes: &Wishes, context: &Context) -> Result<ExitCode> {
    let _logging = context.start_logging();
    let mut conversation = match super::open(wishes, context) {
        Ok(conversation) => conversation,
        Err(error) => {
            let (message, _) = error.words();
            if let Some(path) = &wishes.usage_file {
                usage_report::write_failure(path, message)?;
            }
            return Err(error.without_hints());
        }
    };
    let mut display = Display::new(wishes, context);
    let result = conversation.turn(TurnInput::text(prompt), &mut display);
    let said = report(&result, wishes).and_then(|()| display.answer(&result));
    let code = exit_code(&result, is_worker(context));
    let ended = conversation.close(Some(&result), code);
    after_saying(said, ended)
}

/// How it ended, unless what was said did not arrive. A reader that has gone away did not want more;
/// that changes nothing about the turn.
fn after_saying(said: Result<()>, ended: Result<ExitCode>) -> Result<ExitCode> {
    match said {
        Err(error) if !error.is_broken_pipe() => Err(error),
        Ok(()) | Err(_) => ended,
    }
}

fn report(result: &TurnResult, wishes: &Wishes) -> Result<()> {
    match &wishes.usage_file {
        Some(path) => usage_report::write(path, result),
        None => Ok(()),
    }
}

pub(super) fn is_worker(context: &Context) -> bool {
    context.env.is_set(&vars::HERMES_KANBAN_TASK)
}
