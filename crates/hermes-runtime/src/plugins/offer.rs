//! What plugins bring to a conversation: tools, and listeners at its events.

use std::sync::Arc;
use std::time::Duration;

use hermes_config::vars;
use hermes_hooks::{
    ExecListener, HookEvent, HookHost, HookListener, ListenerCommand, ListenerProfile,
};
use hermes_mcp::{Discovery, PooledServer};
use hermes_plugins::{Entry, Manifest, Plugin};
use hermes_secret::Redactor;
use hermes_tools::{McpTool, ToolRegistry};

use super::listener::ServerListener;
use super::packages::{command_of, restored};
use super::profile::ProfilePlugins;
use super::server::{host, server_of};
use crate::context::Context;
use crate::person::Person;

/// Longest wait for plugins whose tools are not known.
const DISCOVERY: Duration = Duration::from_millis(1_500);

/// The plugins of a conversation.
#[derive(Default)]
pub(crate) struct PluginOffer {
    active: Vec<ActivePlugin>,
    /// What is wrong with those that are enabled: the plugin, and a sentence.
    problems: Vec<(String, String)>,
    /// What was looked at, if somebody wants to know.
    trace: Vec<String>,
}

/// A plugin that is in use.
struct ActivePlugin {
    plugin: Plugin,
    manifest: Manifest,
    entry: Entry,
    /// What is started for each event, if that is how it runs.
    command: Option<Arc<dyn ListenerCommand>>,
    /// `None` if it is no program that runs on.
    server: Option<PooledServer>,
}

impl PluginOffer {
    /// The plugins of the settings. Those whose tools are not known are asked for them, for a moment.
    pub(crate) fn assemble(context: &Context, redactor: &Arc<Redactor>) -> Self {
        let Some(found) = ProfilePlugins::of_conversation(context) else {
            return Self::default();
        };
        let mut offer = Self::default();
        if context.env.flag(&vars::HERMES_PLUGINS_DEBUG) {
            offer.trace.clone_from(&found.discovery.trace);
        }
        for plugin in found.enabled() {
            let problems = found.problems(plugin);
            let problems = problems.into_iter().map(|one| (plugin.key.clone(), one));
            offer.problems.extend(problems);
        }
        let pool = &context.mcp_shared().pool;
        for (plugin, manifest) in found.active() {
            let packages = found.packages(plugin).and_then(Result::ok);
            if let Some(packages) = &packages
                && let Err(error) = restored(context, &found.addons, packages)
            {
                offer.problems.push((plugin.key.clone(), error.to_string()));
                continue;
            }
            let config = context.config();
            let server = match server_of(plugin, manifest, packages.as_ref(), config) {
                None => None,
                Some(Ok(server)) => Some(pool.server(&server, &host(context, redactor))),
                Some(Err(problem)) => {
                    offer.problems.push((plugin.key.clone(), problem));
                    continue;
                }
            };
            offer.active.push(ActivePlugin {
                plugin: plugin.clone(),
                manifest: manifest.clone(),
                entry: found.settings.entry(plugin).0,
                command: command_of(manifest, packages, &found.addons),
                server,
            });
        }
        offer.find_tools(context);
        offer
    }

    fn find_tools(&self, context: &Context) {
        let servers = self.active.iter().filter_map(|one| one.server.as_ref());
        let in_state = |state: Discovery| -> Vec<PooledServer> {
            let meant = servers.clone().filter(|server| server.discovery() == state);
            meant.cloned().collect()
        };
        let stale: Vec<PooledServer> = servers
            .clone()
            .filter(|server| server.take_stale())
            .cloned()
            .collect();
        let pool = &context.mcp_shared().pool;
        let unknown = in_state(Discovery::Ask);
        if !unknown.is_empty() {
            pool.discover(&unknown, DISCOVERY);
        }
        pool.discover(&in_state(Discovery::AskBeside), Duration::ZERO);
        pool.discover(&stale, Duration::ZERO);
    }

    /// Adds the tools of plugins. A name that is taken stays whose it is, unless the settings allow a
    /// plugin to take the place of built-in tools.
    pub(crate) fn add_to(&self, registry: &mut ToolRegistry, context: &Context) {
        let files = context.location.home.join("cache").join("mcp-files");
        let none = ToolRegistry::default();
        for one in &self.active {
            let Some(server) = &one.server else { continue };
            let name = one.plugin.name();
            if one.entry.allow_tool_override {
                let tools = McpTool::of_plugin(server, name, registry, &files);
                registry.add_overriding(tools);
                continue;
            }
            let tools = McpTool::of_plugin(server, name, &none, &files);
            for refused in registry.add_foreign(tools) {
                tracing::warn!(
                    plugin = name,
                    tool = refused.spec().name,
                    "a tool of a plugin is not offered: the name is taken"
                );
            }
        }
    }

    /// Adds tools that have become known since.
    pub(crate) fn add_new_to(&self, registry: &mut ToolRegistry, context: &Context) {
        let files = context.location.home.join("cache").join("mcp-files");
        let none = ToolRegistry::default();
        for one in &self.active {
            if let Some(server) = &one.server {
                let tools = McpTool::of_plugin(server, one.plugin.name(), &none, &files);
                // Those that were there before are refused.
                drop(registry.add_foreign(tools));
            }
        }
    }

    /// Who hears of events.
    pub(crate) fn listeners(&self, host: &Arc<dyn HookHost>) -> Vec<Arc<dyn HookListener>> {
        let active = self.active.iter();
        active.filter_map(|one| one.listener(host)).collect()
    }

    /// Tells the person what cannot be used.
    pub(crate) fn tell(&self, person: &dyn Person) {
        for line in &self.trace {
            person.notify(&format!("plugins: {line}"));
        }
        for (plugin, problem) in &self.problems {
            person.warn(
                &format!("plugin '{plugin}': {problem}"),
                Some("`hermes plugins list` shows all plugins"),
            );
        }
        for one in &self.active {
            let Some(server) = one.server.as_ref().filter(|one| one.catalog().is_none()) else {
                continue;
            };
            let reason = server.status().problem;
            let reason = reason.unwrap_or_else(|| "it has not answered yet".to_owned());
            let reason = hermes_text::one_line(&reason, 300);
            let key = &one.plugin.key;
            person.warn(
                &format!("plugin '{key}' has no tools now: {reason}"),
                Some("what it prints is in logs/mcp-stderr.log"),
            );
        }
    }
}

impl ActivePlugin {
    fn listener(&self, host: &Arc<dyn HookHost>) -> Option<Arc<dyn HookListener>> {
        let names = self.manifest.provides_hooks.iter();
        let events: Vec<HookEvent> = names.filter_map(|name| HookEvent::named(name)).collect();
        if events.is_empty() {
            return None;
        }
        let profile = ListenerProfile {
            name: self.plugin.key.clone(),
            events,
            timeout: self.entry.hook_timeout,
            fails_closed: self.entry.fail_closed,
        };
        match (&self.command, &self.server) {
            (Some(command), _) => {
                let variables = self.manifest.requires_env.iter();
                Some(Arc::new(ExecListener {
                    profile,
                    command: Arc::clone(command),
                    directory: self.plugin.directory.clone(),
                    env_passthrough: variables.map(|one| one.name.clone()).collect(),
                    host: Arc::clone(host),
                }))
            }
            (None, Some(server)) => Some(Arc::new(ServerListener {
                profile,
                server: server.clone(),
            })),
            (None, None) => None,
        }
    }
}
