//! Commands that are commands of the program as well: the same code, in this context.

use super::{After, ChatState};
use crate::error::{CommandError, Result};
use crate::ui::{counted, visible};

/// Runs a command line of the program.
pub(super) fn run(words: &[&str], arguments: &str, state: &mut ChatState<'_>) -> Result<After> {
    let more =
        shlex::split(arguments).ok_or_else(|| CommandError::user("a quotation is not closed"))?;
    let words: Vec<String> = words
        .iter()
        .map(|word| (*word).to_owned())
        .chain(more)
        .collect();
    // What it has to say it has said; the conversation goes on either way.
    (state.context.run_words)(&words, state.context)?;
    Ok(After::Prompt)
}

pub(super) fn kanban(state: &mut ChatState<'_>, arguments: &str) -> Result<After> {
    let arguments = if arguments.is_empty() {
        "list"
    } else {
        arguments
    };
    run(&["kanban"], arguments, state)
}

pub(super) fn config(state: &mut ChatState<'_>, arguments: &str) -> Result<After> {
    if arguments.split_whitespace().next() == Some("edit") {
        return Err(
            CommandError::user("/config edit would take the terminal away")
                .hint("run `hermes config edit` in another one, then /reload"),
        );
    }
    let arguments = if arguments.is_empty() {
        "show"
    } else {
        arguments
    };
    run(&["config"], arguments, state)
}

pub(super) fn profile(state: &mut ChatState<'_>, _: &str) -> Result<After> {
    run(&["profile"], "", state)
}

pub(super) fn sessions(state: &mut ChatState<'_>, _: &str) -> Result<After> {
    run(&["sessions", "list"], "", state)
}

pub(super) fn insights(state: &mut ChatState<'_>, arguments: &str) -> Result<After> {
    let days = match arguments {
        "" => "30",
        days if days.parse::<u32>().is_ok_and(|days| days > 0) => days,
        other => {
            let message = format!("/insights: '{}' is not a number of days", visible(other));
            return Err(CommandError::user(message).hint("such as /insights 7"));
        }
    };
    run(&["insights", "--days", days], "", state)
}

pub(super) fn memory(state: &mut ChatState<'_>, arguments: &str) -> Result<After> {
    run(&["memory"], arguments, state)
}

pub(super) fn cron(state: &mut ChatState<'_>, arguments: &str) -> Result<After> {
    let arguments = if arguments.is_empty() {
        "list"
    } else {
        arguments
    };
    run(&["cron"], arguments, state)
}

pub(super) fn toolsets(state: &mut ChatState<'_>, _: &str) -> Result<After> {
    run(&["tools", "--summary"], "", state)
}

pub(super) fn debug(state: &mut ChatState<'_>, _: &str) -> Result<After> {
    run(&["dump"], "", state)
}

pub(super) fn version(state: &mut ChatState<'_>, _: &str) -> Result<After> {
    run(&["version"], "", state)
}

pub(super) fn mcp(state: &mut ChatState<'_>, rest: &str) -> Result<After> {
    run(&["mcp"], rest, state)
}

pub(super) fn plugins(state: &mut ChatState<'_>, rest: &str) -> Result<After> {
    let rest = if rest.trim().is_empty() { "list" } else { rest };
    run(&["plugins"], rest, state)
}

pub(super) fn reload_mcp(state: &mut ChatState<'_>, _: &str) -> Result<After> {
    let (servers, tools) = state.conversation.reload_mcp_servers()?;
    state.note(format!(
        "{} with {}.",
        counted(servers, "MCP server"),
        counted(tools, "tool")
    ))?;
    Ok(After::Prompt)
}

pub(super) fn reload(state: &mut ChatState<'_>, _: &str) -> Result<After> {
    state.conversation.reload_settings()?;
    state.note(
        "The settings and keys were read again. Tools and the prompt stay those of the session.",
    )?;
    Ok(After::Prompt)
}
