//! Sections beside the model: the terminal, the tools, the agent, and a fresh start.

use std::collections::BTreeSet;

use hermes_config::settings::{SetRequest, set};
use hermes_tools::{ToolSelection, basic_toolsets};

use super::backends::{self, BackendSearch};
use super::write::write_setting;
use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::ui::{Choice, Picked, can_ask, confirm, pick};

/// Where commands run, of what works here.
pub(super) fn terminal(context: &Context) -> Result<()> {
    let working = BackendSearch::start(context).finish();
    let rows: Vec<Choice> = working
        .iter()
        .zip(backends::rows(&working, ""))
        .map(|(backend, row)| Choice::new(backend.name, row.detail))
        .collect();
    let current = context.config().text("terminal.backend");
    let at = working.iter().position(|backend| backend.name == current);
    let picked = pick(
        context.printer,
        &context.env,
        "Terminal",
        &rows,
        at.unwrap_or(0),
    )?;
    if let Picked::Chosen(at) = picked
        && let Some(backend) = working.get(at)
    {
        write_setting(context, "terminal.backend", backend.name)?;
    }
    Ok(())
}

/// Toolsets on or off, until the person goes back.
pub(super) fn tools(context: &Context) -> Result<()> {
    let selection = ToolSelection {
        disabled: Vec::new(),
        ..ToolSelection::resolve(context.config(), &context.env, "cli", None)
    };
    let before = selection.expanded();
    let mut on: BTreeSet<String> = before.clone();
    let mut at = 0;
    loop {
        let names: Vec<&str> = basic_toolsets().collect();
        let mut rows: Vec<Choice> = names
            .iter()
            .map(|name| Choice::new(*name, if on.contains(*name) { "on" } else { "off" }))
            .collect();
        rows.insert(0, Choice::new("Done", ""));
        match pick(context.printer, &context.env, "Tools", &rows, at)? {
            Picked::Chosen(chosen) => {
                match chosen.checked_sub(1).and_then(|place| names.get(place)) {
                    Some(name) => {
                        if !on.remove(*name) {
                            on.insert((*name).to_owned());
                        }
                        at = chosen;
                    }
                    None => break,
                }
            }
            Picked::Back => break,
            Picked::Leave => return Ok(()),
        }
    }
    if on == before {
        return Ok(());
    }
    context.refuse_if_managed("config.yaml")?;
    context.ensure_home()?;
    let names: Vec<&str> = on.iter().map(String::as_str).collect();
    let request = SetRequest {
        key: "platform_toolsets.cli",
        value: &format!("[{}]", names.join(", ")),
        force: true,
    };
    set(&context.sources_to_write(), &request)?;
    context.note(format!("Tools: {}", names.join(", ")))
}

/// Who approves risky commands, and how long the model thinks.
pub(super) fn agent(context: &Context) -> Result<()> {
    let modes = [
        ("manual", "you are asked about every risky command"),
        (
            "smart",
            "a model decides about clear cases, you about the others",
        ),
        ("off", "risky commands run without a question"),
    ];
    ask_setting(context, "Approvals", "approvals.mode", &modes)?;
    let efforts = [
        ("none", "answers at once"),
        ("low", "thinks a little"),
        ("medium", "thinks as much as most questions need"),
        ("high", "thinks long; slower and dearer"),
    ];
    ask_setting(context, "Reasoning", "agent.reasoning_effort", &efforts)
}

fn ask_setting(context: &Context, title: &str, key: &str, values: &[(&str, &str)]) -> Result<()> {
    let rows: Vec<Choice> = values
        .iter()
        .map(|(value, meaning)| Choice::new(*value, *meaning))
        .collect();
    let current = context.config().text(key);
    let at = values.iter().position(|(value, _)| *value == current);
    let picked = pick(context.printer, &context.env, title, &rows, at.unwrap_or(0))?;
    if let Picked::Chosen(chosen) = picked
        && let Some((value, _)) = values.get(chosen)
        && Some(chosen) != at
    {
        write_setting(context, key, value)?;
    }
    Ok(())
}

/// Moves `config.yaml` aside, so that defaults count.
pub(super) fn reset(context: &Context) -> Result<()> {
    let path = context.location.home.join("config.yaml");
    if !path.exists() {
        return Ok(());
    }
    let kept = path.with_file_name("config.yaml.before-reset");
    let question = format!(
        "Begin with default settings? The present ones stay in {}.",
        context.display(&kept)
    );
    if can_ask() && confirm(context.printer, &question)? != Some(true) {
        return Err(CommandError::cancelled());
    }
    hermes_fs::rename(&path, &kept)?;
    context.note(format!(
        "The settings so far are in {}.",
        context.display(&kept)
    ))
}
