//! Packages of Python that a plugin declares: shown, agreed to, and installed into an environment of the
//! plugin's own.

use hermes_addons::{Code, InstallRequest, PluginPackages, State};
use hermes_plugins::{Manifest, Plugin};
use hermes_runtime::ProfilePlugins;
use serde_json::{Value, json};

use crate::commands::addons::install_with_progress;
use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::ui::{confirm, human_size, one_line};

/// Characters of a list of packages that are shown.
const SHOWN: usize = 400;

/// By which a person agrees to the packages of a plugin.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub(crate) struct PackageArgs {
    /// Install the Python packages that the plugin declares, without a question
    #[arg(long)]
    install_packages: bool,
}

/// Refuses a manifest whose packages could be something else than packages, or that could not use them.
pub(super) fn accept(manifest: &Manifest) -> hermes_plugins::Result<()> {
    let refused = |why: &str, hint: &str| {
        let message = format!(
            "The plugin '{}' is refused: {why}.",
            one_line(&manifest.name, 64)
        );
        hermes_plugins::Error::refused_with(message, hint)
    };
    if let Err(error) = PluginPackages::check(&manifest.python_dependencies) {
        let hint = error.hint.unwrap_or_default();
        return Err(refused(&error.reason, &hint));
    }
    match ProfilePlugins::unfit_command(manifest) {
        Some(problem) => Err(refused(
            &problem,
            "write the command as [python3, SCRIPT], or leave python_dependencies out",
        )),
        None => Ok(()),
    }
}

/// Makes the packages of a plugin ready, if it declares any and somebody agrees to them.
pub(super) fn provide(
    plugin: &Plugin,
    found: &ProfilePlugins,
    args: PackageArgs,
    context: &Context,
) -> Result<()> {
    let Some(packages) = found.packages(plugin) else {
        return Ok(());
    };
    let packages = packages?;
    let (state, _) = found.addons.plugin_state(&packages);
    if state == State::Installed {
        return Ok(());
    }
    // What is known by its hashes was agreed to before.
    if state != State::Stale && !args.install_packages {
        ask(plugin, &packages, context)?;
    }
    let elsewhere = format!(
        "try again, or name another source: hermes addons install {} --mirror URL, or --wheelhouse DIR",
        packages.feature
    );
    let request = InstallRequest {
        feature: packages.feature,
        specs: packages.specs,
        ..InstallRequest::default()
    };
    let done = install_with_progress(context, &found.addons, request)?;
    let done = done.map_err(|mut error| {
        tracing::warn!(code = error.code.name(), "{error}");
        if error.code == Code::Offline {
            error.hint = Some(elsewhere);
        }
        error
    })?;
    context.line(format!(
        "✓ Installed its packages: {} in {:.1} s",
        human_size(done.bytes),
        done.seconds
    ))
}

/// Shows what would be installed, and asks.
fn ask(plugin: &Plugin, packages: &PluginPackages, context: &Context) -> Result<()> {
    let key = &plugin.key;
    let list = one_line(&packages.specs.join(", "), SHOWN);
    context.note(format!(
        "{key} declares these packages of Python, which are installed for it alone: {list}"
    ))?;
    match confirm(context.printer, "Install them and whatever they need?")? {
        Some(true) => Ok(()),
        Some(false) => Err(CommandError::cancelled()),
        None => Err(CommandError::user(format!(
            "the plugin '{key}' is not enabled: nobody can be asked here about its packages of Python"
        ))
        .hint(format!(
            "to agree to them, run: hermes plugins enable {key} --install-packages"
        ))),
    }
}

/// Removes the packages of a plugin that is gone.
pub(super) fn remove(plugin: &Plugin, found: &ProfilePlugins, context: &Context) -> Result<()> {
    let feature = found.addons.plugin_feature(&plugin.key);
    match found.addons.remove(&feature, true) {
        Ok(removal) if removal.removed => context.line(format!(
            "✓ Removed its packages, {}",
            human_size(removal.bytes)
        )),
        Ok(_) => Ok(()),
        // The plugin is gone all the same.
        Err(error) => {
            context.warn(format!("its packages are left: {}", error.reason))?;
            context.hint("`hermes addons gc` removes them later")
        }
    }
}

/// The packages of a plugin for programs.
pub(super) fn record(plugin: &Plugin, found: &ProfilePlugins) -> Value {
    match found.packages(plugin) {
        None => Value::Null,
        Some(Err(error)) => json!({
            "specs": plugin.manifest.as_ref().map(|one| one.python_dependencies.clone()).ok(),
            "state": "refused",
            "error": error.reason,
        }),
        Some(Ok(packages)) => {
            let (state, failure) = found.addons.plugin_state(&packages);
            json!({
                "specs": packages.specs,
                "state": state.name(),
                "feature": packages.feature,
                "error": failure.map(|failure| failure.message),
            })
        }
    }
}
