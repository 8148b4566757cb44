//! Which tools of an MCP server recall and store (`hermes memory setup mcp:SERVER`).

use std::sync::Arc;

use hermes_mcp::{Catalog, CatalogTool, ConfiguredServers};
use hermes_proc::Wake;
use serde_json::Value;

use super::setting::write;
use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::ui::one_line;

/// Names that memory servers give their tools, the likeliest first.
const RECALLING: [&str; 6] = [
    "recall",
    "search_memories",
    "search_memory",
    "memory_search",
    "search_nodes",
    "search",
];
const STORING: [&str; 6] = [
    "retain",
    "remember",
    "store_memory",
    "add_memory",
    "add_memories",
    "store",
];
/// Arguments of such tools, the likeliest first.
const QUERIES: [&str; 4] = ["query", "q", "text", "message"];
const CONTENTS: [&str; 5] = ["content", "text", "memory", "message", "observation"];

/// Asks the server for its tools and writes which of them are used.
pub(super) fn choose(
    server: &str,
    recall: Option<&str>,
    store: Option<&str>,
    context: &Context,
) -> Result<()> {
    let found = ConfiguredServers::resolve(context.config());
    let Some(config) = found.get(server) else {
        return Err(
            CommandError::user(format!("no such MCP server: '{}'", one_line(server, 60))).hint(
                "add it first with `hermes mcp add`; `hermes mcp list` shows those there are",
            ),
        );
    };
    context.ensure_home()?;
    let interrupt = Wake::new().map_err(|error| CommandError::environment(error.to_string()))?;
    let redactor = Arc::new(context.redactor());
    let pooled = hermes_runtime::separate_server(context, config, &redactor);
    let catalog = pooled.connect(&interrupt).map_err(|error| {
        CommandError::environment(format!("MCP server '{server}': {error}"))
            .hint(format!("try it with `hermes mcp test {server}`"))
    })?;
    let recall = used(&catalog, recall, &RECALLING, &QUERIES)?;
    let store = used(&catalog, store, &STORING, &CONTENTS)?;
    if recall.is_none() && store.is_none() {
        let names: Vec<&str> = catalog
            .tools
            .iter()
            .map(|tool| tool.name.as_str())
            .collect();
        let names = one_line(&names.join(", "), 300);
        return Err(CommandError::user(format!(
            "none of the tools of '{server}' looks like memory"
        ))
        .hint(format!(
            "name them with --recall-tool and --store-tool; it has {names}"
        )));
    }
    for (kind, argument_key, chosen) in [
        (
            "memory.mcp.recall_tool",
            "memory.mcp.recall_argument",
            &recall,
        ),
        ("memory.mcp.store_tool", "memory.mcp.store_argument", &store),
    ] {
        let (tool, argument) = match chosen {
            Some((tool, argument)) => (tool.as_str(), argument.as_str()),
            None => ("", ""),
        };
        write(kind, tool, context)?;
        if !argument.is_empty() {
            write(argument_key, argument, context)?;
        }
    }
    let shown = |chosen: &Option<(String, String)>| match chosen {
        Some((tool, argument)) => format!("{}({})", one_line(tool, 60), one_line(argument, 60)),
        None => "none".to_owned(),
    };
    context.line(format!(
        "recalls with {}, stores with {}",
        shown(&recall),
        shown(&store)
    ))
}

/// A tool and its argument: the one that was named, else one with a usual name.
fn used(
    catalog: &Catalog,
    named: Option<&str>,
    usual: &[&str],
    arguments: &[&str],
) -> Result<Option<(String, String)>> {
    let find = |name: &str| catalog.tools.iter().find(|tool| tool.name == name);
    let tool = match named {
        Some(name) => Some(find(name).ok_or_else(|| {
            let names = catalog.tools.iter().map(|tool| tool.name.as_str());
            let error = CommandError::user(format!("it has no tool '{}'", one_line(name, 60)));
            match hermes_text::closest(name, names) {
                Some(near) => error.hint(format!("did you mean '{near}'?")),
                None => error,
            }
        })?),
        None => usual.iter().find_map(|name| find(name)),
    };
    let Some(tool) = tool else { return Ok(None) };
    match argument(tool, arguments) {
        Some(argument) => Ok(Some((tool.name.clone(), argument))),
        None if named.is_none() => Ok(None),
        None => Err(CommandError::user(format!(
            "the tool '{}' has no argument that takes a text alone",
            one_line(&tool.name, 60)
        ))
        .hint("name a tool whose only required argument is a text")),
    }
}

/// The argument that gets the text: the only one that is required, or one with a usual name.
fn argument(tool: &CatalogTool, usual: &[&str]) -> Option<String> {
    let properties = tool.schema.get("properties")?.as_object()?;
    let required: Vec<&str> = match tool.schema.get("required") {
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let takes_text = |name: &str| {
        let kind = properties
            .get(name)
            .and_then(|property| property.get("type"));
        kind.is_none_or(|kind| kind == "string")
    };
    match required.as_slice() {
        [only] => takes_text(only).then(|| (*only).to_owned()),
        [] => {
            let mut usual = usual.iter().copied();
            let found = usual.find(|name| properties.contains_key(*name) && takes_text(name));
            found.map(str::to_owned)
        }
        _ => None,
    }
}
