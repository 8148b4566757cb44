//! `hermes auth add`.

use std::io::{IsTerminal, Read};
use std::sync::Arc;
use std::time::Duration;

use hermes_proc::Wake;
use hermes_providers::{CredentialEntry, is_usable_secret};
use hermes_secret::SecretString;
use zeroize::Zeroizing;

use super::{file, pool};
use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::ui::{Echo, TerminalQuestions};

/// Longest key that is read from a pipe.
const MAX_KEY: u64 = 64 * 1024;

/// How long the question for a key stays open.
const KEY_TIMEOUT: Duration = Duration::from_mins(10);

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum KeyType {
    ApiKey,
    // Named by the reference; refused until there are logins.
    Oauth,
}

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Provider: its name, or the name of an entry in `providers`
    provider: String,
    /// Type of credential; logins are not supported yet
    #[arg(long = "type", value_enum, default_value = "api-key")]
    kind: KeyType,
    /// The key; if omitted, it is prompted for or read from standard input
    #[arg(long, value_name = "KEY")]
    api_key: Option<String>,
    /// Label for the key
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

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    context.refuse_to_agents("storing a key")?;
    if args.kind == KeyType::Oauth {
        return Err(CommandError::user("logins are not supported yet")
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
        let after = entries
            .iter()
            .map(CredentialEntry::priority)
            .max()
            .unwrap_or(-1)
            + 1;
        let id = CredentialEntry::new_id(entries);
        let entry = CredentialEntry::manual(id.clone(), &label, &key, after);
        entries.push(entry.bound_to(name.base_url.as_deref()));
        Some((id, label))
    })?;
    match added {
        Some((id, label)) => {
            let shown = &name.key;
            context.line(format!("✓ Added '{label}' ({id}) for {shown}"))
        }
        None => Err(CommandError::user(format!(
            "this key for {} is already stored",
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
        return Err(CommandError::user("that is not a valid key")
            .hint("a key has at least four characters and is not a placeholder"));
    }
    if key
        .expose()
        .chars()
        .any(|c| c.is_whitespace() || c.is_control())
    {
        return Err(CommandError::user(
            "a key cannot contain spaces or line breaks",
        ));
    }
    Ok(key)
}

fn asked(args: &Args, context: &Context) -> Result<SecretString> {
    let interrupt = Arc::new(Wake::new()?);
    let questions = TerminalQuestions::new(context.printer, &interrupt);
    let question = format!("Key for {}: ", args.provider);
    questions
        .and_then(|questions| questions.ask(&question, KEY_TIMEOUT, Echo::Off))
        .map(|typed| SecretString::new(typed.expose().trim()))
        .ok_or_else(CommandError::cancelled)
}
