//! Commands about the program itself: help, tools, approvals, the end.

use super::{After, COMMANDS, Desk};
use crate::error::{CommandError, Result};

/// What a message may bring along.
const REFERENCES: &str = "  @file:PATH[:FROM-TO], @folder:PATH, @diff, @staged, @git:N and \
                          @url:ADDRESS in a message bring along what they name";

pub(super) fn help(desk: &mut Desk<'_>, _: &str) -> Result<After> {
    for command in COMMANDS {
        let names: Vec<String> = command
            .names
            .iter()
            .map(|name| format!("/{name}"))
            .collect();
        let call = format!("{} {}", names.join(", "), command.arguments);
        desk.say(format!("  {:<32} {}", call.trim_end(), command.help))?;
    }
    desk.say(REFERENCES)?;
    Ok(After::Prompt)
}

pub(super) fn tools(desk: &mut Desk<'_>, _: &str) -> Result<After> {
    let names = desk.conversation.agent().tool_names();
    if names.is_empty() {
        desk.say("No tools")?;
    }
    for name in names {
        desk.say(format!("  {name}"))?;
    }
    Ok(After::Prompt)
}

pub(super) fn yolo(desk: &mut Desk<'_>, _: &str) -> Result<After> {
    if desk.conversation.toolbox().toggle_yolo() {
        desk.say("Risky commands run unasked in this session from now on.")?;
    } else {
        desk.say("Risky commands are asked for again.")?;
    }
    Ok(After::Prompt)
}

pub(super) fn quit(_: &mut Desk<'_>, arguments: &str) -> Result<After> {
    match arguments {
        "" => Ok(After::Quit { delete: false }),
        "--delete" => Ok(After::Quit { delete: true }),
        other => Err(CommandError::user(format!("/quit does not know '{other}'"))
            .hint("/quit --delete removes the session")),
    }
}
