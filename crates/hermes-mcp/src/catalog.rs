//! What a server offers: its tools, and whether it has resources and prompts.

use std::sync::Arc;

use rmcp::model::{ServerCapabilities, Tool};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::config::ServerConfig;
use crate::names::{component, tool_name};
use crate::schema::normalised;

/// Tools of one server that are kept.
const MAX_TOOLS: usize = 1_000;
/// Most characters of the name of a tool, as providers accept them.
const MAX_NAME: usize = 64;
/// Most characters of a description.
const MAX_DESCRIPTION: usize = 8_000;
/// Most bytes of a schema; one that is larger is replaced by one that takes anything.
const MAX_SCHEMA: usize = 128 * 1024;

/// What a server offers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Catalog {
    pub tools: Vec<CatalogTool>,
    pub has_resources: bool,
    pub has_prompts: bool,
}

/// A tool as its server describes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CatalogTool {
    pub name: String,
    #[serde(default)]
    pub description: String,
    pub schema: Arc<Value>,
    /// Whether the server says that the tool changes nothing.
    #[serde(default)]
    pub only_reads: bool,
}

/// What a call asks of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operation {
    CallTool(String),
    ListResources,
    ReadResource,
    ListPrompts,
    GetPrompt,
    /// Tells a plugin of an event; the arguments say of which.
    FireHook,
}

/// A tool that is offered to agents.
#[derive(Debug, Clone)]
pub struct OfferedTool {
    /// `mcp__server__tool`.
    pub name: String,
    pub description: String,
    pub schema: Arc<Value>,
    pub operation: Operation,
    pub only_reads: bool,
}

impl Catalog {
    /// What a server said, within bounds.
    pub(crate) fn of(server: &str, tools: Vec<Tool>, capabilities: &ServerCapabilities) -> Self {
        if tools.len() > MAX_TOOLS {
            tracing::warn!(
                server,
                count = tools.len(),
                "an MCP server has too many tools; {MAX_TOOLS} are used"
            );
        }
        let tools = tools.into_iter().take(MAX_TOOLS);
        Self {
            tools: tools.map(|tool| catalog_tool(server, tool)).collect(),
            has_resources: capabilities.resources.is_some(),
            has_prompts: capabilities.prompts.is_some(),
        }
    }

    /// The tools that the settings of the server let through.
    pub fn offered(&self, server: &ServerConfig) -> Vec<OfferedTool> {
        let own = self
            .tools
            .iter()
            .filter(|tool| server.filter.allows(&tool.name));
        let own = own.map(|tool| OfferedTool {
            name: tool_name(&server.name, &tool.name),
            description: match tool.description.trim() {
                "" => format!(
                    "The tool {} of the MCP server '{}'.",
                    tool.name, server.name
                ),
                text => text.to_owned(),
            },
            schema: Arc::clone(&tool.schema),
            operation: Operation::CallTool(tool.name.clone()),
            only_reads: tool.only_reads,
        });
        own.chain(self.utilities(server)).collect()
    }

    /// The tools of a plugin, under the names that it gives them.
    pub fn of_plugin(&self, plugin: &str) -> Vec<OfferedTool> {
        let tools = self.tools.iter().map(|tool| OfferedTool {
            name: component(hermes_text::cut(&tool.name, MAX_NAME)),
            description: match tool.description.trim() {
                "" => format!("The tool {} of the plugin '{plugin}'.", tool.name),
                text => text.to_owned(),
            },
            schema: Arc::clone(&tool.schema),
            operation: Operation::CallTool(tool.name.clone()),
            only_reads: tool.only_reads,
        });
        tools.collect()
    }

    /// Tools of ours for what a server has beside its own.
    fn utilities(&self, server: &ServerConfig) -> Vec<OfferedTool> {
        let name = &server.name;
        let utility = |tool: &str, description: String, schema: Value, operation| OfferedTool {
            name: tool_name(name, tool),
            description,
            schema: Arc::new(schema),
            operation,
            only_reads: true,
        };
        let nothing = || json!({"type": "object", "properties": {}});
        let mut tools = Vec::new();
        if self.has_resources && !server.filter.no_resources {
            tools.push(utility(
                "list_resources",
                format!("List the resources of the MCP server '{name}'."),
                nothing(),
                Operation::ListResources,
            ));
            tools.push(utility(
                "read_resource",
                format!("Read a resource of the MCP server '{name}'."),
                json!({
                    "type": "object",
                    "properties": {"uri": {"type": "string", "description": "URI of the resource."}},
                    "required": ["uri"],
                }),
                Operation::ReadResource,
            ));
        }
        if self.has_prompts && !server.filter.no_prompts {
            tools.push(utility(
                "list_prompts",
                format!("List the prompts of the MCP server '{name}'."),
                nothing(),
                Operation::ListPrompts,
            ));
            tools.push(utility(
                "get_prompt",
                format!("Get a prompt of the MCP server '{name}'."),
                json!({
                    "type": "object",
                    "properties": {
                        "name": {"type": "string", "description": "Name of the prompt."},
                        "arguments": {
                            "type": "object",
                            "description": "Arguments of the prompt.",
                            "properties": {},
                            "additionalProperties": true,
                        },
                    },
                    "required": ["name"],
                }),
                Operation::GetPrompt,
            ));
        }
        tools
    }
}

fn catalog_tool(server: &str, tool: Tool) -> CatalogTool {
    let given = Value::Object((*tool.input_schema).clone());
    let mut schema = normalised(&given);
    if schema.to_string().len() > MAX_SCHEMA {
        tracing::warn!(server, tool = %tool.name, "the schema of an MCP tool is too large and not used");
        schema = json!({"type": "object", "properties": {}});
    }
    let description = tool.description.as_deref().unwrap_or_default();
    if let Some(threat) = hermes_policy::injection::threat_in(description) {
        tracing::warn!(
            server,
            tool = %tool.name,
            threat,
            "the description of an MCP tool reads like an attempt to instruct the model"
        );
    }
    CatalogTool {
        name: tool.name.into_owned(),
        description: hermes_text::cut(description, MAX_DESCRIPTION).to_owned(),
        schema: Arc::new(schema),
        only_reads: tool
            .annotations
            .is_some_and(|hints| hints.read_only_hint == Some(true)),
    }
}

#[cfg(test)]
#[path = "catalog_tests.rs"]
mod tests;
