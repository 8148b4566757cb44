//! The settings of a server as these commands change them.

use hermes_config::settings::{SetRequest, set, unset};
use hermes_mcp::{ConfiguredServers, ServerConfig};
use hermes_secret::SecretString;
use serde_json::Value;

use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::ui::one_line;

/// Servers that are named where another was asked for.
const NAMED: usize = 10;

/// A name that works as a key of the settings, in names of tools and on a command line.
pub(super) fn check_name(name: &str) -> Result<()> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.is_empty() || name.len() > 60 || !name.chars().all(is_plain) {
        return Err(CommandError::usage(format!(
            "'{}' cannot be the name of a server: use up to 60 letters, digits, `-` and `_`",
            one_line(name, 60)
        )));
    }
    Ok(())
}

/// Whether the settings have a server of this name, usable or not.
pub(super) fn exists(name: &str, context: &Context) -> bool {
    let servers = context.config().get("mcp_servers");
    servers.and_then(|servers| servers.get(name)).is_some()
}

/// The server of this name.
pub(super) fn find(name: &str, context: &Context) -> Result<ServerConfig> {
    let found = ConfiguredServers::resolve(context.config());
    if let Some(server) = found.get(name) {
        return Ok(server.clone());
    }
    if let Some(problem) = found.problems.iter().find(|problem| problem.server == name) {
        return Err(
            CommandError::user(problem.to_string()).hint("correct it with `hermes config edit`")
        );
    }
    let names = found.servers.iter().map(|server| server.name.as_str());
    let error = CommandError::user(format!("no such MCP server: '{}'", one_line(name, 60)));
    Err(match hermes_text::closest(name, names) {
        Some(near) => error.hint(format!("did you mean '{near}'?")),
        None if found.servers.is_empty() => error.hint("add one with `hermes mcp add`"),
        None => {
            let servers = found.servers.iter().take(NAMED);
            let names: Vec<&str> = servers.map(|server| server.name.as_str()).collect();
            let names = one_line(&names.join(", "), 200);
            error.hint(format!("`hermes mcp list` shows the servers: {names}"))
        }
    })
}

/// Writes a setting of a server, or all of them.
pub(super) fn write(key: &str, value: &Value, context: &Context) -> Result<()> {
    context.refuse_if_managed("config.yaml")?;
    context.ensure_home()?;
    let request = SetRequest {
        key,
        value: &value.to_string(),
        force: true,
    };
    set(&context.sources_to_write(), &request)?;
    Ok(())
}

/// Removes a server from the settings.
pub(super) fn remove(name: &str, context: &Context) -> Result<()> {
    context.refuse_if_managed("config.yaml")?;
    unset(&context.sources_to_write(), &format!("mcp_servers.{name}"))?;
    Ok(())
}

/// Saves a secret in `.env`, where the settings name it as `${NAME}`.
pub(super) fn save_secret(variable: &str, value: &SecretString, context: &Context) -> Result<()> {
    context.refuse_if_managed(".env")?;
    context.ensure_home()?;
    let request = SetRequest {
        key: variable,
        value: value.expose(),
        force: true,
    };
    set(&context.sources_to_write(), &request)?;
    Ok(())
}
