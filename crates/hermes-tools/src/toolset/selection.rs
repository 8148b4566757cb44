//! Which tools a conversation gets: what the settings of its platform name, without what is
//! switched off everywhere and what cannot be used here.

use std::collections::BTreeSet;

use hermes_board::WorkerVariables;
use hermes_config::{Config, Environment};
use serde_json::Value;

use super::table::{Meaning, basic_toolsets, meaning};
use crate::tool::{CallContext, Tool, ToolRegistry, ToolSpec};

/// What the name of an MCP server's toolset begins with.
const SERVER_SET: &str = "mcp-";
/// In a list of toolsets: no MCP servers.
const NO_SERVERS: &str = "no_mcp";

/// Names of toolsets as settings or a flag give them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolSelection {
    pub names: Vec<String>,
    /// Off whatever is on.
    pub disabled: Vec<String>,
    /// Whether the process is the worker of a card: then the tools of the board are always there.
    pub is_worker: bool,
    /// The MCP servers of the settings.
    pub servers: Vec<String>,
    /// Whether MCP servers are on that are not named, as long as none is, and plugins as well.
    pub adds_servers: bool,
}

impl ToolSelection {
    /// The selection for a platform (`cli`, `telegram`, …): what a flag names, else the platform's
    /// list, else the profile's.
    pub fn resolve(config: &Config, env: &Environment, platform: &str, flag: Option<&str>) -> Self {
        let names = match flag {
            Some(flag) => words(flag),
            None => {
                platform_list(config, platform).unwrap_or_else(|| owned(config.texts("toolsets")))
            }
        };
        Self {
            names,
            disabled: owned(config.texts("agent.disabled_toolsets")),
            is_worker: WorkerVariables::read(env).is_some(),
            servers: server_names(config),
            adds_servers: flag.is_none(),
        }
    }

    /// The toolsets that are on, in order: basic ones, and names that stand for no basic set as
    /// they are.
    pub fn expanded(&self) -> BTreeSet<String> {
        let mut on: BTreeSet<String> = BTreeSet::new();
        for name in &self.names {
            match meaning(name) {
                Meaning::All => on.extend(basic_toolsets().map(str::to_owned)),
                Meaning::Sets(sets) => on.extend(sets.into_iter().map(str::to_owned)),
                Meaning::Tool(_) | Meaning::Unknown => {
                    on.insert(name.trim().to_owned());
                }
            }
        }
        for name in &self.disabled {
            match meaning(name) {
                Meaning::All => on.clear(),
                Meaning::Sets(sets) => on.retain(|name| !sets.contains(&name.as_str())),
                Meaning::Tool(_) | Meaning::Unknown => {
                    on.remove(name.trim());
                }
            }
        }
        on
    }

    /// Whether a tool is switched on. Whether it can be used here is another question.
    pub fn holds(&self, tool: &dyn Tool) -> bool {
        let spec = tool.spec();
        let named = |names: &[String]| {
            names.iter().any(|name| match meaning(name) {
                Meaning::All => true,
                Meaning::Sets(sets) => sets.contains(&spec.toolset),
                Meaning::Tool(single) => single == spec.name,
                // Sets that add-ons and servers bring are not in our table.
                Meaning::Unknown => name.trim() == spec.toolset,
            })
        };
        if self.is_worker && spec.toolset == "kanban" {
            return true;
        }
        if let Some(server) = spec.toolset.strip_prefix(SERVER_SET) {
            return self.holds_server(server);
        }
        // Whoever enabled a plugin wants its tools.
        if spec.is_deferrable && self.adds_servers {
            return !named(&self.disabled);
        }
        named(&self.names) && !named(&self.disabled)
    }

    /// Whether the tools of an MCP server are switched on: it is named, or none is.
    fn holds_server(&self, server: &str) -> bool {
        let is_named = |names: &[String]| {
            names
                .iter()
                .any(|name| meaning(name) == Meaning::All || server_of(name) == server)
        };
        if is_named(&self.disabled) {
            return false;
        }
        let names_one = || self.names.iter().any(|name| self.is_server(name));
        let is_off = || self.names.iter().any(|name| name.trim() == NO_SERVERS);
        is_named(&self.names) || (self.adds_servers && !names_one() && !is_off())
    }

    fn is_server(&self, name: &str) -> bool {
        let server = server_of(name);
        self.servers.iter().any(|known| known == server)
    }

    /// Names that stand for nothing in this registry.
    fn unknown(&self, registry: &ToolRegistry) -> Vec<String> {
        let is_known = |name: &String| {
            meaning(name) != Meaning::Unknown
                || name.trim() == NO_SERVERS
                || self.is_server(name)
                || registry
                    .iter()
                    .any(|tool| tool.spec().toolset == name.trim())
        };
        self.names
            .iter()
            .filter(|name| !is_known(name))
            .cloned()
            .collect()
    }
}

/// The server that a name of a toolset means, if it means one.
fn server_of(name: &str) -> &str {
    let name = name.trim();
    name.strip_prefix(SERVER_SET).unwrap_or(name)
}

fn server_names(config: &Config) -> Vec<String> {
    let servers = config.get("mcp_servers").and_then(Value::as_object);
    let names = servers.into_iter().flat_map(|servers| servers.keys());
    names.cloned().collect()
}

fn words(list: &str) -> Vec<String> {
    let words = list.split(',').map(str::trim);
    words
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

fn owned(names: Vec<&str>) -> Vec<String> {
    names.into_iter().map(str::to_owned).collect()
}

/// The list of a platform; `None` if it has none. An empty list means no tools at all.
fn platform_list(config: &Config, platform: &str) -> Option<Vec<String>> {
    let platforms = config.get("platform_toolsets")?.as_object()?;
    match platforms.get(platform)? {
        Value::Array(items) => {
            let names = items.iter().filter_map(Value::as_str);
            Some(names.map(str::to_owned).collect())
        }
        Value::String(list) => Some(words(list)),
        _ => None,
    }
}

/// What a conversation gets.
#[derive(Debug, Default, PartialEq)]
pub struct ToolOffer<'a> {
    /// The tools, in the order of the registry: the same in every request.
    pub tools: Vec<ToolSpec<'a>>,
    /// Names of the tools that are found by a search.
    pub deferred: Vec<&'a str>,
    /// Tools that are switched on and cannot be used here, with the reason.
    pub unavailable: Vec<(&'a str, String)>,
    /// Names of toolsets that do not exist.
    pub unknown: Vec<String>,
}

impl ToolOffer<'_> {
    /// Names of the tools that can be called.
    pub fn names(&self) -> Vec<String> {
        let listed = self.tools.iter().map(|tool| tool.name);
        let names = listed.chain(self.deferred.iter().copied());
        names.map(str::to_owned).collect()
    }
}

impl ToolRegistry {
    /// What a conversation with this selection gets. Looks at this machine, never at the network.
    pub fn offer(&self, selection: &ToolSelection, context: &CallContext) -> ToolOffer<'_> {
        let mut offer = ToolOffer {
            unknown: selection.unknown(self),
            ..ToolOffer::default()
        };
        for tool in self.iter().filter(|tool| selection.holds(*tool)) {
            match tool.unavailable(context) {
                Some(reason) => offer.unavailable.push((tool.spec().name, reason)),
                None => offer.tools.push(tool.spec()),
            }
        }
        offer
    }
}
