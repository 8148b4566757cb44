//! `hermes tools list`.

use std::process::ExitCode;

use hermes_tools::ToolSelection;
use serde_json::{Value, json};

use crate::backend::{Backend, PlaceRequest};
use crate::context::Context;
use crate::error::Result;
use crate::toolbox::{Asking, Toolbox};
use crate::ui::Table;

/// Any conversation: nothing is run in it.
const SESSION: &str = "cli";

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Whose settings decide what is on: cli, telegram, discord and others
    #[arg(long, value_name = "PLATFORM", default_value = "cli")]
    platform: String,
    /// Print JSON, with descriptions and schemas
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<ExitCode> {
    let place = PlaceRequest {
        backend: Backend::chosen(context, None)?,
        task: None,
        session: SESSION,
    };
    let toolbox = Toolbox::assemble(context, place, Asking::Nobody)?;
    let call = toolbox.call_context(SESSION);
    let selection = ToolSelection::resolve(context.config(), &context.env, &args.platform, None);
    if args.json {
        let tools: Vec<Value> = toolbox
            .registry
            .iter()
            .map(|tool| {
                let reason = tool.unavailable(&call);
                json!({
                    "name": tool.name(),
                    "toolset": tool.toolset(),
                    "description": tool.description(),
                    "parameters": tool.schema(),
                    "enabled": selection.holds(tool),
                    "available": reason.is_none(),
                    "reason": reason,
                })
            })
            .collect();
        context.printer.json(&json!(tools))?;
    } else {
        let mut table = Table::new(&["Tool", "Toolset", "On", "Here"]);
        for tool in toolbox.registry.iter() {
            let here = match tool.unavailable(&call) {
                None => "yes".to_owned(),
                Some(reason) => format!("no: {reason}"),
            };
            table.row(vec![
                tool.name().to_owned(),
                tool.toolset().to_owned(),
                if selection.holds(tool) { "yes" } else { "no" }.to_owned(),
                here,
            ]);
        }
        context.printer.out(&table.render())?;
    }
    Ok(ExitCode::SUCCESS)
}
