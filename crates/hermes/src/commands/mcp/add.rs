//! `hermes mcp add`.

use hermes_mcp::ServerConfig;
use hermes_secret::SecretString;
use serde_json::{Map, Value, json};

use super::configure::choose;
use super::entry::{check_name, exists, save_secret, write};
use super::probe::probe;
use crate::commands::auth::ask_key;
use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::ui::{can_ask, confirm, counted};

/// Ready-made settings, by the name of a program that is a server as well.
const PRESETS: &[(&str, &str, &[&str])] = &[("codex", "codex", &["mcp-server"])];

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What the server is called here
    name: String,
    /// Address of a remote server
    #[arg(long, conflicts_with_all = ["command", "preset"])]
    url: Option<String>,
    /// Program of a local server
    #[arg(long, conflicts_with = "preset")]
    command: Option<String>,
    /// Arguments of the program; everything after this
    #[arg(long = "args", num_args = 0.., allow_hyphen_values = true, conflicts_with_all = ["url", "preset"])]
    words: Vec<String>,
    /// Ready-made settings: codex
    #[arg(long)]
    preset: Option<String>,
    /// How requests are authorised: `oauth`, or `header` with a key that is asked for
    #[arg(long, value_parser = ["oauth", "header"], conflicts_with_all = ["command", "preset"])]
    auth: Option<String>,
    /// Seconds for the server to start
    #[arg(long)]
    connect_timeout: Option<f64>,
    /// Variables of the server, as NAME=VALUE
    #[arg(long, num_args = 1.., value_name = "NAME=VALUE")]
    env: Vec<String>,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    context.refuse_to_agents("adding MCP servers")?;
    check_name(&args.name)?;
    if exists(&args.name, context) {
        let message = format!("there is an MCP server '{}' already", args.name);
        return Err(CommandError::user(message).hint(format!(
            "remove it first with `hermes mcp remove {}`",
            args.name
        )));
    }
    let (entry, secret) = entry(args, context)?;
    add(&args.name, entry, secret, context)
}

/// A value for `.env`: the name of the variable, and the secret.
pub(super) type Secret = (String, SecretString);

/// Tries a server and writes its settings. A server that does not answer is written, switched off, if
/// the person says so.
pub(super) fn add(
    name: &str,
    mut entry: Map<String, Value>,
    secret: Option<Secret>,
    context: &Context,
) -> Result<()> {
    let problem = |error: hermes_mcp::ConfigError| CommandError::usage(error.problem);
    // The key is not in `.env` yet: for the attempt it stands in the settings themselves.
    let mut tried = entry.clone();
    if let (Some((_, value)), Some(headers)) = (&secret, tried.get_mut("headers")) {
        *headers = json!({"Authorization": format!("Bearer {}", value.expose())});
    }
    let server = ServerConfig::parse(name, &Value::Object(tried)).map_err(problem)?;
    let needs_login = entry.get("auth").is_some_and(|auth| auth == "oauth");
    if needs_login {
        write(
            &format!("mcp_servers.{name}"),
            &Value::Object(entry),
            context,
        )?;
        context.line(format!("✓ Added the MCP server '{name}'"))?;
        return context.hint(format!("log in with `hermes mcp login {name}`"));
    }
    match probe(&server, context)? {
        Ok(probed) => {
            let catalog = &probed.catalog;
            context.note(format!(
                "'{name}' answered in {} ms and has {}.",
                probed.milliseconds,
                counted(catalog.tools.len(), "tool")
            ))?;
            if can_ask()
                && catalog.tools.len() > 1
                && let Some(include) = choose(&catalog.tools, &server, context)?
            {
                entry.insert("tools".to_owned(), json!({"include": include}));
            }
        }
        Err(error) => {
            let report = super::probe::failed(name, &error);
            let question = format!("{} Save it all the same, switched off?", report.message);
            match confirm(context.printer, &question)? {
                Some(true) => entry.insert("enabled".to_owned(), json!(false)),
                Some(false) => return Err(CommandError::cancelled()),
                None => return Err(report),
            };
        }
    }
    if let Some((variable, value)) = secret {
        save_secret(&variable, &value, context)?;
    }
    write(
        &format!("mcp_servers.{name}"),
        &Value::Object(entry),
        context,
    )?;
    context.line(format!("✓ Added the MCP server '{name}'"))?;
    context.note("Its tools are there in the next conversation.")
}

fn entry(args: &Args, context: &Context) -> Result<(Map<String, Value>, Option<Secret>)> {
    let mut entry = Map::new();
    let mut secret = None;
    let preset = match &args.preset {
        None => None,
        Some(name) => match PRESETS.iter().find(|(known, ..)| known == name) {
            Some((_, command, words)) => Some((*command, *words)),
            None => {
                let known: Vec<&str> = PRESETS.iter().map(|(name, ..)| *name).collect();
                return Err(CommandError::usage(format!(
                    "no such preset: '{name}'; there is {}",
                    known.join(", ")
                )));
            }
        },
    };
    match (&args.url, &args.command, preset) {
        (Some(url), ..) => {
            entry.insert("url".to_owned(), json!(url));
            if args.auth.as_deref() == Some("oauth") {
                entry.insert("auth".to_owned(), json!("oauth"));
            }
            if args.auth.as_deref() == Some("header") {
                let variable = format!(
                    "MCP_{}_API_KEY",
                    args.name.to_ascii_uppercase().replace('-', "_")
                );
                let header = format!("Bearer ${{{variable}}}");
                entry.insert("headers".to_owned(), json!({"Authorization": header}));
                if context.config().secret(&variable).is_none() {
                    let question = "API key (not shown; it is saved in .env): ";
                    let Some(key) = ask_key(context, question)? else {
                        return Err(CommandError::user("no key was given").hint(format!(
                            "set {variable} with `hermes config set {variable} …` first"
                        )));
                    };
                    secret = Some((variable, key));
                }
            }
        }
        (None, Some(command), _) => {
            entry.insert("command".to_owned(), json!(command));
            entry.insert("args".to_owned(), json!(args.words));
        }
        (None, None, Some((command, words))) => {
            entry.insert("command".to_owned(), json!(command));
            entry.insert("args".to_owned(), json!(words));
        }
        (None, None, None) => {
            return Err(CommandError::usage(
                "say how the server is reached: --command, --url or --preset",
            ));
        }
    }
    let mut variables = Map::new();
    for pair in &args.env {
        match pair.split_once('=') {
            Some((name, value)) if !name.is_empty() => {
                variables.insert(name.to_owned(), json!(value));
            }
            _ => {
                return Err(CommandError::usage(format!(
                    "--env takes NAME=VALUE, not '{pair}'"
                )));
            }
        }
    }
    if !variables.is_empty() {
        entry.insert("env".to_owned(), Value::Object(variables));
    }
    if let Some(seconds) = args.connect_timeout {
        entry.insert("connect_timeout".to_owned(), json!(seconds));
    }
    Ok((entry, secret))
}
