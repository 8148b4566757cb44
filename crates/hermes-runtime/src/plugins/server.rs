//! A plugin that is a program, as an MCP server: started in its directory with the environment of one,
//! and with the variables that its manifest names.

use std::path::Path;
use std::sync::Arc;

use hermes_addons::PluginPackages;
use hermes_config::Config;
use hermes_mcp::{ServerConfig, ServerHost, Transport};
use hermes_plugins::{Manifest, Plugin, Runtime};
use hermes_secret::Redactor;
use serde_json::{Map, Value, json};

use super::packages::python_words;
use crate::addons::addons_of;
use crate::context::Context;
use crate::mcp::server_host;

/// The server of a plugin; `None` if it is none. The error says what is wrong with it.
pub(super) fn server_of(
    plugin: &Plugin,
    manifest: &Manifest,
    packages: Option<&PluginPackages>,
    config: &Config,
) -> Option<Result<ServerConfig, String>> {
    let Runtime::Mcp(command) = &manifest.runtime else {
        return None;
    };
    let python = packages.and_then(|_| python_words(command));
    let (program, args) = match &python {
        // The interpreter is that of the packages, whatever its name in the manifest.
        Some(args) => ("python3", args.as_slice()),
        None => {
            let (program, args) = command.split_first()?;
            (program.as_str(), args)
        }
    };
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
    let server = ServerConfig::parse(&name, &entry).map_err(|error| error.to_string());
    Some(server.map(|mut server| {
        if let Transport::Stdio(stdio) = &mut server.transport {
            stdio.addon = packages.map(|packages| packages.feature.clone());
        }
        server
    }))
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
    let packages = addons_of(context).plugin_packages(&plugin.key, &manifest.python_dependencies);
    let packages = packages.ok().filter(|packages| !packages.specs.is_empty());
    let server = server_of(plugin, manifest, packages.as_ref(), context.config());
    if let Some(Ok(server)) = server {
        let home = &context.location.home;
        let forgotten = hermes_mcp::forget_catalog(home, &server).map(drop);
        let forgotten = forgotten.and(hermes_mcp::forget_failures(home, &server).map(drop));
        if let Err(error) = forgotten {
            tracing::warn!(%error, "the tools of a plugin are still remembered");
        }
    }
}
