//! A tool of a server: its call goes to the server, its answer comes back as a result.

use std::path::PathBuf;
use std::sync::Arc;

use hermes_mcp::{Error, OfferedTool, PooledServer, toolset_name};
use serde_json::{Value, json};

use super::blobs::save_blobs;
use crate::tool::{CallContext, Tool, ToolReach, ToolRegistry, ToolSpec};

/// A tool of an MCP server.
pub struct McpTool {
    server: PooledServer,
    offered: OfferedTool,
    toolset: String,
    /// Whether it takes the place of a tool of our own.
    overrides: bool,
    /// The plugin it is of, if it is not of a server of the settings.
    plugin: Option<String>,
    /// Where pictures and files of answers are kept.
    files: PathBuf,
}

impl McpTool {
    /// The tools that a server offers; none if that is not known yet. `files` is where pictures in
    /// answers are kept.
    pub fn of(server: &PooledServer, files: &std::path::Path) -> Vec<Arc<dyn Tool>> {
        let Some(catalog) = server.catalog() else {
            return Vec::new();
        };
        let config = server.config();
        let tools = catalog.offered(config).into_iter().map(|offered| {
            let tool: Arc<dyn Tool> = Arc::new(Self {
                server: server.clone(),
                offered,
                toolset: toolset_name(&config.name),
                overrides: false,
                plugin: None,
                files: files.to_owned(),
            });
            tool
        });
        tools.collect()
    }

    /// The tools of a plugin, which is the toolset of them all; none if they are not known yet. Those
    /// that take the place of one of `overridden` are of its toolset.
    pub fn of_plugin(
        server: &PooledServer,
        plugin: &str,
        overridden: &ToolRegistry,
        files: &std::path::Path,
    ) -> Vec<Arc<dyn Tool>> {
        let Some(catalog) = server.catalog() else {
            return Vec::new();
        };
        let tools = catalog.of_plugin(plugin).into_iter().map(|offered| {
            let own = overridden.get(&offered.name).map(|own| own.spec().toolset);
            let tool: Arc<dyn Tool> = Arc::new(Self {
                server: server.clone(),
                toolset: own.unwrap_or(plugin).to_owned(),
                overrides: own.is_some(),
                plugin: Some(plugin.to_owned()),
                offered,
                files: files.to_owned(),
            });
            tool
        });
        tools.collect()
    }

    fn failed(&self, error: &Error) -> Value {
        if let Some(plugin) = &self.plugin {
            return json!({"error": format!("Plugin '{plugin}': {error}.")});
        }
        let server = &self.server.config().name;
        let mut message = format!("MCP server '{server}': {error}.");
        if let Error::NeedsLogin { .. } = error {
            message.push_str(&format!(
                " Do not call this tool again; ask the user to run `hermes mcp login {server}`."
            ));
            return json!({"error": message, "needs_reauth": true, "server": server});
        }
        if let Some(hint) = error.hint(server) {
            message.push_str(&format!(" The user can fix it: {hint}."));
        }
        json!({"error": message})
    }
}

impl Tool for McpTool {
    fn spec(&self) -> ToolSpec<'_> {
        // A server that lets its tools run beside each other, or says that one only reads, is
        // believed: it is the one that would be hurt.
        let is_parallel = self.server.config().parallel_calls || self.offered.only_reads;
        ToolSpec {
            name: &self.offered.name,
            toolset: &self.toolset,
            description: &self.offered.description,
            given_schema: Some(&self.offered.schema),
            reach: if is_parallel {
                ToolReach::ReadOnly
            } else {
                ToolReach::Anything
            },
            is_deferrable: !self.overrides,
            ..ToolSpec::DEFAULT
        }
    }

    fn call(&self, args: &Value, context: &CallContext) -> Value {
        let empty = serde_json::Map::new();
        let arguments = args.as_object().unwrap_or(&empty);
        let operation = &self.offered.operation;
        let session = context.conversation.session_id.as_deref();
        let called = self
            .server
            .call(operation, arguments, session, &context.interrupt);
        match called {
            Err(error) => self.failed(&error),
            Ok(answer) => {
                let mut value = answer.value;
                let files = save_blobs(answer.blobs, &self.files);
                if !files.is_empty() {
                    value["files"] = files.into();
                }
                value
            }
        }
    }
}
