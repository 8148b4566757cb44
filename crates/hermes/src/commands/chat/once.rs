//! One query and its answer.

use std::process::ExitCode;
use std::sync::Arc;

use hermes_agent::{TurnInput, TurnObserver, TurnResult};
use hermes_providers::Image;
use hermes_runtime::{Conversation, Nobody, Runtime, load_image};

use super::display::Display;
use super::events::Events;
use super::exit_code::exit_code;
use super::open_chat::OpenChat;
use super::options::ChatOptions;
use super::usage_report;
use crate::context::Context;
use crate::error::Result;
use crate::ui::piped_text;

/// `chat -q` and `chat -Q -q`.
pub(super) fn query(
    query: &str,
    options: &ChatOptions,
    runtime: &Runtime,
    context: &Context,
) -> Result<ExitCode> {
    context.start_logging();
    let image = options.image.as_deref().map(load_image).transpose()?;
    let mut chat = OpenChat::open(options, runtime, context)?;
    let mut display = Display::new(options, context);
    let conversation = &mut chat.conversation;
    let shown = display
        .resumed(conversation)
        .and_then(|()| display.query(query));
    if let Err(error) = shown {
        chat.close(None, 1)?;
        return Err(error);
    }
    let result = turn(conversation, query, image, &mut display);
    let shown = display
        .answer(&result)
        .and_then(|()| display.farewell(conversation, &result));
    finish(chat, &result, shown)
}

/// `chat -q --json`.
pub(super) fn events(
    query: &str,
    options: &ChatOptions,
    runtime: &Runtime,
    context: &Context,
) -> Result<ExitCode> {
    context.start_logging();
    let image = options.image.as_deref().map(load_image).transpose()?;
    let mut chat = OpenChat::open(options, runtime, context)?;
    let mut events = Events::new(context.printer);
    let conversation = &mut chat.conversation;
    events.session(conversation);
    let result = turn(conversation, query, image, &mut events);
    events.result(&result);
    finish(chat, &result, events.finish())
}

/// A run of a scheduled job. Its text is taken as it is: what a script printed must not name files to
/// be sent along.
pub(super) fn scheduled(
    prompt: &str,
    options: &ChatOptions,
    runtime: &Runtime,
    context: &Context,
) -> Result<ExitCode> {
    context.start_logging();
    let mut chat = OpenChat::open_with(options, runtime, Arc::new(Nobody))?;
    let mut events = Events::new(context.printer);
    let conversation = &mut chat.conversation;
    events.session(conversation);
    let result = conversation.turn(TurnInput::text(prompt), &mut events);
    events.result(&result);
    finish(chat, &result, events.finish())
}

/// The turn of a query, and those after it until the goal of a card is reached.
fn turn(
    conversation: &mut Conversation,
    query: &str,
    image: Option<Image>,
    observer: &mut dyn TurnObserver,
) -> TurnResult {
    let mut input = TurnInput::text(conversation.expand_references(query));
    input.images.extend(image);
    input.images.extend(conversation.card_images());
    let result = conversation.turn(input, observer);
    conversation.pursue_goal(result, observer)
}

/// `-z`.
pub(super) fn script(
    prompt: &str,
    options: &ChatOptions,
    runtime: &Runtime,
    context: &Context,
) -> Result<ExitCode> {
    context.start_logging();
    let prompt = match piped_text(&options.request.interrupt, context.printer)? {
        Some(input) => format!("{prompt}\n\n{input}"),
        None => prompt.to_owned(),
    };
    let mut chat = match OpenChat::open(options, runtime, context) {
        Ok(chat) => chat,
        Err(mut error) => {
            if let Some(path) = &options.usage_file {
                usage_report::write(path, Err(&error.message))?;
            }
            error.hints.clear();
            return Err(error);
        }
    };
    let mut display = Display::new(options, context);
    let result = chat
        .conversation
        .turn(TurnInput::text(prompt), &mut display);
    let reported = match &options.usage_file {
        Some(path) => usage_report::write(path, Ok(&result)),
        None => Ok(()),
    };
    let shown = reported.and_then(|()| display.answer(&result));
    finish(chat, &result, shown)
}

/// Closes the conversation, whether or not the answer could be shown. A reader that has gone away
/// did not want more; that changes nothing about the turn.
fn finish(chat: OpenChat, result: &TurnResult, shown: Result<()>) -> Result<ExitCode> {
    let code = exit_code(result, chat.conversation.is_worker());
    let closed = chat.close(Some(result), code);
    match shown {
        Err(error) if !error.is_broken_pipe() => Err(error),
        Ok(()) | Err(_) => closed,
    }
}
