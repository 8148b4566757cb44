//! `hermes gateway list`.

use serde_json::Value;

use crate::context::Context;
use crate::error::Result;
use crate::gateways::{GatewayRow, all_gateways};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    let rows = all_gateways(context)?;
    if args.json {
        let rows: Vec<Value> = rows.iter().map(GatewayRow::to_json).collect();
        return context.json(&rows);
    }
    for row in rows {
        let current = if row.is_current { " (current)" } else { "" };
        context.line(match row.pid {
            Some(pid) => format!("  ✓ {}{current} — PID {pid}", row.name),
            None => format!("  ✗ {}{current} — {}", row.name, row.absence()),
        })?;
    }
    Ok(())
}
