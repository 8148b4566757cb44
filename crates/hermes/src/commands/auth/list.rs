//! `hermes auth list`.

use hermes_providers::CredentialEntry;
use hermes_secret::display_mask;
use serde_json::{Value, json};

use super::{Pool, only, pools, rests_until, wall_time};
use crate::context::Context;
use crate::error::Result;
use crate::ui::{Table, one_line};

#[derive(Debug, Default, clap::Args)]
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
        let listed: Vec<Value> = pools.iter().map(pool_json).collect();
        return context.json(&Value::Array(listed));
    }
    if pools.is_empty() {
        return context.line("No keys");
    }
    let mut table = Table::new(&["PROVIDER", "#", "ID", "LABEL", "SOURCE", "KEY", "STATUS"]);
    for pool in &pools {
        for (at, entry) in pool.entries.iter().enumerate() {
            table.row(vec![
                pool.provider.clone(),
                (at + 1).to_string(),
                entry.id().to_owned(),
                one_line(entry.label(), 24),
                one_line(entry.source(), 40),
                masked(entry),
                status(entry),
            ]);
        }
    }
    context.out(&table.render())
}

fn masked(entry: &CredentialEntry) -> String {
    entry
        .secret()
        .map_or_else(|| "-".to_owned(), |key| display_mask(key.expose()))
}

fn status(entry: &CredentialEntry) -> String {
    match rests_until(entry) {
        None => "ok".to_owned(),
        Some(until) => format!(
            "exhausted until {} ({})",
            wall_time(until),
            one_line(entry.last_error_reason(), 40)
        ),
    }
}

fn pool_json(pool: &Pool) -> Value {
    let entries = pool.entries.iter().enumerate().map(|(at, entry)| {
        let until = rests_until(entry);
        json!({
            "index": at + 1,
            "id": entry.id(),
            "label": entry.label(),
            "type": entry.auth_type(),
            "source": entry.source(),
            "status": if until.is_some() { "exhausted" } else { "ok" },
            "exhausted_until": until.map(|until| until.to_string()),
            "last_error_reason": entry.last_error_reason(),
            "last_error": entry.last_error(),
            "request_count": entry.request_count(),
        })
    });
    json!({"provider": pool.provider, "entries": entries.collect::<Vec<_>>()})
}
