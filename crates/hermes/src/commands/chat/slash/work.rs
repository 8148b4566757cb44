//! Commands about work beside the conversation, and about what goes in and out of it.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hermes_agent::{TurnEvent, TurnInput};
use hermes_runtime::{ConversationRequest, Nobody, Runtime, load_image};
use hermes_session::{MessageRole, SessionMessage};
use hermes_terminal::SessionKey;

use super::super::clipboard::save_image;
use super::super::message_editor::edited;
use super::{After, ChatState};
use crate::error::{CommandError, Result};
use crate::tool_access;
use crate::ui::{can_ask, counted, one_line, visible};

/// Characters of a command or message that are shown.
const SHOWN: usize = 70;

pub(super) fn queue(_: &mut ChatState<'_>, arguments: &str) -> Result<After> {
    if arguments.is_empty() {
        return Err(CommandError::user("there is no message to send")
            .hint("write it behind the command: /queue MESSAGE"));
    }
    Ok(After::Turn(arguments.to_owned()))
}

/// Conversations that run beside this one.
#[derive(Debug, Clone, Default)]
pub(in super::super) struct BackgroundSessions(Arc<Mutex<Vec<BackgroundSession>>>);

#[derive(Debug)]
struct BackgroundSession {
    message: String,
    begun: Instant,
    is_over: bool,
}

impl BackgroundSessions {
    fn lock(&self) -> MutexGuard<'_, Vec<BackgroundSession>> {
        // Changed by whole entries: intact after a panic of another thread.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds one and gives its number.
    fn add(&self, message: &str) -> usize {
        let mut sessions = self.lock();
        sessions.push(BackgroundSession {
            message: message.to_owned(),
            begun: Instant::now(),
            is_over: false,
        });
        sessions.len() - 1
    }

    fn end(&self, number: usize) {
        if let Some(session) = self.lock().get_mut(number) {
            session.is_over = true;
        }
    }
}

/// A conversation of its own, on a thread of its own. It ends with the program; what it has done by
/// then is stored.
pub(super) fn background(state: &mut ChatState<'_>, arguments: &str) -> Result<After> {
    if arguments.is_empty() {
        return Err(CommandError::user("there is nothing to work on")
            .hint("write it behind the command: /background MESSAGE"));
    }
    let runtime = Runtime::new((**state.context).clone());
    let route = state.conversation.agent().provider().route();
    let request = ConversationRequest {
        model: Some(route.model),
        ..ConversationRequest::new("cli", tool_access::interrupt()?)
    };
    let message = arguments.to_owned();
    let (aside, sessions) = (Arc::clone(&state.aside), state.background.clone());
    let number = sessions.add(&message);
    std::thread::spawn(move || {
        match runtime.open_conversation(&request, Arc::new(Nobody)) {
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
                aside(format!("Background session {id}:"), text);
            }
            Err(error) => {
                let title = "The background session did not begin:".to_owned();
                aside(title, error.to_string());
            }
        }
        sessions.end(number);
    });
    state.note("Working on it in a session of its own; the answer appears here.")?;
    Ok(After::Prompt)
}

/// What runs beside the conversation.
pub(super) fn agents(state: &mut ChatState<'_>, _: &str) -> Result<After> {
    let key = state.conversation.agent().context().session_key.clone();
    let terminal = state.conversation.tools().terminal();
    let processes = terminal.processes_of(&SessionKey::new(&key)).list(0);
    let mut lines: Vec<String> = processes
        .iter()
        .filter(|process| process.ending.is_none())
        .map(|process| {
            let age = age(process.uptime);
            let command = one_line(&process.command, SHOWN);
            format!("  {}  {age:>8}  {command}", process.id)
        })
        .collect();
    let ended = processes.len() - lines.len();
    for session in state.background.lock().iter().filter(|one| !one.is_over) {
        let age = age(session.begun.elapsed());
        let message = one_line(&session.message, SHOWN);
        lines.push(format!("  background session  {age:>8}  {message}"));
    }
    if lines.is_empty() {
        state.note("Nothing runs in the background.")?;
    }
    for line in lines {
        state.note(line)?;
    }
    if ended > 0 {
        state.note(format!("  {ended} more have ended"))?;
    }
    Ok(After::Prompt)
}

/// `12 s`, `5 min`, `3 h`.
fn age(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        _ => format!("{} h", seconds / 3600),
    }
}

/// A message written in the person's editor.
pub(super) fn prompt(state: &mut ChatState<'_>, arguments: &str) -> Result<After> {
    if !can_ask() {
        return Err(CommandError::user("/prompt needs a terminal"));
    }
    let text = edited(arguments, state.context)?;
    if text.trim().is_empty() {
        state.note("The message is empty; nothing was sent.")?;
        return Ok(After::Prompt);
    }
    Ok(After::Turn(text))
}

pub(super) fn paste(state: &mut ChatState<'_>, _: &str) -> Result<After> {
    let Some(path) = save_image(state.context)? else {
        return Err(CommandError::user("there is no image on the clipboard")
            .hint("/image FILE sends one from a file"));
    };
    state.conversation.attach(load_image(&path)?);
    state.note("The image on the clipboard goes with the next message.")?;
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
