//! Commands about work beside the conversation, and about what goes in and out of it.

use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hermes_agent::{TurnEvent, TurnInput};
use hermes_runtime::{ConversationRequest, Runtime, load_image};
use hermes_session::{MessageRole, SessionMessage};

use super::{After, ChatState};
use crate::error::{CommandError, Result};
use crate::tool_access;
use crate::ui::{TerminalPerson, counted, visible};

pub(super) fn queue(_: &mut ChatState<'_>, arguments: &str) -> Result<After> {
    if arguments.is_empty() {
        return Err(CommandError::user("there is no message to send")
            .hint("write it behind the command: /queue MESSAGE"));
    }
    Ok(After::Turn(arguments.to_owned()))
}

/// A conversation of its own, on a thread of its own. It ends with the program; what it has done by
/// then is stored.
pub(super) fn background(state: &mut ChatState<'_>, arguments: &str) -> Result<After> {
    if arguments.is_empty() {
        return Err(CommandError::user("there is nothing to work on")
            .hint("write it behind the command: /background MESSAGE"));
    }
    let printer = state.context.printer;
    let runtime = Runtime::new((**state.context).clone());
    let route = state.conversation.agent().provider().route();
    let request = ConversationRequest {
        model: Some(route.model),
        ..ConversationRequest::new("cli", tool_access::interrupt()?)
    };
    let message = arguments.to_owned();
    std::thread::spawn(move || {
        let person = TerminalPerson::shown_only(printer);
        let line = match runtime.open_conversation(&request, person) {
            Ok(mut conversation) => {
                let input = TurnInput::text(message);
                let result = conversation.turn(input, &mut |_: TurnEvent<'_>| {});
                let id = result.session_id.clone();
                let text = match (&result.final_response, &result.failure) {
                    (Some(text), _) => text.clone(),
                    (None, Some(failure)) => failure.message.clone(),
                    (None, None) => "no answer".to_owned(),
                };
                // It has been said what came of it.
                drop(conversation.close(Some(&result), || 0));
                format!("\nBackground session {id}:\n{}", visible(&text))
            }
            Err(error) => format!("\nThe background session did not begin: {error}"),
        };
        // A terminal that has gone wants no answer.
        drop(printer.note(line));
    });
    state.note("Working on it in a session of its own; the answer appears here.")?;
    Ok(After::Prompt)
}

pub(super) fn stop(state: &mut ChatState<'_>, _: &str) -> Result<After> {
    let terminal = state.conversation.tools().terminal();
    let grace = terminal.settings().background_grace;
    let count = terminal.processes().kill_started("stop_command", grace);
    match count {
        0 => state.note("There are no background processes.")?,
        count => state.note(format!("Stopped {}.", counted_processes(count)))?,
    }
    Ok(After::Prompt)
}

fn counted_processes(count: usize) -> String {
    if count == 1 {
        "1 background process".to_owned()
    } else {
        format!("{count} background processes")
    }
}

pub(super) fn image(state: &mut ChatState<'_>, arguments: &str) -> Result<After> {
    if arguments.is_empty() {
        return Err(CommandError::user("/image needs a file"));
    }
    let cwd = state.conversation.agent().context().session.cwd();
    let written = arguments.trim_matches(['"', '\'']);
    let path = match written.strip_prefix("~/") {
        Some(below) => state.context.location.user_home.join(below),
        None => cwd.join(PathBuf::from(written)),
    };
    let image = load_image(&path)?;
    state.conversation.attach(image);
    state.note(format!(
        "{} goes with the next message.",
        state.context.display(&path)
    ))?;
    Ok(After::Prompt)
}

/// The terminal puts it on the clipboard, also over SSH, if it does that at all (OSC 52).
pub(super) fn copy(state: &mut ChatState<'_>, arguments: &str) -> Result<After> {
    let back = match arguments {
        "" => 1,
        text => text
            .parse::<usize>()
            .ok()
            .filter(|count| *count > 0)
            .ok_or_else(|| {
                CommandError::user(format!("/copy: '{}' is not a number", visible(text)))
            })?,
    };
    let answers: Vec<String> = state
        .conversation
        .agent()
        .messages()
        .filter(|message| message.role == MessageRole::Assistant)
        .map(SessionMessage::text)
        .filter(|text| !text.trim().is_empty())
        .collect();
    let Some(text) = answers.iter().rev().nth(back - 1) else {
        return Err(CommandError::user("there is no such answer"));
    };
    let encoded = STANDARD.encode(text.as_bytes());
    state
        .context
        .printer
        .err(&format!("\x1b]52;c;{encoded}\x07"))?;
    let letters = counted(text.chars().count(), "character");
    state.note(format!("Copied {letters}."))?;
    Ok(After::Prompt)
}
