//! `hermes plugins` at a terminal: switches plugins on and off.

use hermes_plugins::{Plugin, Status};

use super::packages::{self, PackageArgs};
use super::{enable, found};
use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::ui::{Choice, Picked, counted, one_line, pick};

pub(super) fn run(context: &Context) -> Result<()> {
    let found = found(context)?;
    let plugins: Vec<&Plugin> = found.discovery.plugins.iter().collect();
    if plugins.is_empty() {
        context.line("There are no plugins")?;
        return context.note("Install one with `hermes plugins install owner/repository`.");
    }
    context.refuse_to_agents("enabling a plugin")?;
    context.refuse_if_managed("config.yaml")?;
    let is_enabled = |plugin: &&Plugin| found.settings.status(plugin) == Status::Enabled;
    let before: Vec<bool> = plugins.iter().map(is_enabled).collect();
    let mut on = before.clone();
    let mut at = 0;
    loop {
        let mut rows = vec![Choice::new("Done", "keep what is marked")];
        rows.extend(plugins.iter().zip(&on).map(|(plugin, is_on)| {
            let mark = if *is_on { "[x]" } else { "[ ]" };
            Choice::new(format!("{mark} {}", plugin.key), about(plugin))
        }));
        match pick(context.printer, &context.env, "Plugins", &rows, at)? {
            Picked::Chosen(0) => break,
            Picked::Chosen(row) => {
                at = row;
                let usable = plugins
                    .get(row - 1)
                    .is_some_and(|one| one.problem().is_none());
                if let Some(is_on) = on.get_mut(row - 1) {
                    // What cannot be used can only be switched off.
                    *is_on = !*is_on && usable;
                }
            }
            Picked::Back | Picked::Leave => return Err(CommandError::cancelled()),
        }
    }
    if on == before {
        return context.line("✓ Nothing has changed");
    }
    let newly = plugins.iter().zip(on.iter().zip(&before));
    let newly = newly.filter(|(_, (is_on, was_on))| **is_on && !**was_on);
    for (plugin, _) in newly {
        packages::provide(plugin, &found, PackageArgs::default(), context)?;
    }
    let shown: Vec<(&Plugin, bool)> = plugins.into_iter().zip(on).collect();
    enable::set_all(&shown, &found, context)?;
    let count = shown.iter().filter(|(_, on)| *on).count();
    context.line(format!(
        "✓ {} enabled, from the next session on",
        counted(count, "plugin")
    ))
}

fn about(plugin: &Plugin) -> String {
    match (plugin.problem(), &plugin.manifest) {
        (Some(problem), _) => one_line(&format!("cannot be used: {problem}"), 70),
        (None, Ok(manifest)) => one_line(&manifest.description, 60),
        (None, Err(_)) => String::new(),
    }
}
