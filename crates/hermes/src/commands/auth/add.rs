//! `hermes auth add`.

use std::io::IsTerminal;

use hermes_secret::SecretString;

use super::key_store::{AddedKey, add_to_pool, ask_key, check_key_for, piped_key};
use super::login::{LoginFlags, is_login_first, log_in_with};
use super::pool;
use crate::context::Context;
use crate::error::{CommandError, Result};

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum KeyType {
    #[value(alias = "api_key")]
    ApiKey,
    Oauth,
}

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Provider: its name, or the name of an entry in `providers`
    provider: String,
    /// Key or login; a login unless stated for providers that have nothing else
    #[arg(long = "type", value_enum)]
    kind: Option<KeyType>,
    /// The key; if omitted, it is prompted for or read from standard input
    #[arg(long, value_name = "KEY")]
    api_key: Option<String>,
    /// Label for the key
    #[arg(long)]
    label: Option<String>,
    #[command(flatten)]
    login: LoginFlags,
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
    let wants_login = match args.kind {
        Some(kind) => kind == KeyType::Oauth,
        None => args.api_key.is_none() && is_login_first(&args.provider),
    };
    if wants_login {
        if args.api_key.is_some() {
            return Err(CommandError::usage("a login takes no --api-key"));
        }
        return log_in_with(context, &args.provider, args.label.as_deref(), &args.login);
    }
    if args.login.is_given() {
        return Err(CommandError::usage(
            "these flags are for a login: add --type oauth",
        ));
    }
    let name = pool(context, &args.provider)?;
    let key = key(args, context)?;
    match add_to_pool(context, &args.provider, &key, args.label.as_deref())? {
        Some(AddedKey { id, label, pool }) => {
            context.line(format!("✓ Added '{label}' ({id}) for {pool}"))
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
        None if std::io::stdin().is_terminal() => {
            let question = format!("Key for {}: ", args.provider);
            ask_key(context, &question)?.ok_or_else(CommandError::cancelled)?
        }
        None => piped_key()?,
    };
    check_key_for(&args.provider, &key)?;
    Ok(key)
}
