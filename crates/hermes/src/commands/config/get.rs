//! `hermes config get`: one value, and where it came from.

use hermes_config::dotenv::belongs_in_dotenv;
use hermes_config::settings::{Candidate, Layer, is_secret_path, plain_text};
use serde_json::{Value, json};

use crate::context::Context;
use crate::error::{CommandError, Result};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Dotted key, such as terminal.timeout, or the name of a variable
    key: String,
    /// Also print which layer the value comes from, and what it overrides
    #[arg(long)]
    origin: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    context.warn_if_broken()?;
    let missing = || CommandError::user(format!("Config key not set: {}", args.key));
    if args.origin {
        let found = if belongs_in_dotenv(&args.key) {
            variable(&args.key.to_ascii_uppercase(), context)
        } else {
            setting(&args.key, context)
        };
        return print_origins(args, context, &found.ok_or_else(missing)?);
    }
    let config = context.config();
    let value = if belongs_in_dotenv(&args.key) {
        let value = config.secret(&args.key.to_ascii_uppercase());
        value.map(|value| json!(value.expose()))
    } else {
        config.shown(&args.key)
    };
    let value = value.ok_or_else(missing)?;
    if args.json {
        context.json_line(&value)
    } else {
        context.line(plain_text(&value))
    }
}

/// A value with every layer that has one.
struct Found {
    value: Value,
    secret: bool,
    candidates: Vec<Candidate>,
}

fn setting(key: &str, context: &Context) -> Option<Found> {
    let config = context.config();
    let path: Vec<&str> = key.split('.').collect();
    Some(Found {
        value: config.shown(key)?,
        secret: is_secret_path(&path),
        candidates: config.candidates(key),
    })
}

fn variable(name: &str, context: &Context) -> Option<Found> {
    let config = context.config();
    let value = config.secret(name)?;
    let (dotenv, file) = (config.dotenv(), config.user_file());
    let in_environment = context.env.lookup(name).filter(|text| !text.is_empty());
    let in_dotenv = dotenv.get(name).filter(|text| !text.is_empty());
    let candidates = [
        in_environment.map(|text| Candidate {
            layer: Layer::Environment,
            value: json!(text),
            file: None,
            line: None,
            variable: Some(name.to_owned()),
        }),
        in_dotenv.map(|text| Candidate {
            layer: Layer::DotEnv,
            value: json!(text),
            file: Some(config.sources().dotenv_path()),
            line: dotenv.line_of(name),
            variable: Some(name.to_owned()),
        }),
        file.line_of(&[name]).map(|line| Candidate {
            layer: Layer::File,
            value: json!(value.expose()),
            file: Some(file.path.clone()),
            line: Some(line),
            variable: None,
        }),
    ];
    Some(Found {
        value: json!(value.expose()),
        secret: true,
        candidates: candidates.into_iter().flatten().collect(),
    })
}

fn shown(value: &Value, secret: bool) -> Value {
    match value {
        Value::String(text) if secret && !text.is_empty() => {
            json!(hermes_secret::display_mask(text))
        }
        other => hermes_config::settings::masked(other),
    }
}

fn place(candidate: &Candidate, context: &Context) -> String {
    let mut place = candidate.layer.name().to_owned();
    if let Some(file) = &candidate.file {
        place = context.display(file);
        if let Some(line) = candidate.line {
            place = format!("{place}:{line}");
        }
    }
    match &candidate.variable {
        Some(variable) => format!("{place} ({variable})"),
        None => place,
    }
}

fn print_origins(args: &Args, context: &Context, found: &Found) -> Result<()> {
    if args.json {
        let rows: Vec<Value> = found
            .candidates
            .iter()
            .map(|candidate| {
                json!({
                    "layer": candidate.layer.name(),
                    "value": shown(&candidate.value, found.secret),
                    "file": candidate.file.as_ref().map(|file| file.display().to_string()),
                    "line": candidate.line,
                    "variable": candidate.variable,
                })
            })
            .collect();
        let winner = rows.first().cloned().unwrap_or(Value::Null);
        return context.json(&json!({
            "key": args.key,
            "value": shown(&found.value, found.secret),
            "origin": winner,
            "overridden": rows.into_iter().skip(1).collect::<Vec<_>>(),
        }));
    }
    context.line(plain_text(&shown(&found.value, found.secret)))?;
    let mut rows = found.candidates.iter();
    match rows.next() {
        Some(winner) => context.line(format!("  from {}", place(winner, context)))?,
        // A mapping put together from several layers has no single origin.
        None => context.line("  from several layers")?,
    }
    for loser in rows {
        let value = plain_text(&shown(&loser.value, found.secret)).replace('\n', " ");
        context.line(format!("  overrides {} = {value}", place(loser, context)))?;
    }
    Ok(())
}
