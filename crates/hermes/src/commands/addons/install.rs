//! `hermes addons install`.

use std::path::PathBuf;
use std::process::ExitCode;

use hermes_addons::{
    Addons, Feature, Gate, InstallRequest, Installed, NodePackage, PluginPackages, State,
};
use hermes_runtime::ProfilePlugins;
use serde_json::json;

use super::progress::install_with_progress;
use super::{addons, error_json, finish};
use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::ui::{counted, human_size};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The features, packages of npm as npm:NAME@VERSION, or those of a plugin as plugin:NAME
    #[arg(required = true, value_name = "FEATURE")]
    features: Vec<String>,
    /// Install again what is there already
    #[arg(long)]
    force: bool,
    /// Install nothing; say what would be installed
    #[arg(long)]
    dry_run: bool,
    /// Interpreter to install for
    #[arg(long, value_name = "PATH")]
    python: Option<PathBuf>,
    /// Package index to fetch from instead of this machine's
    #[arg(long, value_name = "URL")]
    mirror: Option<String>,
    /// Directory of wheels to install from instead of any package index
    #[arg(long, value_name = "DIR", conflicts_with = "mirror")]
    wheelhouse: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<ExitCode> {
    let wheelhouse = wheelhouse(args)?;
    let python = args
        .python
        .as_deref()
        .map(std::path::absolute)
        .transpose()?;
    if let Some(mirror) = &args.mirror
        && !mirror.starts_with("https://")
    {
        return Err(CommandError::usage(
            "--mirror takes an address that begins with https://",
        ));
    }
    let package = args
        .features
        .iter()
        .find(|name| NodePackage::is_meant(name));
    if let Some(package) = package
        && (wheelhouse.is_some() || python.is_some())
    {
        return Err(CommandError::usage(format!(
            "--wheelhouse and --python are for Python packages; {package} is one of npm"
        )));
    }
    if args
        .features
        .iter()
        .any(|name| PluginPackages::is_meant(name))
    {
        context.refuse_to_agents("installing the packages of a plugin")?;
    }
    let addons = addons(context)?;
    if args.dry_run {
        return dry_run(args, context, &addons);
    }
    let is_addon = |name: &String| {
        NodePackage::is_meant(name)
            || PluginPackages::is_meant(name)
            || Feature::named(name).and_then(Feature::addon).is_some()
    };
    if addons.settings().gate() == Gate::Open && args.features.iter().any(is_addon) {
        context.ensure_home()?;
        context.start_logging();
    }
    let (mut installed, mut failures) = (Vec::new(), Vec::new());
    for feature in &args.features {
        let (feature, specs) = match of_plugin(feature, context)? {
            Some(packages) => (packages.feature, packages.specs),
            None => (feature.clone(), Vec::new()),
        };
        let request = InstallRequest {
            feature,
            specs,
            force: args.force,
            python: python.clone(),
            mirror: args.mirror.clone(),
            wheelhouse: wheelhouse.clone(),
            cancel: None,
        };
        match install_with_progress(context, &addons, request)? {
            Ok(done) => {
                if !args.json {
                    context.line(sentence(&done))?;
                }
                installed.push(done);
            }
            Err(error) => {
                tracing::warn!(code = error.code.name(), "{error}");
                failures.push(error);
            }
        }
    }
    if args.json {
        let failed: Vec<_> = failures.iter().map(error_json).collect();
        context.json(&json!({ "installed": installed, "failed": failed }))?;
    }
    finish(context, failures, args.json)?;
    Ok(ExitCode::SUCCESS)
}

/// What a plugin declares, if the name means one that is installed here.
fn of_plugin(name: &str, context: &Context) -> Result<Option<PluginPackages>> {
    if !PluginPackages::is_meant(name) {
        return Ok(None);
    }
    let found = ProfilePlugins::of(context);
    let packages = found
        .of_environment(name)
        .and_then(|one| found.packages(one));
    Ok(packages.transpose()?)
}

fn sentence(done: &Installed) -> String {
    match done.state {
        "native" => format!("✓ {} needs no add-on: nothing to install", done.feature),
        "current" => format!("✓ {} is installed already", done.feature),
        _ => format!(
            "✓ {} is installed: {} in {:.1} s",
            done.feature,
            human_size(done.bytes),
            done.seconds
        ),
    }
}

/// The directory, which must be there: an installer would only say that it found nothing.
fn wheelhouse(args: &Args) -> Result<Option<PathBuf>> {
    let Some(given) = &args.wheelhouse else {
        return Ok(None);
    };
    let path = std::path::absolute(given)?;
    if path.is_dir() {
        return Ok(Some(path));
    }
    Err(CommandError::user(format!(
        "there is no directory {}",
        given.display()
    )))
}

fn dry_run(args: &Args, context: &Context, addons: &Addons) -> Result<ExitCode> {
    let mut plans = Vec::new();
    for feature in &args.features {
        if NodePackage::is_meant(feature) {
            super::succeeded(context, NodePackage::parse(feature), args.json)?;
            context.note(format!(
                "{feature}: would be resolved and installed with npm"
            ))?;
            continue;
        }
        if let Some(packages) = of_plugin(feature, context)? {
            let specs = packages.specs.join(", ");
            context.note(format!(
                "{feature}: would be resolved and installed with what it needs: {specs}"
            ))?;
            continue;
        }
        let details = super::succeeded(context, addons.details(feature), args.json)?;
        if !args.json {
            let refusal = addons.settings().gate().refusal();
            let line = match (details.closure.len(), refusal) {
                (0, _) => format!(
                    "{feature}: nothing to install ({})",
                    details.row.state.name()
                ),
                (..) if details.row.state == State::Installed && !args.force => {
                    format!("{feature}: nothing to install (installed already)")
                }
                (_, Some((_, reason, _))) => format!("{feature}: would be refused, {reason}"),
                (count, None) => format!(
                    "{feature}: would install {}, about {} MB ({} now)",
                    counted(count, "locked package"),
                    details.size_mb,
                    details.row.state.name()
                ),
            };
            context.line(line)?;
        }
        plans.push(details);
    }
    if args.json {
        context.json(&json!({ "would_install": plans }))?;
    }
    Ok(ExitCode::SUCCESS)
}
