//! Commands about the program itself: help, tools, approvals, quit.

use hermes_config::vars;

use super::{After, COMMANDS, ChatState, own_commands, program};
use crate::error::{CommandError, Result};
use crate::ui::one_line;

/// Characters of a value that are shown.
const SHOWN: usize = 80;

/// What a message may bring along.
const REFERENCES: &str = "  @file:PATH[:FROM-TO], @folder:PATH, @diff, @staged, @git:N and \
    @url:ADDRESS in a message attach what they refer to";

pub(super) fn help(state: &mut ChatState<'_>, _: &str) -> Result<After> {
    for command in COMMANDS {
        let names: Vec<String> = command
            .names
            .iter()
            .map(|name| format!("/{name}"))
            .collect();
        let call = format!("{} {}", names.join(", "), command.arguments);
        state.note(format!("  {:<32} {}", call.trim_end(), command.help))?;
    }
    for (name, help) in own_commands::quick_commands(state) {
        state.note(format!("  {:<32} {help}", format!("/{name}")))?;
    }
    state.note(REFERENCES)?;
    Ok(After::Prompt)
}

pub(super) fn tools(state: &mut ChatState<'_>, arguments: &str) -> Result<After> {
    let (verb, rest) = arguments
        .split_once(char::is_whitespace)
        .unwrap_or((arguments, ""));
    match verb {
        "" => {}
        // The tools of a conversation stay as they are, or the provider's cache of it is lost.
        "list" | "enable" | "disable" => return program::run(&["tools", verb], rest, state),
        other => {
            return Err(CommandError::user(format!(
                "/tools: unknown argument '{}'",
                one_line(other, 30)
            ))
            .hint("it is list, enable NAME or disable NAME"));
        }
    }
    let names = state.conversation.agent().tool_names();
    if names.is_empty() {
        state.note("No tools")?;
    }
    for name in names {
        state.note(format!("  {name}"))?;
    }
    Ok(After::Prompt)
}

pub(super) fn whoami(state: &mut ChatState<'_>, _: &str) -> Result<After> {
    let context = state.context;
    let profile = context.current.as_ref();
    let user = context.env.text(&vars::USER).map_or_else(
        || {
            context
                .system
                .user_name()
                .unwrap_or_else(|| format!("number {}", context.system.uid))
        },
        str::to_owned,
    );
    let lines = [
        ("User", user),
        (
            "Profile",
            profile.map_or_else(|| "default".to_owned(), ToString::to_string),
        ),
        ("Home", context.display(&context.location.home)),
        ("Commands", "all: this is your own terminal".to_owned()),
    ];
    for (name, value) in lines {
        state.note(format!("  {name:<10} {}", one_line(&value, SHOWN)))?;
    }
    Ok(After::Prompt)
}

/// The interface does this by itself; line by line there is nothing to draw.
pub(super) fn redraw(state: &mut ChatState<'_>, _: &str) -> Result<After> {
    state.note("There is nothing to draw here.")?;
    Ok(After::Prompt)
}

pub(super) fn yolo(state: &mut ChatState<'_>, _: &str) -> Result<After> {
    state.context.refuse_to_agents("/yolo")?;
    if state.conversation.tools().toggle_yolo() {
        state.note("Risky commands now run without approval in this session.")?;
    } else {
        state.note("Risky commands need approval again.")?;
    }
    Ok(After::Prompt)
}

pub(super) fn quit(_: &mut ChatState<'_>, arguments: &str) -> Result<After> {
    match arguments {
        "" => Ok(After::Quit { delete: false }),
        "--delete" => Ok(After::Quit { delete: true }),
        other => Err(
            CommandError::user(format!("/quit: unknown argument '{other}'"))
                .hint("/quit --delete deletes the session"),
        ),
    }
}
