//! Commands about the messages so far: undo, retry, compress, history.

use hermes_agent::Compacted;
use jiff::{SignedDuration, Timestamp};

use super::super::look::written;
use super::{After, ChatState};
use crate::error::{CommandError, Result};
use crate::ui::{counted, one_line};

/// Characters of an undone message that are shown.
const SHORT: usize = 60;
/// Characters of a message in the history.
const LINE: usize = 100;

pub(super) fn undo(state: &mut ChatState<'_>, arguments: &str) -> Result<After> {
    let count = match arguments {
        "" => 1,
        text => text
            .parse::<usize>()
            .ok()
            .filter(|count| *count > 0)
            .ok_or_else(|| CommandError::user(format!("/undo: '{text}' is not a number")))?,
    };
    let (_, person) = state.conversation.agent().message_counts();
    let messages = counted(count, "message");
    let question = format!("Undo the last {messages} and what followed?");
    if person > 0 && !state.may_discard(&question)? {
        state.note("Nothing was undone.")?;
        return Ok(After::Prompt);
    }
    undo_last(state, count)?;
    Ok(After::Prompt)
}

pub(super) fn retry(state: &mut ChatState<'_>, _: &str) -> Result<After> {
    Ok(match undo_last(state, 1)? {
        Some(text) => After::Turn(text),
        None => After::Prompt,
    })
}

fn undo_last(state: &mut ChatState<'_>, count: usize) -> Result<Option<String>> {
    let undone = state.conversation.agent().undo(count)?;
    match &undone {
        Some(text) => state.note(format!("Undone: {}", one_line(text, SHORT)))?,
        None => state.note("There is nothing to undo.")?,
    }
    Ok(undone)
}

pub(super) fn compress(state: &mut ChatState<'_>, arguments: &str) -> Result<After> {
    let focus = (!arguments.is_empty()).then_some(arguments);
    let agent = state.conversation.agent();
    match agent.compress(focus, state.display)? {
        Compacted::TooShort => state.note("There are too few messages to summarise.")?,
        Compacted::Unchanged => state.note("Nothing could be shortened.")?,
        // The display has shown how much shorter the history is.
        Compacted::Done => {}
    }
    Ok(After::Prompt)
}

pub(super) fn show(state: &mut ChatState<'_>, _: &str) -> Result<After> {
    let context = state.context.reloaded();
    let config = context.config();
    let format = config.text("display.timestamp_format");
    let zone = config
        .flag("display.timestamps")
        .then(|| context.zone().resolve());
    let time = |at: f64| -> Option<String> {
        let at = Timestamp::from_duration(SignedDuration::try_from_secs_f64(at).ok()?).ok()?;
        Some(format!("[{}] ", written(format, at, zone.clone()?)))
    };
    let agent = state.conversation.agent();
    let messages = if agent.is_stored() {
        let id = agent.session_id().clone();
        agent.store().load_history(&id)?.messages
    } else {
        Vec::new()
    };
    let lines: Vec<String> = messages
        .iter()
        .map(|stored| {
            let message = &stored.message;
            let text = one_line(&message.text(), LINE);
            let calls = match message.call_count() {
                0 => String::new(),
                count => format!(" [{}]", counted(count, "call")),
            };
            let time = time(stored.timestamp).unwrap_or_default();
            format!("  {time}{:<10}{text}{calls}", message.role.as_str())
        })
        .collect();
    if lines.is_empty() {
        state.note("There are no messages yet.")?;
    }
    for line in lines {
        state.note(line)?;
    }
    Ok(After::Prompt)
}
