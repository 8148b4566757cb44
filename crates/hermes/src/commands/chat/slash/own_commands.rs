//! Commands that are not in the table: skills by name, and the `quick_commands` of the settings.

use std::time::Duration;

use hermes_terminal::{CommandRequest, SessionKey};
use hermes_tools::NotRunReport;
use serde_json::Value;

use super::{After, ChatState};
use crate::error::{CommandError, Result};
use crate::ui::{one_line, visible};

/// Longest run of a quick command.
const LIMIT: Duration = Duration::from_secs(30);
/// Names of one line that are shown.
const NAME: usize = 60;

/// Runs the skill or quick command of this name; `None` if there is neither.
pub(super) fn run(name: &str, arguments: &str, state: &mut ChatState<'_>) -> Result<Option<After>> {
    if let Some(message) = state.conversation.skill_message(name, arguments)? {
        return Ok(Some(After::Turn(message)));
    }
    let commands = state.conversation.context().config().get("quick_commands");
    let found = commands.and_then(|all| all.get(name)).cloned();
    match found {
        Some(found) => quick(name, &found, arguments, state).map(Some),
        None => Ok(None),
    }
}

/// The names of the quick commands, and what is said of them.
pub(super) fn quick_commands(state: &ChatState<'_>) -> Vec<(String, String)> {
    let commands = state.conversation.context().config().get("quick_commands");
    let commands = commands.and_then(Value::as_object).into_iter().flatten();
    let commands = commands.map(|(name, command)| {
        let help = ["description", "command", "target"]
            .iter()
            .find_map(|key| command[*key].as_str());
        (
            one_line(name, NAME),
            one_line(help.unwrap_or_default(), NAME),
        )
    });
    commands.collect()
}

fn quick(name: &str, found: &Value, arguments: &str, state: &mut ChatState<'_>) -> Result<After> {
    let text = |key: &str| {
        found[key]
            .as_str()
            .map(str::trim)
            .filter(|text| !text.is_empty())
    };
    let missing = |key: &str| {
        CommandError::user(format!("quick_commands.{name} has no {key}"))
            .hint("edit it with `hermes config edit`")
    };
    match text("type") {
        Some("exec") => execute(text("command").ok_or_else(|| missing("command"))?, state),
        Some("alias") => {
            let target = text("target").ok_or_else(|| missing("target"))?;
            let target = target.trim_start_matches('/');
            // One that leads to another one, or to itself, would never end.
            let names = target.split_whitespace().next().unwrap_or_default();
            let commands = state.conversation.context().config().get("quick_commands");
            if commands.is_some_and(|all| all.get(names).is_some()) {
                return Err(CommandError::user(format!(
                    "quick_commands.{name} leads to another quick command, /{names}"
                )));
            }
            super::run(&format!("/{target} {arguments}"), state)
        }
        other => Err(CommandError::user(format!(
            "quick_commands.{name} has the type '{}'",
            one_line(other.unwrap_or_default(), NAME)
        ))
        .hint("the types are exec and alias")),
    }
}

/// Runs a command as the agent's terminal would, and shows what it prints.
fn execute(command: &str, state: &mut ChatState<'_>) -> Result<After> {
    let cwd = state.conversation.agent().context().session.cwd();
    let tools = state.conversation.tools();
    let session = SessionKey::new("quick-command");
    let cwd = cwd.to_string_lossy();
    let ran = tools.terminal().run(&CommandRequest {
        command,
        session: &session,
        workdir: Some(&*cwd),
        timeout: Some(LIMIT),
        interrupt: tools.interrupt(),
    });
    let outcome = ran.map_err(|reason| CommandError::user(NotRunReport::from(reason).message))?;
    let output = outcome.output.trim_end();
    if output.is_empty() {
        state.note("It printed nothing.")?;
    } else {
        state.note(visible(output))?;
    }
    match (outcome.exit_code, outcome.error) {
        (0, None) => Ok(After::Prompt),
        (_, Some(error)) => Err(CommandError::user(error)),
        (code, None) => Err(CommandError::user(format!(
            "it ended with exit code {code}"
        ))),
    }
}

/// Without words the names; with words a command of the program.
pub(super) fn all_skills(state: &mut ChatState<'_>, arguments: &str) -> Result<After> {
    if arguments.is_empty() {
        return skills(state, arguments);
    }
    super::program::run(&["skills"], arguments, state)
}

pub(super) fn skills(state: &mut ChatState<'_>, _: &str) -> Result<After> {
    let names = state.conversation.skill_names();
    if names.is_empty() {
        state.note("There are no skills.")?;
    }
    for name in names {
        state.note(format!("  /{}", one_line(&name, NAME)))?;
    }
    Ok(After::Prompt)
}
