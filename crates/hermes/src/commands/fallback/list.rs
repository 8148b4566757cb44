//! `hermes fallback list`.

use hermes_providers::{FallbackEntry, fallback_entries};
use serde_json::{Value, json};

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
    let entries = fallback_entries(context.config());
    if args.json {
        let rows = entries.iter().enumerate().map(|(at, entry)| row(at, entry));
        return context.json(&Value::Array(rows.collect()));
    }
    if entries.is_empty() {
        return context.line("No fallback providers");
    }
    let mut table = Table::new(&["#", "PROVIDER", "MODEL", "ADDRESS", "STATUS"]);
    for (at, entry) in entries.iter().enumerate() {
        let status = entry.problem.as_ref();
        table.row(vec![
            (at + 1).to_string(),
            one_line(&entry.provider, 32),
            one_line(&entry.model, 48),
            address(entry).map_or_else(|| "-".to_owned(), |url| one_line(&url, 48)),
            status.map_or_else(
                || "ok".to_owned(),
                |problem| one_line(&problem.to_string(), 80),
            ),
        ]);
    }
    context.out(&table.render())
}

/// The address without its query, which may hold a key.
fn address(entry: &FallbackEntry) -> Option<String> {
    let url = entry.base_url.as_deref()?;
    url.split('?').next().map(str::to_owned)
}

fn row(at: usize, entry: &FallbackEntry) -> Value {
    json!({
        "index": at + 1,
        "provider": entry.provider,
        "model": entry.model,
        "base_url": address(entry),
        "key_env": entry.key_env,
        "setting": entry.setting,
        "usable": entry.problem.is_none(),
        "problem": entry.problem.as_ref().map(ToString::to_string),
    })
}
