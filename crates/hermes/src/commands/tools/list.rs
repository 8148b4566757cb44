//! `hermes tools list`.

use std::process::ExitCode;

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
                    "available": reason.is_none(),
                    "reason": reason,
                })
            })
            .collect();
        context.printer.json(&json!(tools))?;
    } else {
        let mut table = Table::new(&["Tool", "Toolset", "Here"]);
        for tool in toolbox.registry.iter() {
            let here = match tool.unavailable(&call) {
                None => "yes".to_owned(),
                Some(reason) => format!("no: {reason}"),
            };
            table.row(vec![
                tool.name().to_owned(),
                tool.toolset().to_owned(),
                here,
            ]);
        }
        context.printer.out(&table.render())?;
    }
    Ok(ExitCode::SUCCESS)
}
