//! Which tools a conversation has.

use hermes_tools::{Registry, Tool};

use super::wishes::Wishes;
use crate::context::Context;
use crate::error::{CommandError, Result};

/// Names of the tools; empty means all.
pub(super) fn selected(
    wishes: &Wishes,
    context: &Context,
    registry: &Registry,
) -> Result<Vec<String>> {
    let Some(list) = &wishes.toolsets else {
        return Ok(Vec::new());
    };
    let names: Vec<&str> = list
        .split(',')
        .map(str::trim)
        .filter(|n| !n.is_empty())
        .collect();
    if names
        .iter()
        .any(|name| ["all", "*", "hermes-cli"].contains(name))
    {
        return Ok(Vec::new());
    }
    let mut tools = Vec::new();
    for name in names {
        let of_set = registry.iter().filter(|tool| tool.toolset() == name);
        let before = tools.len();
        tools.extend(of_set.map(|tool: &dyn Tool| tool.name().to_owned()));
        if tools.len() == before {
            context
                .printer
                .note(format!("There is no toolset '{name}'; it is left out."))?;
        }
    }
    if tools.is_empty() {
        return Err(CommandError::usage(
            "--toolsets names no toolset that exists",
        ));
    }
    Ok(tools)
}
