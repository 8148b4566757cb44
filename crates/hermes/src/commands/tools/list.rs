//! `hermes tools list`.

use hermes_runtime::{Approval, BackendKind, BackendRequest, ToolSet};
use hermes_tools::ToolSelection;
use serde_json::{Value, json};

use crate::context::Context;
use crate::error::Result;
use crate::tool_access;
use crate::ui::{Asked, Table};

/// Any conversation: nothing is run in it.
const SESSION: &str = "cli";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Platform whose settings apply: cli, telegram, discord and others
    #[arg(long, value_name = "PLATFORM", default_value = "cli")]
    platform: String,
    /// Print JSON, with descriptions and schemas
    #[arg(long)]
    json: bool,
}

impl Default for Args {
    fn default() -> Self {
        Self {
            platform: "cli".to_owned(),
            json: false,
        }
    }
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    let backend = BackendRequest {
        kind: BackendKind::choose(context, None)?,
        task: None,
        session: SESSION,
        credential_files: &[],
    };
    let request = tool_access::request(context, backend, Approval::Needed, Asked::Nothing)?;
    let tools = ToolSet::assemble(context, request)?;
    let call = tools.call_context(SESSION);
    let selection = ToolSelection::resolve(context.config(), &context.env, &args.platform, None);
    if args.json {
        let listed: Vec<Value> = tools
            .registry
            .iter()
            .map(|tool| {
                let reason = tool.unavailable(&call);
                let spec = tool.spec();
                json!({
                    "name": spec.name,
                    "toolset": spec.toolset,
                    "description": spec.description,
                    "parameters": spec.schema(),
                    "enabled": selection.holds(tool),
                    "available": reason.is_none(),
                    "reason": reason,
                })
            })
            .collect();
        context.json(&json!(listed))?;
    } else {
        let mut table = Table::new(&["Tool", "Toolset", "On", "Here"]);
        for tool in tools.registry.iter() {
            let here = match tool.unavailable(&call) {
                None => "yes".to_owned(),
                Some(reason) => format!("no: {reason}"),
            };
            table.row(vec![
                tool.spec().name.to_owned(),
                tool.spec().toolset.to_owned(),
                if selection.holds(tool) { "yes" } else { "no" }.to_owned(),
                here,
            ]);
        }
        context.out(&table.render())?;
    }
    Ok(())
}
