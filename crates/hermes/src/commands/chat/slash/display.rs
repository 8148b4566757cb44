//! Commands about what is shown: they write settings, which act at once.

use hermes_chat::ToolProgress;

use super::super::skin;
use super::{After, ChatState};
use crate::error::{CommandError, Result};
use crate::ui::one_line;

pub(super) fn verbose(state: &mut ChatState<'_>, arguments: &str) -> Result<After> {
    let next = match arguments {
        "" => match state.display.progress {
            ToolProgress::Off => ToolProgress::New,
            ToolProgress::New => ToolProgress::All,
            ToolProgress::All => ToolProgress::Verbose,
            ToolProgress::Verbose => ToolProgress::Off,
        },
        "off" => ToolProgress::Off,
        "new" => ToolProgress::New,
        "all" => ToolProgress::All,
        "verbose" => ToolProgress::Verbose,
        other => return Err(unknown("/verbose", other, "off, new, all or verbose")),
    };
    state.display.progress = next;
    state.note(match next {
        ToolProgress::Off => "Tool calls are not shown, in this session.",
        ToolProgress::New => "Of calls of the same tool in a row the first is shown.",
        ToolProgress::All => "All tool calls are shown.",
        ToolProgress::Verbose => "All tool calls are shown, with their output.",
    })?;
    Ok(After::Prompt)
}

pub(super) fn statusbar(state: &mut ChatState<'_>, arguments: &str) -> Result<After> {
    let is_shown = state.display.status_bar;
    let Some(is_shown) = switch("/statusbar", arguments, is_shown)? else {
        state.note(format!("The status line is {}.", on_off(is_shown)))?;
        return Ok(After::Prompt);
    };
    state.display.status_bar = is_shown;
    state.note(format!(
        "The status line is {} in this session.",
        on_off(is_shown)
    ))?;
    Ok(After::Prompt)
}

pub(super) fn timestamps(state: &mut ChatState<'_>, arguments: &str) -> Result<After> {
    toggle(
        state,
        "/timestamps",
        arguments,
        "display.timestamps",
        "Times of messages",
    )
}

pub(super) fn footer(state: &mut ChatState<'_>, arguments: &str) -> Result<After> {
    let key = "display.runtime_footer.enabled";
    toggle(state, "/footer", arguments, key, "The line under answers")
}

fn toggle(
    state: &mut ChatState<'_>,
    command: &str,
    arguments: &str,
    key: &str,
    what: &str,
) -> Result<After> {
    let now = state.context.reloaded().config().flag(key);
    match switch(command, arguments, now)? {
        None => state.note(format!("{what}: {}", on_off(now)))?,
        Some(next) => {
            state.write_setting(key, if next { "true" } else { "false" })?;
            state.note(format!(
                "{what}: {}, here and in new sessions.",
                on_off(next)
            ))?;
        }
    }
    Ok(After::Prompt)
}

/// What a switch is to be; `None` if only asked for.
fn switch(command: &str, arguments: &str, now: bool) -> Result<Option<bool>> {
    match arguments {
        "" => Ok(Some(!now)),
        "on" | "enable" | "true" | "1" => Ok(Some(true)),
        "off" | "disable" | "false" | "0" => Ok(Some(false)),
        "status" | "?" => Ok(None),
        other => Err(unknown(command, other, "on, off or status")),
    }
}

fn on_off(is_on: bool) -> &'static str {
    if is_on { "on" } else { "off" }
}

pub(super) fn indicator(state: &mut ChatState<'_>, arguments: &str) -> Result<After> {
    const STYLES: [&str; 4] = ["kaomoji", "emoji", "unicode", "ascii"];
    if arguments.is_empty() {
        state.note(format!("The styles are {}.", STYLES.join(", ")))?;
        return Ok(After::Prompt);
    }
    if !STYLES.contains(&arguments) {
        return Err(unknown(
            "/indicator",
            arguments,
            "kaomoji, emoji, unicode or ascii",
        ));
    }
    state.write_setting("display.tui_status_indicator", arguments)?;
    state.note(format!("What moves while the agent works: {arguments}."))?;
    Ok(After::Prompt)
}

pub(super) fn busy(state: &mut ChatState<'_>, arguments: &str) -> Result<After> {
    const KEY: &str = "display.busy_input_mode";
    let mode = match arguments {
        "" | "status" => {
            let context = state.context.reloaded();
            let mode = context.config().text(KEY).to_owned();
            state.note(format!("A message sent during a turn {}.", does(&mode)))?;
            return Ok(After::Prompt);
        }
        "interrupt" | "queue" | "steer" => arguments,
        other => return Err(unknown("/busy", other, "interrupt, queue, steer or status")),
    };
    state.write_setting(KEY, mode)?;
    state.note(format!("A message sent during a turn now {}.", does(mode)))?;
    Ok(After::Prompt)
}

fn does(mode: &str) -> &'static str {
    match mode {
        "queue" => "waits for its end",
        "steer" => "is handed to it",
        _ => "interrupts it",
    }
}

pub(super) fn skin(state: &mut ChatState<'_>, arguments: &str) -> Result<After> {
    let home = &state.context.location.home;
    if arguments.is_empty() {
        let context = state.context.reloaded();
        let current = context.config().text("display.skin");
        for listed in skin::all(home) {
            let sign = if listed.name == current { '*' } else { ' ' };
            let line = format!("{sign} {:<16} {}", listed.name, listed.description);
            state.note(line.trim_end())?;
        }
        state.note("Your own are files in skins/ of the Hermes home: NAME.yaml.")?;
        return Ok(After::Prompt);
    }
    skin::load(arguments, home)
        .map_err(|problem| CommandError::user(problem).hint("/skin lists the skins"))?;
    state.write_setting("display.skin", arguments)?;
    state.note(format!("Skin: {arguments}, here and in new sessions."))?;
    Ok(After::Prompt)
}

fn unknown(command: &str, argument: &str, possible: &str) -> CommandError {
    CommandError::user(format!(
        "{command}: unknown argument '{}'",
        one_line(argument, 30)
    ))
    .hint(format!("it is {possible}"))
}
