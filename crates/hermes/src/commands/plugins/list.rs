//! `hermes plugins list`.

use hermes_plugins::{Plugin, Source, Status};
use hermes_runtime::ProfilePlugins;
use serde_json::{Value, json};

use super::{found, packages};
use crate::context::Context;
use crate::error::Result;
use crate::ui::{Table, one_line};

/// Longest text of a description and of a problem.
const SHOWN: usize = 60;
const SHOWN_PROBLEM: usize = 400;

#[derive(Debug, Default, clap::Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent flags of the command line"
)]
pub(crate) struct Args {
    /// Only those that are enabled
    #[arg(long)]
    enabled: bool,
    /// Only those that you installed
    #[arg(long)]
    user: bool,
    /// None of those that came with the installation
    #[arg(long)]
    no_bundled: bool,
    /// One line each, without a table
    #[arg(long, conflicts_with = "json")]
    plain: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    let found = found(context)?;
    let is_shown = |plugin: &&Plugin| {
        let is_bundled = plugin.source == Source::Bundled;
        let is_enabled = found.settings.status(plugin) == Status::Enabled;
        !(is_bundled && (args.user || args.no_bundled)) && (is_enabled || !args.enabled)
    };
    let shown: Vec<&Plugin> = found.discovery.plugins.iter().filter(is_shown).collect();
    if args.json {
        let records: Vec<Value> = shown.iter().map(|plugin| record(plugin, &found)).collect();
        return context.json(&records);
    }
    if found.is_off {
        context.note("HERMES_SAFE_MODE is set: no plugin is used.")?;
    }
    if args.plain {
        for plugin in &shown {
            context.line(format!(
                "{:12} {:8} {:8} {}",
                found.settings.status(plugin).name(),
                plugin.source.name(),
                version(plugin),
                plugin.key
            ))?;
        }
        return Ok(());
    }
    if shown.is_empty() {
        context.line(if found.discovery.plugins.is_empty() {
            "There are no plugins"
        } else {
            "No plugin is of this kind"
        })?;
        return context.note("Install one with `hermes plugins install owner/repository`.");
    }
    let mut table = Table::new(&["Name", "Status", "Version", "Description", "Source"]);
    for plugin in &shown {
        table.row(vec![
            plugin.key.clone(),
            found.settings.status(plugin).name().to_owned(),
            version(plugin).to_owned(),
            one_line(description(plugin), SHOWN),
            plugin.source.name().to_owned(),
        ]);
    }
    context.out(&table.render())?;
    for plugin in shown {
        for problem in found.problems(plugin) {
            let problem = one_line(&problem, SHOWN_PROBLEM);
            context.note(format!("Warning: plugin '{}': {problem}", plugin.key))?;
        }
    }
    Ok(())
}

/// What scripts know from the reference, and the rest after it.
pub(super) fn record(plugin: &Plugin, found: &ProfilePlugins) -> Value {
    let manifest = plugin.manifest.as_ref().ok();
    json!({
        "name": plugin.name(),
        "status": found.settings.status(plugin).name(),
        "version": version(plugin),
        "description": description(plugin),
        "source": plugin.source.name(),
        "key": plugin.key,
        "kind": manifest.map(|manifest| manifest.kind.name()),
        "runtime": manifest.map(|manifest| manifest.runtime.name()),
        "path": plugin.directory.to_string_lossy(),
        "python_packages": packages::record(plugin, found),
        "error": plugin.problem(),
    })
}

fn version(plugin: &Plugin) -> &str {
    let manifest = plugin.manifest.as_ref();
    manifest.map_or("", |manifest| &manifest.version)
}

fn description(plugin: &Plugin) -> &str {
    let manifest = plugin.manifest.as_ref();
    manifest.map_or("", |manifest| &manifest.description)
}
