//! `hermes mcp install` and `hermes mcp picker`: servers of the catalog.

use super::add::add;
use super::catalog::{CATALOG, CatalogEntry};
use super::entry::exists;
use crate::commands::NoArgs;
use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::ui::{Choice, Picked, ask_line, can_ask, one_line, pick};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Name in the catalog
    identifier: String,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    context.refuse_to_agents("adding MCP servers")?;
    // The reference writes `official/NAME` as well.
    let name = args
        .identifier
        .strip_prefix("official/")
        .unwrap_or(&args.identifier);
    let Some(entry) = CATALOG.iter().find(|entry| entry.name == name) else {
        let message = format!("'{}' is not in the catalog", one_line(name, 60));
        let error = CommandError::user(message);
        return Err(
            match hermes_text::closest(name, CATALOG.iter().map(|entry| entry.name)) {
                Some(near) => error.hint(format!("did you mean '{near}'?")),
                None => error.hint("`hermes mcp catalog` lists what can be installed"),
            },
        );
    };
    install(entry, context)
}

pub(super) fn pick_one(_: &NoArgs, context: &Context) -> Result<()> {
    context.refuse_to_agents("adding MCP servers")?;
    if !can_ask() {
        return Err(CommandError::user("there is no terminal to choose on")
            .hint("`hermes mcp catalog` lists the servers, `hermes mcp install NAME` adds one"));
    }
    let rows: Vec<Choice> = CATALOG
        .iter()
        .map(|entry| Choice::new(entry.name, entry.about))
        .collect();
    match pick(context.printer, &context.env, "MCP server", &rows, 0)? {
        Picked::Chosen(at) => match CATALOG.get(at) {
            Some(entry) => install(entry, context),
            None => Ok(()),
        },
        Picked::Back | Picked::Leave => Err(CommandError::cancelled()),
    }
}

fn install(entry: &CatalogEntry, context: &Context) -> Result<()> {
    if exists(entry.name, context) {
        return Err(
            CommandError::user(format!("there is an MCP server '{}' already", entry.name)).hint(
                format!("remove it first with `hermes mcp remove {}`", entry.name),
            ),
        );
    }
    let directory = if entry.asks_directory {
        let asked = ask_line(context.printer, "Directory that it may use: ")?;
        let Some(directory) = asked.filter(|directory| !directory.trim().is_empty()) else {
            return Err(CommandError::user("no directory was given").hint(format!(
                "`hermes mcp add {} --command npx --args …` needs no terminal",
                entry.name
            )));
        };
        Some(directory.trim().to_owned())
    } else {
        None
    };
    context.note(format!("{}: {}", entry.name, entry.source))?;
    add(
        entry.name,
        entry.settings(directory.as_deref()),
        None,
        context,
    )
}
