//! `hermes plugins`: programs of others that bring tools and hooks.

mod enable;
mod install;
mod list;
mod packages;
mod show;
mod toggle;
mod update;

use std::process::ExitCode;

use hermes_plugins::{Plugin, PluginStore};
use hermes_runtime::ProfilePlugins;

use super::exit;
use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::ui::{can_ask, one_line};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Option<Verb>,
}

verbs! { Context;
    /// Install a plugin from a git repository or a directory
    Install(install::Args) => install::run,
    /// Fetch a plugin again from where it came from
    Update(update::Args) => update::run,
    /// Remove a plugin
    [visible_aliases(["rm", "uninstall"])]
    Remove(update::RemoveArgs) => update::remove,
    /// List the plugins and whether they are enabled
    [visible_alias("ls")]
    List(list::Args) => list::run,
    /// Show everything about one plugin
    [visible_alias("info")]
    Show(show::Args) => show::run,
    /// Use a plugin from the next session on
    Enable(enable::Args) => enable::run,
    /// Do not use a plugin any more
    Disable(enable::DisableArgs) => enable::disable,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<ExitCode> {
    match &args.verb {
        Some(verb) => verb.run(context),
        None if can_ask() => exit(toggle::run(context)),
        None => exit(list::run(&list::Args::default(), context)),
    }
}

fn store(context: &Context) -> PluginStore {
    let git = context.environment().helper_plan();
    PluginStore::new(&context.location.home, &context.location.user_home, git)
}

/// All plugins, with what was looked at if somebody wants to know.
fn found(context: &Context) -> Result<ProfilePlugins> {
    let found = ProfilePlugins::of(context);
    if context.env.flag(&hermes_config::vars::HERMES_PLUGINS_DEBUG) {
        for line in &found.discovery.trace {
            context.note(format!("plugins: {line}"))?;
        }
    }
    Ok(found)
}

/// The plugin that a name means.
fn named<'f>(found: &'f ProfilePlugins, name: &str) -> Result<&'f Plugin> {
    found.discovery.find(name).ok_or_else(|| {
        let keys = found.discovery.plugins.iter();
        let near = hermes_text::closest(name, keys.map(|plugin| plugin.key.as_str()));
        let error = CommandError::user(format!("no such plugin: '{}'", one_line(name, 64)));
        match near {
            Some(near) => error.hint(format!("did you mean '{near}'?")),
            None => error.hint("`hermes plugins list` shows them"),
        }
    })
}

/// A plugin that is enabled and cannot be used helps nobody.
fn unusable(key: &str, reason: &str) -> CommandError {
    CommandError::user(format!("the plugin '{key}' cannot be enabled: {reason}"))
}
