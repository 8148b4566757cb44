//! `hermes mcp list`.

use hermes_mcp::{ConfiguredServers, PooledServer, ServerConfig};
use serde_json::{Value, json};
use std::sync::Arc;

use crate::context::Context;
use crate::error::Result;
use crate::ui::{Table, one_line};

#[derive(Debug, Default, clap::Args)]
pub(crate) struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    let redactor = Arc::new(context.redactor());
    let (found, pooled) = hermes_runtime::configured_servers(context, &redactor);
    if args.json {
        let servers: Vec<Value> = found
            .servers
            .iter()
            .map(|server| record(server, &pooled))
            .collect();
        let problems: Vec<String> = found.problems.iter().map(ToString::to_string).collect();
        return context.json(&json!({"servers": servers, "problems": problems}));
    }
    for problem in &found.problems {
        context.warn(problem.to_string())?;
    }
    if found.servers.is_empty() {
        return nothing(&found, context);
    }
    let mut table = Table::new(&["Name", "Transport", "Tools", "Status"]);
    for server in &found.servers {
        table.row(vec![
            server.name.clone(),
            one_line(
                &format!("{} {}", server.transport_name(), server.summary()),
                60,
            ),
            tools(server, &pooled),
            status(server, &pooled),
        ]);
    }
    context.out(&table.render())
}

fn nothing(found: &ConfiguredServers, context: &Context) -> Result<()> {
    if found.problems.is_empty() {
        context.line("There are no MCP servers")?;
    }
    context.note("Add one with `hermes mcp add NAME --command …`, or see `hermes mcp catalog`.")
}

/// The catalog of a server, as far as it is known.
fn offered(server: &ServerConfig, pooled: &[PooledServer]) -> Option<(usize, usize)> {
    let known = pooled.iter().find(|one| one.config().name == server.name)?;
    let catalog = known.catalog()?;
    let chosen = catalog
        .tools
        .iter()
        .filter(|tool| server.filter.allows(&tool.name));
    Some((chosen.count(), catalog.tools.len()))
}

fn tools(server: &ServerConfig, pooled: &[PooledServer]) -> String {
    match offered(server, pooled) {
        None => "not known yet".to_owned(),
        Some((chosen, all)) if chosen == all => format!("all {all}"),
        Some((chosen, all)) => format!("{chosen} of {all}"),
    }
}

/// What went wrong the last time that the server was asked for its tools, if they are not known.
fn problem(server: &ServerConfig, pooled: &[PooledServer]) -> Option<String> {
    let known = pooled.iter().find(|one| one.config().name == server.name)?;
    known.status().problem
}

fn status(server: &ServerConfig, pooled: &[PooledServer]) -> String {
    match problem(server, pooled) {
        _ if !server.enabled => "off".to_owned(),
        Some(problem) => one_line(&format!("on; {problem}"), 80),
        None => "on".to_owned(),
    }
}

fn record(server: &ServerConfig, pooled: &[PooledServer]) -> Value {
    let counts = offered(server, pooled);
    json!({
        "name": server.name,
        "transport": server.transport_name(),
        "target": server.summary(),
        "enabled": server.enabled,
        "tools": counts.map(|(_, all)| all),
        "offered_tools": counts.map(|(chosen, _)| chosen),
        "problem": problem(server, pooled),
    })
}
