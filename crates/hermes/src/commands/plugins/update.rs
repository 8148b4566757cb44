//! `hermes plugins update` and `remove`.

use hermes_plugins::{Source, Status, Updated};
use hermes_runtime::forget_plugin;

use super::packages::{self, PackageArgs};
use super::{enable, found, named, store};
use crate::context::Context;
use crate::error::{CommandError, Result};

/// Characters of a commit that are shown.
const COMMIT: usize = 10;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The plugin, as `hermes plugins list` has it
    name: String,
    /// Go back to the copy that was there before the last update
    #[arg(long)]
    rollback: bool,
    #[command(flatten)]
    packages: PackageArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct RemoveArgs {
    /// The plugin, as `hermes plugins list` has it
    name: String,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    context.refuse_to_agents("updating a plugin")?;
    context.start_logging();
    let before = found(context)?;
    let plugin = named(&before, &args.name)?;
    own(plugin.source, &plugin.key)?;
    forget_plugin(context, plugin);
    let store = store(context);
    let updated = if args.rollback {
        store.rollback(&plugin.key)?
    } else {
        store.update(&plugin.key, &packages::accept)?
    };
    match updated {
        Updated::Current { commit } => context.line(format!(
            "✓ {} is up to date ({})",
            plugin.key,
            hermes_text::cut(&commit, COMMIT)
        )),
        Updated::Changed { from, to, version } => {
            tracing::info!(
                plugin = plugin.key,
                ?from,
                ?to,
                "another copy of a plugin is in place"
            );
            let short = |commit: Option<String>| {
                let commit = commit.unwrap_or_else(|| "a copy".to_owned());
                hermes_text::cut(&commit, COMMIT).to_owned()
            };
            let version = match version.as_str() {
                "" => String::new(),
                version => format!(" {version}"),
            };
            context.line(format!(
                "✓ {}{version}: {} → {}",
                plugin.key,
                short(from),
                short(to)
            ))?;
            let after = found(context)?;
            if let Some(plugin) = after.discovery.find(&plugin.key) {
                forget_plugin(context, plugin);
                for problem in after.problems(plugin) {
                    context.warn(format!("plugin '{}': {problem}", plugin.key))?;
                }
            }
            if !args.rollback {
                context.hint(format!(
                    "`hermes plugins update --rollback {}` goes back",
                    plugin.key
                ))?;
            }
            match after.discovery.find(&plugin.key) {
                Some(plugin) if after.settings.status(plugin) == Status::Enabled => {
                    packages::provide(plugin, &after, args.packages, context)
                }
                _ => Ok(()),
            }
        }
    }
}

pub(super) fn remove(args: &RemoveArgs, context: &Context) -> Result<()> {
    context.refuse_to_agents("removing a plugin")?;
    context.start_logging();
    let found = found(context)?;
    let plugin = named(&found, &args.name)?;
    own(plugin.source, &plugin.key)?;
    forget_plugin(context, plugin);
    let directory = store(context).remove(&plugin.key)?;
    tracing::info!(plugin = plugin.key, "plugin removed");
    enable::forget(plugin, &found, context)?;
    context.line(format!("✓ Removed {}", context.display(&directory)))?;
    packages::remove(plugin, &found, context)
}

/// Only plugins of the home are ours to change.
fn own(source: Source, key: &str) -> Result<()> {
    let place = match source {
        Source::User | Source::Git => return Ok(()),
        Source::Bundled => "came with the installation",
        Source::Project => "belongs to the project in this directory",
    };
    Err(
        CommandError::user(format!("the plugin '{key}' {place} and is not changed"))
            .hint(format!("`hermes plugins disable {key}` switches it off")),
    )
}
