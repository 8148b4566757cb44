//! The tools of the servers of a profile. Servers whose tools are known from before are not started
//! here; the others are asked, for a moment.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use hermes_config::Config;
use hermes_mcp::{ConfiguredServers, Discovery, McpPool, PooledServer, ServerConfig};
use hermes_secret::Redactor;
use hermes_tools::{McpTool, ToolRegistry};
use serde_json::Value;

use super::host::server_host;
use crate::context::Context;
use crate::person::Person;

/// Longest wait for servers whose tools are not known, whatever the settings say.
const MAX_DISCOVERY: f64 = 120.0;
const USUAL_DISCOVERY: f64 = 1.5;

/// The servers of a profile as a conversation has them.
#[derive(Default)]
pub(crate) struct McpOffer {
    /// All that are switched on and can be used.
    pub(crate) servers: Vec<PooledServer>,
    /// What is wrong with the settings of others.
    problems: Vec<String>,
    /// Servers that failed in an earlier conversation, which has said so, and were not tried now.
    left_alone: Vec<String>,
    /// The state of the pool that the tools were taken from.
    changes: u64,
    /// `mcp_servers` as it was read.
    settings: Option<Value>,
    /// When the file of the settings was changed, as of the last look at it.
    file: Option<SystemTime>,
}

/// The servers of which this has to be done.
fn in_state(servers: &[PooledServer], state: Discovery) -> Vec<PooledServer> {
    let meant = servers.iter().filter(|server| server.discovery() == state);
    meant.cloned().collect()
}

/// When the file of the settings was changed.
fn stamp(context: &Context) -> Option<SystemTime> {
    let path = context.sources().config_path();
    hermes_fs::metadata(&path).ok()?.modified().ok()
}

/// The servers of the settings, with the pool of this process behind them.
pub fn configured_servers(
    context: &Context,
    redactor: &Arc<Redactor>,
) -> (ConfiguredServers, Vec<PooledServer>) {
    servers_of(context.config(), context, redactor)
}

fn servers_of(
    config: &Config,
    context: &Context,
    redactor: &Arc<Redactor>,
) -> (ConfiguredServers, Vec<PooledServer>) {
    let configured = ConfiguredServers::resolve(config);
    if configured.servers.is_empty() {
        return (configured, Vec::new());
    }
    let host = server_host(context, redactor);
    let pool = &context.mcp_shared().pool;
    let servers = configured
        .enabled()
        .map(|server| pool.server(server, &host));
    let servers = servers.collect();
    (configured, servers)
}

/// A server on its own, beside those of conversations. It ends with what is returned.
pub fn separate_server(
    context: &Context,
    server: &ServerConfig,
    redactor: &Arc<Redactor>,
) -> PooledServer {
    let host = server_host(context, redactor);
    Arc::new(McpPool::default()).server(server, &host)
}

impl McpOffer {
    /// The servers, those with unknown tools asked for them.
    pub(crate) fn assemble(context: &Context, redactor: &Arc<Redactor>) -> Self {
        Self::of_settings(context.config(), context, redactor)
    }

    /// The same under settings that were read again.
    pub(crate) fn of_settings(
        config: &Config,
        context: &Context,
        redactor: &Arc<Redactor>,
    ) -> Self {
        let (configured, servers) = servers_of(config, context, redactor);
        let problems = configured.problems.iter().map(ToString::to_string);
        let problems = problems.collect();
        let left_alone = servers.iter().filter(|server| {
            matches!(
                server.discovery(),
                Discovery::Pause(_) | Discovery::AskBeside
            )
        });
        let left_alone = left_alone
            .map(|server| server.config().name.clone())
            .collect();
        let pool = &context.mcp_shared().pool;
        let unknown = in_state(&servers, Discovery::Ask);
        if !unknown.is_empty() {
            let seconds = config.number("mcp_discovery_timeout");
            let seconds = seconds.unwrap_or(USUAL_DISCOVERY).clamp(0.0, MAX_DISCOVERY);
            pool.discover(&unknown, Duration::from_secs_f64(seconds));
        }
        pool.discover(&in_state(&servers, Discovery::AskBeside), Duration::ZERO);
        let stale: Vec<PooledServer> = servers
            .iter()
            .filter(|server| server.take_stale())
            .cloned()
            .collect();
        pool.discover(&stale, Duration::ZERO);
        Self {
            changes: pool.changes(),
            settings: config.get("mcp_servers").cloned(),
            file: stamp(context),
            servers,
            problems,
            left_alone,
        }
    }

    /// Asks servers again that failed some time ago, beside the conversation.
    pub(crate) fn ask_again(&self, context: &Context) {
        let due: Vec<PooledServer> = in_state(&self.servers, Discovery::Ask)
            .into_iter()
            .filter(|server| !server.is_discovering())
            .collect();
        if !due.is_empty() {
            context.mcp_shared().pool.discover(&due, Duration::ZERO);
        }
    }

    /// The same servers, with what they have now.
    pub(crate) fn looked_at_again(&self, context: &Context) -> Self {
        Self {
            changes: context.mcp_shared().pool.changes(),
            servers: self.servers.clone(),
            problems: Vec::new(),
            left_alone: Vec::new(),
            settings: self.settings.clone(),
            file: self.file,
        }
    }

    /// Whether no server has other tools than it had.
    pub(crate) fn is_current(&self, context: &Context) -> bool {
        self.changes == context.mcp_shared().pool.changes()
    }

    /// Whether the settings still name these servers. Reads them only if their file was changed.
    pub(crate) fn settings_are_current(&mut self, context: &Context) -> bool {
        let file = stamp(context);
        if file == self.file {
            return true;
        }
        self.file = file;
        let config = Config::load_read_only(&context.sources());
        config.get("mcp_servers") == self.settings.as_ref()
    }

    /// Adds the tools of all servers. A name that is taken stays whose it is.
    pub(crate) fn add_to(&self, registry: &mut ToolRegistry, context: &Context) {
        let files = context.location.home.join("cache").join("mcp-files");
        let tools = self.servers.iter();
        let tools = tools.flat_map(|server| McpTool::of(server, &files));
        for refused in registry.add_foreign(tools.collect()) {
            let spec = refused.spec();
            tracing::warn!(
                toolset = spec.toolset,
                tool = spec.name,
                "a tool of an MCP server is not offered: the name is taken"
            );
        }
    }

    /// Servers that are switched on and whose tools are missing, with the reason.
    fn missing(&self) -> Vec<(String, String)> {
        let servers = self
            .servers
            .iter()
            .filter(|server| server.catalog().is_none());
        let named = servers.map(|server| {
            let problem = server.status().problem;
            let reason = problem.unwrap_or_else(|| "it has not answered yet".to_owned());
            (
                server.config().name.clone(),
                hermes_text::one_line(&reason, 300),
            )
        });
        named.collect()
    }

    fn discovery_of(&self, name: &str) -> Discovery {
        let server = self.servers.iter().find(|one| one.config().name == name);
        server.map_or(Discovery::Known, PooledServer::discovery)
    }

    /// Tells the person what is missing. A server that failed before is not spoken of again until it
    /// is tried again.
    pub(crate) fn tell(&self, person: &dyn Person) {
        for problem in &self.problems {
            person.warn(
                &format!("an MCP server cannot be used: {problem}"),
                Some("correct it with `hermes config edit`"),
            );
        }
        for (name, reason) in self.missing() {
            if self.left_alone.contains(&name) {
                continue;
            }
            let (when, hint) = match self.discovery_of(&name) {
                Discovery::Pause(left) => (
                    format!("; it is tried again after {}", minutes(left)),
                    format!("`hermes mcp test {name}` tries it at once"),
                ),
                Discovery::Known | Discovery::Ask | Discovery::AskBeside => (
                    String::new(),
                    format!("try it with `hermes mcp test {name}`"),
                ),
            };
            person.warn(&format!("MCP server '{name}': {reason}{when}"), Some(&hint));
        }
    }

    /// What the model has to know of what is missing.
    pub(crate) fn note(&self) -> Option<String> {
        let missing = self.missing();
        if missing.is_empty() {
            return None;
        }
        let lines = missing
            .iter()
            .map(|(name, reason)| format!("- {name}: {reason}"));
        let lines: Vec<String> = lines.collect();
        Some(format!(
            "These MCP servers are configured and not available now, so their tools are missing:\n{}",
            lines.join("\n")
        ))
    }
}

fn minutes(time: Duration) -> String {
    match time.as_secs().div_ceil(60) {
        0 | 1 => "a minute".to_owned(),
        minutes => format!("{minutes} minutes"),
    }
}
