//! `hermes config set`: one value, everything else byte for byte.

use hermes_config::settings::{SetOutcome, SetRequest, Target, is_secret_path, plain_text, set};
use serde_json::{Value, json};

use crate::context::Context;
use crate::error::Result;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Dotted key, such as terminal.timeout, or the name of a variable
    key: String,
    /// The value; write a list as [a, b] and a mapping as {a: 1}, in quotes
    #[arg(allow_hyphen_values = true)]
    value: String,
    /// Save values of the wrong type, and do not warn about unknown keys
    #[arg(long)]
    force: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    context.refuse_if_managed("config.yaml")?;
    context.refuse_setting_to_agents(&args.key, Some(&args.value))?;
    context.ensure_home()?;
    let request = SetRequest {
        key: &args.key,
        value: &args.value,
        force: args.force,
    };
    let outcome = set(&context.sources_to_write(), &request)?;
    context.start_logging();
    tracing::info!(key = outcome.key, "setting changed");
    if args.json {
        context.json(&record(&outcome))?;
    } else {
        context.line(sentence(&outcome, context))?;
    }
    if !outcome.dropped_positions.is_empty() {
        let positions: Vec<String> = outcome
            .dropped_positions
            .iter()
            .map(usize::to_string)
            .collect();
        context.warn(format!(
            "{}: removed non-ASCII characters at {}",
            outcome.key,
            positions.join(", ")
        ))?;
        context.hint("keys copied from a document often contain such characters")?;
    }
    if let Some(suggestion) = &outcome.unknown {
        context.warn(format!("no such setting: {}", outcome.key))?;
        if let Some(key) = suggestion {
            context.hint(format!("did you mean {key}?"))?;
        }
    }
    if let Some(variable) = &outcome.mirrored {
        context.note(format!("note: {variable} in .env was updated to match"))?;
    }
    Ok(())
}

/// Values of variables are never shown, those of secret settings masked.
fn shown(outcome: &SetOutcome) -> Option<Value> {
    if outcome.target == Target::DotEnv {
        return None;
    }
    let path: Vec<&str> = outcome.key.split('.').collect();
    Some(match &outcome.value {
        Value::String(text) if is_secret_path(&path) => json!(hermes_secret::display_mask(text)),
        other => hermes_config::settings::masked(other),
    })
}

fn sentence(outcome: &SetOutcome, context: &Context) -> String {
    let file = context.display(&outcome.path);
    match shown(outcome) {
        Some(value) => {
            let value = plain_text(&value).replace('\n', " ");
            format!("✓ Set {} = {value} in {file}", outcome.key)
        }
        None => format!("✓ Set {} in {file}", outcome.key),
    }
}

fn record(outcome: &SetOutcome) -> Value {
    json!({
        "key": outcome.key,
        "value": shown(outcome),
        "file": outcome.path.display().to_string(),
        "unknown": outcome.unknown.is_some(),
        "suggestion": outcome.unknown.clone().flatten(),
    })
}
