//! Commands about how the model works: how much it thinks, how fast, in which manner.

use hermes_providers::Effort;

use super::{After, ChatState};
use crate::error::{CommandError, Result};
use crate::ui::one_line;

/// Characters of a personality that are shown.
const SHOWN: usize = 70;

pub(super) fn reasoning(state: &mut ChatState<'_>, arguments: &str) -> Result<After> {
    let mut level = None;
    let mut is_global = false;
    for word in arguments.split_whitespace() {
        match word {
            "--global" => is_global = true,
            word => level = Some(word),
        }
    }
    let Some(level) = level else {
        let setting = state
            .conversation
            .context()
            .config()
            .text("agent.reasoning_effort")
            .to_owned();
        let own = state
            .conversation
            .agent()
            .effort()
            .map(|effort| effort.name().to_owned());
        let shown = own.unwrap_or(setting);
        let shown = if shown.is_empty() {
            "the model's own"
        } else {
            &shown
        };
        state.note(format!("Reasoning: {shown}"))?;
        return Ok(After::Prompt);
    };
    if let Some((key, value, says)) = shown(level) {
        state.write_setting(key, value)?;
        state.note(says)?;
        return Ok(After::Prompt);
    }
    let effort = Effort::parse(&level.to_ascii_lowercase()).ok_or_else(|| {
        CommandError::user(format!(
            "/reasoning: no such level: '{}'",
            one_line(level, 30)
        ))
        .hint(
            "the levels are none, minimal, low, medium, high and xhigh; show, hide, full and clamp \
             are about what is shown",
        )
    })?;
    state.conversation.set_effort(Some(effort));
    if is_global {
        state.write_setting("agent.reasoning_effort", effort.name())?;
    }
    let reach = if is_global {
        "all sessions"
    } else {
        "this session"
    };
    state.note(format!("Reasoning: {} in {reach}.", effort.name()))?;
    Ok(After::Prompt)
}

/// The setting that a word about the shown reasoning changes, its value, and what is said.
fn shown(word: &str) -> Option<(&'static str, &'static str, &'static str)> {
    const SHOW: &str = "display.show_reasoning";
    const FULL: &str = "display.reasoning_full";
    Some(match word {
        "show" | "on" => (SHOW, "true", "Reasoning is shown while the model thinks."),
        "hide" | "off" => (SHOW, "false", "Reasoning is not shown."),
        "full" | "all" => (FULL, "true", "All of the reasoning stays above the answer."),
        "clamp" | "collapse" | "short" => {
            (FULL, "false", "The last lines of the reasoning are shown.")
        }
        _ => return None,
    })
}

pub(super) fn fast(state: &mut ChatState<'_>, arguments: &str) -> Result<After> {
    let tier = match arguments.trim_end_matches("--global").trim() {
        "" | "status" => {
            let tier = state.conversation.agent().provider().route().service_tier;
            state.note(format!("Tier: {}", tier.as_deref().unwrap_or("normal")))?;
            return Ok(After::Prompt);
        }
        "fast" | "on" | "priority" => "fast",
        "normal" | "off" => "normal",
        other => {
            return Err(CommandError::user(format!(
                "/fast: unknown argument '{}'",
                one_line(other, 30)
            ))
            .hint("it is fast, normal or status"));
        }
    };
    state.write_setting("agent.service_tier", tier)?;
    state.conversation.reload_settings()?;
    let now = state.conversation.agent().provider().route().service_tier;
    if tier == "fast" && now.is_none() {
        state.note("Saved, but the model in use has no faster tier.")?;
    } else {
        state.note(format!(
            "Tier: {}, from now on and in new sessions.",
            now.as_deref().unwrap_or("normal")
        ))?;
    }
    Ok(After::Prompt)
}

pub(super) fn personality(state: &mut ChatState<'_>, arguments: &str) -> Result<After> {
    let known = state.conversation.personalities();
    let (arguments, is_global) = match arguments.strip_suffix("--global") {
        Some(rest) => (rest.trim(), true),
        None => (arguments, false),
    };
    if arguments.is_empty() {
        for (name, text) in known {
            state.note(format!("  {name:<14} {}", one_line(&text, SHOWN)))?;
        }
        return Ok(After::Prompt);
    }
    if ["none", "default", "neutral"].contains(&arguments) {
        state.conversation.agent().set_personality(None);
        if is_global {
            state.write_setting("display.personality", "")?;
        }
        state.note("No personality from now on.")?;
        return Ok(After::Prompt);
    }
    let found = known.into_iter().find(|(name, _)| name == arguments);
    let Some((name, text)) = found else {
        return Err(CommandError::user(format!(
            "no such personality: '{}'",
            one_line(arguments, 30)
        ))
        .hint("/personality lists them"));
    };
    state.conversation.agent().set_personality(Some(text));
    if is_global {
        state.write_setting("display.personality", &name)?;
    }
    let reach = if is_global {
        "from now on and in new sessions"
    } else {
        "in this session"
    };
    state.note(format!("Personality: {name}, {reach}."))?;
    Ok(After::Prompt)
}
