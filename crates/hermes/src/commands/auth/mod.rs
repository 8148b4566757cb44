//! `hermes auth`: the keys of model providers, several for each if need be.

mod add;
mod github_cli;
mod key_store;
mod list;
mod login;
mod logout;
mod remove;
mod reset;
mod status;

use std::process::ExitCode;
use std::time::SystemTime;

use hermes_providers::{AuthFile, CredentialEntry, CredentialStatus, PoolName, keys_in_variables};
use jiff::Timestamp;

use super::exit;
use crate::context::Context;
use crate::error::{CommandError, Result};

pub(crate) use key_store::{add_to_pool, ask_key, check_key_for, piped_key};
pub(crate) use login::{
    COPILOT, LoginArgs, has_login, log_in, log_in_to_portal, login_failed, run_login,
};
pub(crate) use logout::{TopLevelArgs as LogoutArgs, run_top_level as run_logout};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Option<Verb>,
}

verbs! { Context;
    /// Store a key for a provider
    Add(add::Args) => add::run,
    /// List the keys and show whether they can be used
    List(list::Args) => list::run,
    /// Remove a key
    Remove(remove::Args) => remove::run,
    /// Remove all keys of a provider, and its login
    Logout(logout::Args) => logout::run,
    /// Allow keys that were marked as exhausted to be used again
    Reset(reset::Args) => reset::run,
    /// Show which providers have a usable key
    Status(status::Args) => status::run,
}

/// Where the keys of this profile are.
fn file(context: &Context) -> AuthFile {
    AuthFile::of_home(&context.location.home)
}

/// The name under which a provider's keys are kept. A pool that exists may be named as it is.
fn pool(context: &Context, provider: &str) -> Result<PoolName> {
    match PoolName::resolve(context.config(), provider) {
        Ok(name) => Ok(name),
        Err(error) => {
            let exists = !file(context).entries(provider)?.is_empty();
            if exists {
                Ok(PoolName {
                    key: provider.to_owned(),
                    base_url: None,
                })
            } else {
                Err(error.into())
            }
        }
    }
}

/// The keys of one provider.
struct Pool {
    provider: String,
    entries: Vec<CredentialEntry>,
}

/// All keys, by provider: those kept in the file, then those that variables hold.
fn pools(context: &Context) -> Result<Vec<Pool>> {
    let mut pools: Vec<Pool> = file(context)
        .all()?
        .into_iter()
        .map(|(provider, entries)| Pool { provider, entries })
        .collect();
    for (provider, entry) in keys_in_variables(context.config()) {
        let known = pools.iter_mut().find(|pool| pool.provider == provider);
        match known {
            Some(pool) => {
                let recorded = |one: &CredentialEntry| one.source() == entry.source();
                if !pool.entries.iter().any(recorded) {
                    pool.entries.push(entry);
                }
            }
            None => pools.push(Pool {
                provider: provider.to_owned(),
                entries: vec![entry],
            }),
        }
    }
    pools.sort_by(|one, other| one.provider.cmp(&other.provider));
    Ok(pools)
}

/// Only the pool of one provider; an error if there is none.
fn only(pools: Vec<Pool>, context: &Context, provider: Option<&str>) -> Result<Vec<Pool>> {
    let Some(provider) = provider else {
        return Ok(pools);
    };
    let name = pool(context, provider)?.key;
    let found: Vec<Pool> = pools
        .into_iter()
        .filter(|pool| pool.provider == name)
        .collect();
    if found.is_empty() {
        return Err(no_keys(&name));
    }
    Ok(found)
}

fn no_keys(provider: &str) -> CommandError {
    CommandError::user(format!("no keys for {provider}"))
        .hint(format!("add one with `hermes auth add {provider}`"))
}

/// Until when a key rests.
fn rests_until(entry: &CredentialEntry) -> Option<Timestamp> {
    match entry.status(SystemTime::now()) {
        CredentialStatus::Usable => None,
        CredentialStatus::Exhausted { until } => Timestamp::try_from(until).ok(),
    }
}

/// A time as the clock on the wall shows it.
fn wall_time(at: Timestamp) -> String {
    let zoned = at.to_zoned(hermes_time::local());
    zoned.strftime("%Y-%m-%d %H:%M:%S").to_string()
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<ExitCode> {
    match &args.verb {
        Some(verb) => verb.run(context),
        None => exit(list::run(&list::Args::default(), context)),
    }
}
