//! `hermes mcp test`.

use serde_json::{Value, json};

use super::entry::find;
use super::probe::{failed, probe};
use crate::context::Context;
use crate::error::Result;
use crate::ui::{Table, counted, one_line};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The server
    name: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    let server = find(&args.name, context)?;
    let probed = probe(&server, context)?;
    if args.json {
        let value = match &probed {
            Ok(probed) => {
                let tools: Vec<Value> = probed
                    .catalog
                    .tools
                    .iter()
                    .map(|tool| {
                        json!({
                            "name": tool.name,
                            "description": tool.description,
                            "offered": server.filter.allows(&tool.name),
                        })
                    })
                    .collect();
                json!({
                    "server": server.name,
                    "ok": true,
                    "milliseconds": u64::try_from(probed.milliseconds).unwrap_or(u64::MAX),
                    "tools": tools,
                    "resources": probed.catalog.has_resources,
                    "prompts": probed.catalog.has_prompts,
                })
            }
            Err(error) => json!({
                "server": server.name,
                "ok": false,
                "error": error.to_string(),
                "hint": error.hint(&server.name),
            }),
        };
        context.json(&value)?;
    }
    let probed = probed.map_err(|error| failed(&server.name, &error))?;
    if args.json {
        return Ok(());
    }
    let mut table = Table::new(&["Tool", "Offered", "Description"]);
    for tool in &probed.catalog.tools {
        table.row(vec![
            one_line(&tool.name, 60),
            if server.filter.allows(&tool.name) {
                "yes"
            } else {
                "no"
            }
            .to_owned(),
            one_line(&tool.description, 48),
        ]);
    }
    context.out(&table.render())?;
    context.line(format!(
        "✓ '{}' answered in {} ms and has {}",
        server.name,
        probed.milliseconds,
        counted(probed.catalog.tools.len(), "tool")
    ))
}
