//! `hermes plugins install`.

use std::path::PathBuf;

use hermes_plugins::Manifest;
use hermes_runtime::{ProfilePlugins, forget_plugin};

use super::packages::{self, PackageArgs};
use super::{enable, found, store};
use crate::context::Context;
use crate::error::Result;
use crate::ui::{confirm, one_line};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A git address, owner/repository[/path] on GitHub, or a directory
    identifier: String,
    /// Replace a plugin of the same name; the old copy is kept until the new one is in place
    #[arg(short, long)]
    force: bool,
    /// Enable it, without a question
    #[arg(long, conflicts_with = "no_enable")]
    enable: bool,
    /// Do not enable it, and do not ask
    #[arg(long)]
    no_enable: bool,
    #[command(flatten)]
    packages: PackageArgs,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    context.refuse_to_agents("installing a plugin")?;
    context.ensure_home()?;
    context.start_logging();
    if args.identifier.starts_with("http://") {
        context.warn("http:// is not encrypted: others can change what you install")?;
    }
    let base = context.system.start_dir.clone();
    let base = base.unwrap_or_else(|| PathBuf::from("/"));
    let installed = store(context);
    let installed = installed.install(&args.identifier, &base, args.force, &packages::accept)?;
    let manifest = &installed.manifest;
    tracing::info!(
        plugin = manifest.name,
        origin = installed.origin,
        "plugin installed"
    );
    let version = match manifest.version.as_str() {
        "" => String::new(),
        version => format!(" {version}"),
    };
    context.line(format!(
        "✓ {} {}{version} in {}",
        if installed.replaced {
            "Replaced"
        } else {
            "Installed"
        },
        manifest.name,
        context.display(&installed.directory)
    ))?;
    let found = found(context)?;
    if let Some(plugin) = found.discovery.find(&manifest.name) {
        forget_plugin(context, plugin);
        for problem in found.problems(plugin) {
            context.warn(format!("plugin '{}': {problem}", plugin.key))?;
        }
    }
    tell_needs(manifest, context)?;
    let wants = match (args.enable, args.no_enable) {
        (true, _) => true,
        (_, true) => false,
        _ if manifest.obstacle().is_some() => false,
        _ => confirm(context.printer, &format!("Enable {} now?", manifest.name))?.unwrap_or(false),
    };
    if wants {
        return enable::switch_on(&manifest.name, None, args.packages, context);
    }
    context.hint(format!(
        "`hermes plugins enable {}` lets the next session use it",
        manifest.name
    ))
}

/// What a plugin needs and does not have.
fn tell_needs(manifest: &Manifest, context: &Context) -> Result<()> {
    let missing = ProfilePlugins::missing_variables(manifest, context.config());
    for variable in &manifest.requires_env {
        if !missing.contains(&variable.name.as_str()) {
            continue;
        }
        let mut text = format!("It needs {}", variable.name);
        if !variable.description.is_empty() {
            text.push_str(&format!(": {}", one_line(&variable.description, 200)));
        }
        if !variable.url.is_empty() {
            text.push_str(&format!(" ({})", one_line(&variable.url, 200)));
        }
        context.note(text)?;
    }
    if let Some(name) = missing.first() {
        context.hint(format!("`hermes config set {name} VALUE` keeps it in .env"))?;
    }
    if !manifest.python_dependencies.is_empty() {
        let packages = manifest.python_dependencies.join(", ");
        context.note(format!(
            "It declares these packages of Python, which are installed when it is enabled: {}",
            one_line(&packages, 300)
        ))?;
    }
    Ok(())
}
