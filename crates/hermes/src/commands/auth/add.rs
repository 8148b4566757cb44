//! `hermes auth add`.

use std::io::{IsTerminal, Read};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use hermes_proc::Wake;
use hermes_providers::{Entry, is_usable_secret};
use hermes_secret::SecretString;
use zeroize::Zeroizing;

use super::{file, pool};
use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::ui::{Echo, Person};

/// Longest key that is read from a pipe.
const MAX_KEY: u64 = 64 * 1024;

/// How long the question for a key stays open.
const PATIENCE: Duration = Duration::from_mins(10);

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum KeyType {
    ApiKey,
    Oauth,
}

#[derive(clap::Args)]
pub(super) struct Args {
    /// Provider: its name, or that of an entry of `providers`
    provider: String,
    /// What is added: a key, or a login (not available yet)
    #[arg(long = "type", value_enum, default_value = "api-key")]
    kind: KeyType,
    /// The key; without it, it is asked for or read from standard input
    #[arg(long, value_name = "KEY")]
    api_key: Option<String>,
    /// What you call it
    #[arg(long)]
    label: Option<String>,
}

impl std::fmt::Debug for Args {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Args")
            .field("provider", &self.provider)
            .field("label", &self.label)
            .finish_non_exhaustive()
    }
}

pub(super) fn run(args: &Args, context: &Context) -> Result<ExitCode> {
    if args.kind == KeyType::Oauth {
        return Err(CommandError::user("logins are not available yet")
            .hint("use a key: `hermes auth add PROVIDER --type api-key`"));
    }
    let name = pool(context, &args.provider)?;
    let key = key(args, context)?;
    context.ensure_home()?;
    let added = file(context).change(&name.key, |entries| {
        if entries
            .iter()
            .any(|entry| entry.secret().as_ref() == Some(&key))
        {
            return None;
        }
        let label = args.label.clone().unwrap_or_else(|| {
            let number = entries.len() + 1;
            format!("key {number}")
        });
        let after = entries.iter().map(Entry::priority).max().unwrap_or(-1) + 1;
        let id = Entry::new_id(entries);
        let entry = Entry::manual(id.clone(), &label, &key, after);
        entries.push(entry.bound_to(name.base_url.as_deref()));
        Some((id, label))
    })?;
    match added {
        Some((id, label)) => {
            let shown = &name.key;
            context
                .printer
                .line(format!("✓ Added '{label}' ({id}) for {shown}"))?;
            Ok(ExitCode::SUCCESS)
        }
        None => Err(CommandError::user(format!(
            "this key of {} is kept already",
            name.key
        ))),
    }
}

fn key(args: &Args, context: &Context) -> Result<SecretString> {
    let key = match &args.api_key {
        Some(key) => SecretString::new(key.trim()),
        None if std::io::stdin().is_terminal() => asked(args, context)?,
        None => {
            let mut text = Zeroizing::new(String::new());
            std::io::stdin()
                .lock()
                .take(MAX_KEY)
                .read_to_string(&mut text)?;
            SecretString::new(text.trim())
        }
    };
    if !is_usable_secret(key.expose()) {
        return Err(CommandError::user("that is not a key")
            .hint("a key has at least four characters and is no placeholder"));
    }
    if key
        .expose()
        .chars()
        .any(|c| c.is_whitespace() || c.is_control())
    {
        return Err(CommandError::user("a key holds no spaces or line breaks"));
    }
    Ok(key)
}

fn asked(args: &Args, context: &Context) -> Result<SecretString> {
    let interrupt = Arc::new(Wake::new()?);
    let person = Person::present(&context.printer, &interrupt);
    let question = format!("Key for {}: ", args.provider);
    person
        .and_then(|person| person.ask(&question, PATIENCE, Echo::Off))
        .map(|typed| SecretString::new(typed.expose().trim()))
        .ok_or_else(CommandError::cancelled)
}
