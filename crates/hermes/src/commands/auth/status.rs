//! `hermes auth status`.

use serde_json::{Value, json};

use super::{Pool, only, pools, rests_until};
use crate::context::Context;
use crate::error::Result;
use crate::ui::Table;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only this provider
    provider: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    let pools = only(pools(context)?, context, args.provider.as_deref())?;
    if args.json {
        let rows = pools.iter().map(|pool| {
            json!({
                "provider": pool.provider,
                "keys": pool.entries.len(),
                "usable": usable(pool),
            })
        });
        return context.json(&Value::Array(rows.collect()));
    }
    if pools.is_empty() {
        return context.line("No keys");
    }
    let mut table = Table::new(&["PROVIDER", "KEYS", "USABLE"]);
    for pool in &pools {
        table.row(vec![
            pool.provider.clone(),
            pool.entries.len().to_string(),
            usable(pool).to_string(),
        ]);
    }
    context.out(&table.render())
}

fn usable(pool: &Pool) -> usize {
    let free = pool
        .entries
        .iter()
        .filter(|entry| rests_until(entry).is_none());
    free.count()
}
