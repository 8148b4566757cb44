//! One query and its answer.

use std::process::ExitCode;

use hermes_agent::{TurnInput, TurnResult};
use hermes_config::vars;

use super::display::Display;
use super::ending::exit_code;
use super::picture;
use super::references;
use super::usage_report;
use super::wishes::Wishes;
use crate::context::Context;
use crate::error::Result;

/// `chat -q` and `chat -Q -q`.
pub(super) fn query(query: &str, wishes: &Wishes, context: &Context) -> Result<ExitCode> {
    let _logging = context.start_logging();
    let mut conversation = super::open(wishes, context)?;
    let mut display = Display::new(wishes, context);
    display.resumed(&mut conversation)?;
    display.query(query)?;
    let mut input = TurnInput::text(references::expanded(query, &mut conversation)?);
    if let Some(path) = &wishes.image {
        input.images.push(picture::load(path)?);
    }
    if let Some(worker) = &conversation.worker {
        let references = worker.images(&context.location.user_home);
        input.images.extend(picture::referred(&references));
    }
    let result = conversation.turn(input, &mut display);
    display.answer(&result)?;
    display.farewell(&mut conversation, &result)?;
    let code = exit_code(&result, is_worker(context));
    conversation.close(Some(&result), code)
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
    report(&result, wishes)?;
    display.answer(&result)?;
    let code = exit_code(&result, is_worker(context));
    conversation.close(Some(&result), code)
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
