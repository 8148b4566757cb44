//! A plugin that is a program, as an MCP server: started in its directory with the environment of one,
//! and with the variables that its manifest names.

use std::path::Path;
use std::sync::Arc;

use hermes_config::Config;
use hermes_mcp::{ServerConfig, ServerHost};
use hermes_plugins::{Manifest, Plugin, Runtime};
use hermes_secret::Redactor;
use serde_json::{Map, Value, json};

use crate::context::Context;
use crate::mcp::server_host;

/// The server of a plugin; `None` if it is none. The error says what is wrong with it.
pub(super) fn server_of(
    plugin: &Plugin,
    manifest: &Manifest,
    config: &Config,
) -> Option<Result<ServerConfig, String>> {
    let Runtime::Mcp(command) = &manifest.runtime else {
        return None;
    };
    let (program, args) = command.split_first()?;
    let variables = manifest.requires_env.iter().filter_map(|one| {
        let value = config.secret(&one.name)?;
        Some((one.name.clone(), Value::from(value.expose())))
    });
    let entry = json!({
        "command": program_path(program, &plugin.directory),
        "args": args,
        "env": variables.collect::<Map<_, _>>(),
        "cwd": plugin.directory.to_string_lossy(),
        "connect_timeout": config.get("addons.worker.start_timeout_seconds"),
        "timeout": config.get("addons.worker.call_timeout_seconds"),
        "idle_timeout_seconds": config.get("addons.worker.idle_seconds"),
    });
    let name = format!("plugin {}", plugin.key);
    Some(ServerConfig::parse(&name, &entry).map_err(|error| error.to_string()))
}

/// A program with a relative path is one of the plugin.
fn program_path(program: &str, directory: &Path) -> String {
    if program.contains('/') && !program.starts_with(['/', '~']) {
        let path = hermes_fs::without_dots(&directory.join(program));
        return path.to_string_lossy().into_owned();
    }
    program.to_owned()
}

/// What servers of plugins need of this program.
pub(super) fn host(context: &Context, redactor: &Arc<Redactor>) -> Arc<dyn ServerHost> {
    server_host(context, redactor)
}

/// Forgets which tools a plugin has and that it failed: another copy of it is in place.
pub fn forget_plugin(context: &Context, plugin: &Plugin) {
    let Ok(manifest) = &plugin.manifest else {
        return;
    };
    if let Some(Ok(server)) = server_of(plugin, manifest, context.config()) {
        let home = &context.location.home;
        let forgotten = hermes_mcp::forget_catalog(home, &server).map(drop);
        let forgotten = forgotten.and(hermes_mcp::forget_failures(home, &server).map(drop));
        if let Err(error) = forgotten {
            tracing::warn!(%error, "the tools of a plugin are still remembered");
        }
    }
}
