//! `tool_search`, `tool_describe` and `tool_call`.

use serde_json::{Map, Value, json};

use super::catalog::Catalog;
use crate::argument::{ArgKind, Argument, text};
use crate::result::error;
use crate::tool::{CallContext, Tool, ToolReach, ToolRegistry, ToolSpec};

/// The tool that calls another, which is the one that hooks, guards and people see.
pub const CALL_TOOL: &str = "tool_call";

/// Longest description in a result of a search.
const MAX_DESCRIPTION: usize = 400;

const SEARCH: ToolSpec<'static> = ToolSpec {
    name: "tool_search",
    toolset: "tool_search",
    description: "Finds further tools, which are not listed here, by what they do. Look at the \
                  arguments of one with tool_describe, then call it with tool_call.",
    arguments: &[
        Argument::required(
            "query",
            ArgKind::Text,
            "Words for what is to be done, such as 'create issue'.",
        ),
        Argument::optional("limit", ArgKind::clamped_from(1), "Most results."),
    ],
    reach: ToolReach::ReadOnly,
    ..ToolSpec::DEFAULT
};

const DESCRIBE: ToolSpec<'static> = ToolSpec {
    name: "tool_describe",
    toolset: "tool_search",
    description: "Shows the description and the JSON schema of a tool that tool_search has found.",
    arguments: &[Argument::required(
        "name",
        ArgKind::Text,
        "Name of the tool.",
    )],
    reach: ToolReach::ReadOnly,
    ..ToolSpec::DEFAULT
};

const CALL: ToolSpec<'static> = ToolSpec {
    name: CALL_TOOL,
    toolset: "tool_search",
    description: "Calls a tool that tool_search has found, as if it were listed here.",
    arguments: &[
        Argument::required("name", ArgKind::Text, "Name of the tool."),
        Argument::required(
            "arguments",
            ArgKind::Object,
            "Its arguments, as its schema has them.",
        ),
    ],
    ..ToolSpec::DEFAULT
};

struct ToolSearchTool;
struct ToolDescribeTool;
struct ToolCallTool;

/// What the model is told of the three.
pub(super) fn standing_in_specs() -> [ToolSpec<'static>; 3] {
    [SEARCH, DESCRIBE, CALL]
}

/// The same tools, and the three that find those that are not listed.
#[must_use]
pub fn with_tool_search(registry: ToolRegistry) -> ToolRegistry {
    registry
        .with_unlisted(ToolSearchTool)
        .with_unlisted(ToolDescribeTool)
        .with_unlisted(ToolCallTool)
}

impl Tool for ToolSearchTool {
    fn spec(&self) -> ToolSpec<'_> {
        SEARCH
    }

    fn call(&self, args: &Value, context: &CallContext) -> Value {
        let Some(query) = text(args, "query")
            .map(str::trim)
            .filter(|query| !query.is_empty())
        else {
            return error("The query is empty. Say in a few words what is to be done.");
        };
        let settings = context.conversation.tool_search;
        let limit = args["limit"].as_u64().map(usize::try_from);
        let limit = match limit {
            None => settings.usual_results,
            Some(limit) => limit.unwrap_or(usize::MAX).clamp(1, settings.most_results),
        };
        let catalog = Catalog::of_session(context);
        let found: Vec<Value> = catalog
            .search(query, limit)
            .into_iter()
            .map(|tool| {
                let is_mcp = tool.toolset.starts_with("mcp-");
                json!({
                    "name": tool.name,
                    "source": if is_mcp { "mcp" } else { "plugin" },
                    "source_name": tool.toolset,
                    "description": hermes_text::cut(tool.description, MAX_DESCRIPTION),
                })
            })
            .collect();
        json!({"query": query, "total_available": catalog.len(), "matches": found})
    }
}

impl Tool for ToolDescribeTool {
    fn spec(&self) -> ToolSpec<'_> {
        DESCRIBE
    }

    fn call(&self, args: &Value, context: &CallContext) -> Value {
        let name = text(args, "name").unwrap_or_default().trim();
        let catalog = Catalog::of_session(context);
        match catalog.get(name) {
            Some(tool) => json!({
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.schema(),
            }),
            None => error(not_found(name, context)),
        }
    }
}

impl Tool for ToolCallTool {
    fn spec(&self) -> ToolSpec<'_> {
        CALL
    }

    /// Where nobody has looked behind the call before, as an agent does.
    fn call(&self, args: &Value, context: &CallContext) -> Value {
        match deferred_call(args, context) {
            Ok((name, args)) => context.registry.call(&name, &args, context),
            Err(message) => error(message),
        }
    }
}

/// The call that a call of `tool_call` stands for, or a sentence for the model.
pub fn deferred_call(args: &Value, context: &CallContext) -> Result<(String, Value), String> {
    let name = text(args, "name").unwrap_or_default().trim();
    if Catalog::of_session(context).get(name).is_none() {
        return Err(not_found(name, context));
    }
    let inner = match &args["arguments"] {
        Value::Null => json!({}),
        Value::Object(fields) => Value::Object(Map::clone(fields)),
        // Models write what is nested as text.
        Value::String(text) => serde_json::from_str(text)
            .ok()
            .filter(Value::is_object)
            .ok_or_else(not_an_object)?,
        _ => return Err(not_an_object()),
    };
    Ok((name.to_owned(), inner))
}

fn not_an_object() -> String {
    "'arguments' has to be an object with the arguments of the tool.".to_owned()
}

fn not_found(name: &str, context: &CallContext) -> String {
    let name = hermes_text::cut(name, 100);
    let is_listed = context.registry.get(name).is_some() && context.may_call(name);
    if is_listed {
        return format!("'{name}' is listed among your tools; call it directly.");
    }
    format!("No such tool: '{name}'. Find the names of tools with tool_search.")
}
