//! `hermes plugins show`.

use hermes_plugins::Manifest;
use hermes_runtime::ProfilePlugins;

use super::{found, list, named, packages};
use crate::context::Context;
use crate::error::Result;
use crate::ui::{Page, one_line};

const LABEL_WIDTH: usize = 12;
const SHOWN: usize = 400;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The plugin, as `hermes plugins list` has it
    name: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    let found = found(context)?;
    let plugin = named(&found, &args.name)?;
    let problems = found.problems(plugin);
    if args.json {
        let mut value = list::record(plugin, &found);
        value["problems"] = problems.into();
        return context.json(&value);
    }
    let mut page = Page::new(context.printer, LABEL_WIDTH);
    page.heading(&plugin.key);
    page.row("Status", found.settings.status(plugin).name());
    page.row("Source", plugin.source.name());
    page.row("Directory", &context.display(&plugin.directory));
    if let Ok(manifest) = &plugin.manifest {
        of_manifest(&mut page, manifest, context);
    }
    let packages = packages::record(plugin, &found);
    if let Some(specs) = packages["specs"].as_array() {
        let specs = specs.iter().filter_map(|spec| spec.as_str());
        let specs = specs.collect::<Vec<_>>().join(", ");
        let state = packages["state"].as_str().unwrap_or_default();
        page.row(
            "Packages",
            &format!("{} ({state})", one_line(&specs, SHOWN)),
        );
    }
    for problem in problems {
        page.row("Problem", &one_line(&problem, SHOWN));
    }
    context.out(&page.text)
}

fn of_manifest(page: &mut Page, manifest: &Manifest, context: &Context) {
    for (label, text) in [
        ("Version", manifest.version.as_str()),
        ("About", &manifest.description),
        ("Kind", manifest.kind.name()),
        ("Runs as", manifest.runtime.name()),
        ("Hooks", &manifest.provides_hooks.join(", ")),
    ] {
        if !text.is_empty() {
            page.row(label, &one_line(text, SHOWN));
        }
    }
    let missing = ProfilePlugins::missing_variables(manifest, context.config());
    for variable in &manifest.requires_env {
        let is_missing = missing.contains(&variable.name.as_str());
        let state = if is_missing { "not set" } else { "set" };
        page.row("Needs", &format!("{} ({state})", variable.name));
    }
}
