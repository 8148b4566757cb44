//! An MCP server as a memory service: two of its tools, one that finds and one that stores.

use std::sync::Arc;

use hermes_config::Config;
use hermes_mcp::{Operation, PooledServer};
use hermes_memory::{CompletedTurn, Failure, MemoryBackend, NotUsable};
use hermes_proc::Wake;
use hermes_secret::Redactor;
use serde_json::{Map, Value};

use crate::context::Context;
use crate::mcp::configured_servers;

/// What `memory.provider` begins with for a server.
const PREFIX: &str = "mcp:";

/// The server that a provider means, if it means one.
pub fn server_name(provider: &str) -> Option<&str> {
    let name = provider.trim().strip_prefix(PREFIX)?.trim();
    (!name.is_empty()).then_some(name)
}

/// The tools of the settings, and how their arguments are called.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerTools {
    pub recall: String,
    pub recall_argument: String,
    pub store: String,
    pub store_argument: String,
}

impl ServerTools {
    /// Those of the settings.
    pub fn resolve(config: &Config) -> Self {
        let text = |key: &str| config.text(key).trim().to_owned();
        Self {
            recall: text("memory.mcp.recall_tool"),
            recall_argument: text("memory.mcp.recall_argument"),
            store: text("memory.mcp.store_tool"),
            store_argument: text("memory.mcp.store_argument"),
        }
    }
}

pub(super) fn open(
    name: &str,
    context: &Context,
    redactor: &Arc<Redactor>,
) -> Result<Box<dyn MemoryBackend>, NotUsable> {
    let tools = ServerTools::resolve(context.config());
    if tools.recall.is_empty() && tools.store.is_empty() {
        return Err(NotUsable {
            reason: "memory.mcp names neither a tool that recalls nor one that stores".to_owned(),
            hint: format!("run `hermes memory setup {PREFIX}{name}`"),
        });
    }
    let (_, servers) = configured_servers(context, redactor);
    let server = servers
        .into_iter()
        .find(|server| server.config().name == name);
    let Some(server) = server else {
        let name = hermes_text::one_line(name, 60);
        return Err(NotUsable {
            reason: format!("there is no MCP server '{name}' that is switched on"),
            hint: "see `hermes mcp list`, or run `hermes memory off`".to_owned(),
        });
    };
    Ok(Box::new(ServerMemory {
        provider: format!("{PREFIX}{name}"),
        server,
        tools,
    }))
}

struct ServerMemory {
    provider: String,
    server: PooledServer,
    tools: ServerTools,
}

impl ServerMemory {
    fn ask(
        &self,
        tool: &str,
        argument: &str,
        text: &str,
        session: Option<&str>,
        stop: &Wake,
    ) -> Result<Value, Failure> {
        let mut arguments = Map::new();
        arguments.insert(argument.to_owned(), text.into());
        let operation = Operation::CallTool(tool.to_owned());
        let called = self.server.call(&operation, &arguments, session, stop);
        let value = called
            .map_err(|error| Failure::new(error.to_string()))?
            .value;
        match value.get("error").and_then(Value::as_str) {
            Some(error) => Err(Failure::new(hermes_text::one_line(error, 200))),
            None => Ok(value),
        }
    }
}

impl MemoryBackend for ServerMemory {
    fn name(&self) -> &str {
        &self.provider
    }

    fn recall(&self, query: &str, session: &str, stop: &Wake) -> Result<Vec<String>, Failure> {
        let ServerTools {
            recall,
            recall_argument,
            ..
        } = &self.tools;
        if recall.is_empty() {
            return Ok(Vec::new());
        }
        let found = self.ask(recall, recall_argument, query, Some(session), stop)?;
        let text = found
            .get("result")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let lines = text
            .lines()
            .map(|line| line.trim().trim_start_matches("- "));
        let lines = lines.filter(|line| !line.is_empty());
        Ok(lines.map(str::to_owned).collect())
    }

    fn keep(&self, turn: &CompletedTurn, stop: &Wake) -> Result<(), Failure> {
        let ServerTools {
            store,
            store_argument,
            ..
        } = &self.tools;
        if store.is_empty() {
            return Ok(());
        }
        let text = format!("User: {}\n\nAssistant: {}", turn.user, turn.assistant);
        self.ask(store, store_argument, &text, Some(&turn.session), stop)
            .map(drop)
    }

    fn check(&self, stop: &Wake) -> Result<String, Failure> {
        let catalog = self.server.connect(stop);
        let catalog = catalog.map_err(|error| Failure::new(error.to_string()))?;
        for tool in [&self.tools.recall, &self.tools.store] {
            if !tool.is_empty() && !catalog.tools.iter().any(|known| known.name == *tool) {
                let tool = hermes_text::one_line(tool, 60);
                return Err(Failure::new(format!("it has no tool '{tool}'")));
            }
        }
        Ok(format!("{} tools", catalog.tools.len()))
    }
}
