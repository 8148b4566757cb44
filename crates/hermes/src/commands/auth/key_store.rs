//! Keys on their way into a store: checked, asked for without echo, and never shown.

use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

use hermes_proc::Wake;
use hermes_providers::{CredentialEntry, builtin, is_usable_secret, key_refusal};
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

/// A key that was stored.
pub(crate) struct AddedKey {
    pub(crate) id: String,
    pub(crate) label: String,
    /// The pool it is in.
    pub(crate) pool: String,
}

/// Stores a key in `auth.json`; `None` if it is there already.
pub(crate) fn add_to_pool(
    context: &Context,
    provider: &str,
    key: &SecretString,
    label: Option<&str>,
) -> Result<Option<AddedKey>> {
    let name = pool(context, provider)?;
    context.ensure_home()?;
    Ok(file(context).change(&name.key, |entries| {
        if entries
            .iter()
            .any(|entry| entry.secret().as_ref() == Some(key))
        {
            return None;
        }
        let label = label.map_or_else(|| format!("key {}", entries.len() + 1), str::to_owned);
        let after = entries
            .iter()
            .map(CredentialEntry::priority)
            .max()
            .unwrap_or(-1)
            + 1;
        let id = CredentialEntry::new_id(entries);
        let entry = CredentialEntry::manual(id.clone(), &label, key, after);
        entries.push(entry.bound_to(name.base_url.as_deref()));
        Some(AddedKey {
            id,
            label,
            pool: name.key.clone(),
        })
    })?)
}

/// Refuses what cannot be a key.
fn check_key(key: &SecretString) -> Result<()> {
    if !is_usable_secret(key.expose()) {
        return Err(CommandError::user("that is not a valid key")
            .hint("a key has at least four characters and is not a placeholder"));
    }
    let is_odd = |c: char| c.is_whitespace() || c.is_control();
    if key.expose().chars().any(is_odd) {
        return Err(CommandError::user(
            "a key cannot contain spaces or line breaks",
        ));
    }
    if !key.expose().is_ascii() {
        return Err(
            CommandError::user("a key has only letters, digits and signs of ASCII")
                .hint("copy it again; a program may have replaced a character"),
        );
    }
    Ok(())
}

/// Refuses what cannot be a key of this provider.
pub(crate) fn check_key_for(provider: &str, key: &SecretString) -> Result<()> {
    check_key(key)?;
    let id = builtin(provider).map_or(provider, |known| known.id);
    match key_refusal(id, key.expose()) {
        Some(refusal) => Err(CommandError::user(refusal)),
        None => Ok(()),
    }
}

/// A key typed at the terminal, which does not show it; `None` if nothing was typed.
pub(crate) fn ask_key(context: &Context, question: &str) -> Result<Option<SecretString>> {
    let interrupt = Arc::new(Wake::new()?);
    let questions = TerminalQuestions::new(context.printer, &interrupt);
    let typed = questions.and_then(|asked| asked.ask(question, KEY_TIMEOUT, Echo::Off));
    let key = typed.map(|typed| SecretString::new(typed.expose().trim()));
    Ok(key.filter(|key| !key.expose().is_empty()))
}

/// A key that another program pipes in.
pub(crate) fn piped_key() -> Result<SecretString> {
    let mut text = Zeroizing::new(String::new());
    std::io::stdin()
        .lock()
        .take(MAX_KEY)
        .read_to_string(&mut text)?;
    Ok(SecretString::new(text.trim()))
}
