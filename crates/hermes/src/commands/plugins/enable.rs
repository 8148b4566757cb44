//! `hermes plugins enable` and `disable`: the lists `plugins.enabled` and `plugins.disabled`.

use std::collections::BTreeSet;

use hermes_config::settings::change_values;
use hermes_plugins::{Plugin, Status};
use hermes_runtime::ProfilePlugins;
use serde_json::{Value, json};

use super::packages::{self, PackageArgs};
use super::{found, named, unusable};
use crate::context::Context;
use crate::error::Result;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The plugin, as `hermes plugins list` has it
    name: String,
    /// Let its tools take the place of built-in ones
    #[arg(long, conflicts_with = "no_allow_tool_override")]
    allow_tool_override: bool,
    /// Do not let its tools take the place of built-in ones
    #[arg(long)]
    no_allow_tool_override: bool,
    #[command(flatten)]
    packages: PackageArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct DisableArgs {
    /// The plugin, as `hermes plugins list` has it
    name: String,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    let overrides = match (args.allow_tool_override, args.no_allow_tool_override) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    };
    switch_on(&args.name, overrides, args.packages, context)
}

/// Enables a plugin once its packages are there, and says whether it may replace built-in tools if that
/// was said.
pub(super) fn switch_on(
    name: &str,
    overrides: Option<bool>,
    args: PackageArgs,
    context: &Context,
) -> Result<()> {
    context.refuse_to_agents("enabling a plugin")?;
    context.refuse_if_managed("config.yaml")?;
    let found = found(&context.reloaded())?;
    let plugin = named(&found, name)?;
    if let Some(problem) = plugin.problem() {
        return Err(unusable(&plugin.key, &problem));
    }
    if let Ok(manifest) = &plugin.manifest {
        packages::accept(manifest)?;
    }
    context.ensure_home()?;
    context.start_logging();
    packages::provide(plugin, &found, args, context)?;
    let (enabled, disabled) = lists(&found, plugin, true);
    let mut changes = vec![
        (path(&["enabled"]), Some(enabled)),
        (path(&["disabled"]), disabled),
    ];
    if let Some(overrides) = overrides {
        let key = path(&["entries", &plugin.key, "allow_tool_override"]);
        changes.push((key, Some(Value::Bool(overrides))));
    }
    change_values(&context.sources_to_write(), &changes)?;
    tracing::info!(plugin = plugin.key, "plugin enabled");
    context.line(format!(
        "✓ {} is enabled, from the next session on",
        plugin.key
    ))?;
    if let Ok(manifest) = &plugin.manifest {
        for name in ProfilePlugins::missing_variables(manifest, context.config()) {
            context.warn(format!("it needs {name}, which has no value"))?;
        }
    }
    Ok(())
}

pub(super) fn disable(args: &DisableArgs, context: &Context) -> Result<()> {
    context.refuse_to_agents("disabling a plugin")?;
    context.refuse_if_managed("config.yaml")?;
    let found = found(context)?;
    let plugin = named(&found, &args.name)?;
    let (enabled, disabled) = lists(&found, plugin, false);
    let changes = [
        (path(&["enabled"]), Some(enabled)),
        (path(&["disabled"]), disabled),
    ];
    context.ensure_home()?;
    change_values(&context.sources_to_write(), &changes)?;
    context.start_logging();
    tracing::info!(plugin = plugin.key, "plugin disabled");
    context.line(format!(
        "✓ {} is disabled, from the next session on",
        plugin.key
    ))
}

/// Takes a plugin that is gone out of the lists, so that another one of its name is not enabled by them.
pub(super) fn forget(plugin: &Plugin, found: &ProfilePlugins, context: &Context) -> Result<()> {
    let is_other = |name: &&String| !names(plugin).contains(&name.as_str());
    let settings = &found.settings;
    let is_listed = |listed: &BTreeSet<String>| !listed.iter().all(|name| is_other(&name));
    let mut changes = Vec::new();
    for (key, listed) in [
        ("enabled", &settings.enabled),
        ("disabled", &settings.disabled),
    ] {
        if is_listed(listed) {
            let left: Vec<&String> = listed.iter().filter(is_other).collect();
            changes.push((path(&[key]), Some(json!(left))));
        }
    }
    if !changes.is_empty() {
        change_values(&context.sources_to_write(), &changes)?;
    }
    Ok(())
}

/// Both lists after a plugin was switched on or off; the second only if there is one.
fn lists(found: &ProfilePlugins, plugin: &Plugin, on: bool) -> (Value, Option<Value>) {
    let without = |names_of: &BTreeSet<String>| {
        let mut left = names_of.clone();
        left.retain(|name| !names(plugin).contains(&name.as_str()));
        left
    };
    let mut enabled = without(&found.settings.enabled);
    let mut disabled = without(&found.settings.disabled);
    let list = if on { &mut enabled } else { &mut disabled };
    list.insert(plugin.key.clone());
    let disabled = (!disabled.is_empty()).then(|| json!(disabled));
    (json!(enabled), disabled)
}

/// The names by which the lists can mean a plugin.
fn names(plugin: &Plugin) -> [&str; 3] {
    [&plugin.key, plugin.name(), plugin.bare_key()]
}

fn path(below: &[&str]) -> Vec<String> {
    let names = std::iter::once(&"plugins").chain(below);
    names.map(|name| (*name).to_owned()).collect()
}

/// Enables exactly these of the plugins that were shown.
pub(super) fn set_all(
    shown: &[(&Plugin, bool)],
    found: &ProfilePlugins,
    context: &Context,
) -> Result<()> {
    let mut enabled = found.settings.enabled.clone();
    let mut disabled = found.settings.disabled.clone();
    for (plugin, on) in shown {
        let is_meant = |name: &String| names(plugin).contains(&name.as_str());
        let was_on = found.settings.status(plugin) == Status::Enabled;
        if was_on == *on {
            continue;
        }
        enabled.retain(|name| !is_meant(name));
        disabled.retain(|name| !is_meant(name));
        let list = if *on { &mut enabled } else { &mut disabled };
        list.insert(plugin.key.clone());
    }
    let disabled = (!disabled.is_empty()).then(|| json!(disabled));
    let changes = [
        (path(&["enabled"]), Some(json!(enabled))),
        (path(&["disabled"]), disabled),
    ];
    context.ensure_home()?;
    Ok(change_values(&context.sources_to_write(), &changes)?)
}
