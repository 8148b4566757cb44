//! `hermes memory setup` and `hermes memory off`: services that remember elsewhere.

use std::sync::Arc;

use hermes_memory::{Failure, HostedService};
use hermes_proc::Wake;
use hermes_runtime::{configured_memory, server_name};

use super::server_tools;
use super::setting::write;
use crate::commands::NoArgs;
use crate::commands::auth::ask_key;
use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::ui::{can_ask, one_line};

/// Services of the Python runtime that this program does not speak to.
const ELSEWHERE: [&str; 5] = [
    "byterover",
    "holographic",
    "honcho",
    "openviking",
    "retaindb",
];

#[derive(Debug, clap::Args)]
pub(crate) struct SetupArgs {
    /// The service: mem0, supermemory, hindsight, or mcp:SERVER for an MCP server
    provider: Option<String>,
    /// Tool of the MCP server that finds what is known about a message
    #[arg(long, value_name = "TOOL")]
    recall_tool: Option<String>,
    /// Tool of the MCP server that gets each completed turn
    #[arg(long, value_name = "TOOL")]
    store_tool: Option<String>,
    /// Do not ask the service whether it can be used
    #[arg(long)]
    no_check: bool,
}

pub(super) fn setup(args: &SetupArgs, context: &Context) -> Result<()> {
    let Some(name) = &args.provider else {
        return list(context);
    };
    context.refuse_to_agents("choosing a memory service")?;
    context.refuse_if_managed("config.yaml")?;
    let before = context.config().text("memory.provider").trim().to_owned();
    let provider = match (server_name(name), HostedService::named(name)) {
        (Some(server), _) => {
            server_tools::choose(
                server,
                args.recall_tool.as_deref(),
                args.store_tool.as_deref(),
                context,
            )?;
            format!("mcp:{server}")
        }
        (None, Some(service)) => {
            if args.recall_tool.is_some() || args.store_tool.is_some() {
                return Err(CommandError::usage(
                    "--recall-tool and --store-tool are for MCP servers (mcp:SERVER)",
                ));
            }
            ask_for_key(service, context)?;
            service.name.to_owned()
        }
        (None, None) => return Err(unknown(name)),
    };
    write("memory.provider", &provider, context)?;
    // Under the settings as they are now.
    let fresh = context.with_env(context.env.clone());
    match usable(&fresh, args.no_check) {
        Ok(about) => {
            context.line(format!(
                "✓ {provider} is used from the next session on{about}"
            ))?;
            context.hint("`hermes memory off` ends it; MEMORY.md and USER.md are used all the same")
        }
        Err(error) => {
            write("memory.provider", &before, context)?;
            Err(error)
        }
    }
}

/// Whether the service of the settings can be used, and what it says of itself.
fn usable(context: &hermes_runtime::Context, is_unchecked: bool) -> Result<String> {
    let redactor = Arc::new(context.redactor());
    let Some(opened) = configured_memory(context, "cli", &redactor) else {
        return Ok(String::new());
    };
    let backend = opened.map_err(|problem| {
        CommandError::user(format!("it cannot be used: {}", problem.reason)).hint(problem.hint)
    })?;
    if is_unchecked {
        return Ok(String::new());
    }
    let stop = Wake::new().map_err(|error| CommandError::environment(error.to_string()))?;
    let checked = backend.check(&stop);
    checked
        .map(|about| format!(" ({about})"))
        .map_err(|failure| refused(backend.name(), &failure))
}

fn refused(name: &str, failure: &Failure) -> CommandError {
    let message = format!("the memory service {name} was asked and failed: {failure}");
    CommandError::environment(message)
        .hint("it was not switched on; `--no-check` does so without asking it")
}

fn list(context: &Context) -> Result<()> {
    for service in HostedService::ALL {
        let is_set = context.config().secret(service.key).is_some();
        let state = if is_set { "is set" } else { "is not set" };
        context.line(format!(
            "{}: {} {state} ({})",
            service.name, service.key, service.site
        ))?;
    }
    context.line("mcp:SERVER: a server of `hermes mcp list` with tools that recall and store")?;
    context.hint("choose one with `hermes memory setup NAME`")
}

fn unknown(name: &str) -> CommandError {
    let known = HostedService::ALL.map(|service| service.name);
    let name = name.trim().to_ascii_lowercase();
    let shown = one_line(&name, 60);
    let error = if ELSEWHERE.contains(&name.as_str()) {
        CommandError::user(format!(
            "the memory service '{shown}' works in the Python runtime only"
        ))
    } else {
        CommandError::user(format!("there is no memory service '{shown}'"))
    };
    let known = known.join(", ");
    error.hint(format!(
        "there are {known}, and mcp:SERVER for an MCP server"
    ))
}

/// Keeps the key of a service, unless there is one.
fn ask_for_key(service: HostedService, context: &Context) -> Result<()> {
    let HostedService { name, key, site } = service;
    if context.config().secret(key).is_some() || has_own_server(name, context) {
        return Ok(());
    }
    let missing = || {
        CommandError::user(format!("{name} needs a key, and {key} is not set")).hint(format!(
            "get one at {site} and set it with `hermes config set {key} …`, or run this at a terminal"
        ))
    };
    if !can_ask() {
        return Err(missing());
    }
    let question = format!("Key of {name} ({site}, hidden): ");
    let typed = ask_key(context, &question)?.ok_or_else(missing)?;
    context.refuse_if_managed(".env")?;
    write(key, typed.expose(), context)
}

/// Whether the service is a server of the user's, which may let everybody in, or its own file has the
/// key.
fn has_own_server(name: &str, context: &Context) -> bool {
    let set = |variable: &str| context.config().secret(variable).is_some();
    let file = match name {
        "mem0" => "mem0.json",
        "supermemory" => "supermemory.json",
        _ => "hindsight/config.json",
    };
    let has_file = context.location.home.join(file).is_file();
    has_file
        || (name == "mem0" && set("MEM0_HOST"))
        || (name == "hindsight" && set("HINDSIGHT_MODE"))
}

pub(super) fn off(_: &NoArgs, context: &Context) -> Result<()> {
    context.refuse_to_agents("switching off the memory service")?;
    context.refuse_if_managed("config.yaml")?;
    if context.config().text("memory.provider").trim().is_empty() {
        return context.line("No memory service is set; MEMORY.md and USER.md are used");
    }
    write("memory.provider", "", context)?;
    context.line("✓ Only MEMORY.md and USER.md are used from the next session on")
}
