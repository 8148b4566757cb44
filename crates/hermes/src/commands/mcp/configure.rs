//! `hermes mcp configure`: which tools of a server are offered.

use hermes_mcp::{CatalogTool, ServerConfig};
use serde_json::json;

use super::entry::{check_name, find, write};
use super::probe::{failed, probe};
use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::ui::{Choice, Picked, can_ask, one_line, pick};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The server
    name: String,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    context.refuse_to_agents("changing MCP servers")?;
    let server = find(&args.name, context)?;
    check_name(&server.name)?;
    if !can_ask() {
        return Err(
            CommandError::user("nothing was changed: there is no terminal to ask on").hint(
                format!(
                    "`hermes config set mcp_servers.{}.tools.include '[\"tool\"]'` chooses by name",
                    server.name
                ),
            ),
        );
    }
    let probed = probe(&server, context)?.map_err(|error| failed(&server.name, &error))?;
    let chosen = choose(&probed.catalog.tools, &server, context)?;
    let include = chosen.unwrap_or_default();
    let key = format!("mcp_servers.{}.tools.include", server.name);
    write(&key, &json!(include), context)?;
    context.line(format!("✓ The tools of '{}' are chosen", server.name))
}

/// Lets the person switch tools on and off; `None` for all of them.
pub(super) fn choose(
    tools: &[CatalogTool],
    server: &ServerConfig,
    context: &Context,
) -> Result<Option<Vec<String>>> {
    let mut on: Vec<bool> = tools
        .iter()
        .map(|tool| server.filter.allows(&tool.name))
        .collect();
    let mut at = 0;
    loop {
        let mut rows = vec![Choice::new("Done", "keep what is marked")];
        rows.extend(tools.iter().zip(&on).map(|(tool, is_on)| {
            let mark = if *is_on { "[x]" } else { "[ ]" };
            Choice::new(
                format!("{mark} {}", tool.name),
                one_line(&tool.description, 60),
            )
        }));
        let title = format!("Tools of '{}'", server.name);
        match pick(context.printer, &context.env, &title, &rows, at)? {
            Picked::Chosen(0) => break,
            Picked::Chosen(row) => {
                at = row;
                if let Some(is_on) = on.get_mut(row - 1) {
                    *is_on = !*is_on;
                }
            }
            Picked::Back | Picked::Leave => return Err(CommandError::cancelled()),
        }
    }
    if on.iter().all(|is_on| *is_on) {
        return Ok(None);
    }
    let chosen = tools.iter().zip(on).filter(|(_, is_on)| *is_on);
    Ok(Some(chosen.map(|(tool, _)| tool.name.clone()).collect()))
}
