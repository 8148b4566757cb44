//! `hermes addons list`.

use hermes_addons::{AddonRow, Addons, Feature};
use serde_json::{Value, json};

use super::addons;
use crate::context::Context;
use crate::error::Result;
use crate::ui::{Table, human_size};

#[derive(Debug, Default, clap::Args)]
pub(crate) struct Args {
    /// Include features that are not installed, need no add-on, or are not part of this version
    #[arg(long)]
    all: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    let addons = addons(context)?;
    let overview = addons.overview();
    let is_shown = |row: &&AddonRow| args.all || row.is_of_interest() && !is_hidden(row);
    let rows: Vec<&AddonRow> = overview.addons.iter().filter(is_shown).collect();
    if args.json {
        return context.json(&json!({
            "store": overview.store,
            "gate": gate_json(&addons),
            "interpreter": overview.interpreter,
            "addons": rows,
        }));
    }
    if rows.is_empty() {
        let is_for_tests = |row: &AddonRow| row.is_of_interest() && is_hidden(row);
        context.line(if overview.addons.iter().any(is_for_tests) {
            "No add-ons are installed, but the one for tests of the installation."
        } else {
            "No add-ons are installed."
        })?;
        context.note("`hermes addons list --all` shows what can be installed.")?;
    } else {
        let mut table = Table::new(&["FEATURE", "STATE", "VERSION", "SIZE", "KIND", "WORKER"]);
        for row in rows {
            table.row(cells(row));
        }
        context.out(&table.render())?;
    }
    if let Some(problem) = &overview.problem {
        context.warn(problem.to_string())?;
        if let Some(hint) = &problem.hint {
            context.hint(hint)?;
        }
    }
    if overview.store.legacy_packages > 0 {
        context.note(format!(
            "{} packages of the Python runtime are in the store too; they are not used here.",
            overview.store.legacy_packages
        ))?;
    }
    Ok(())
}

/// Features for tests of the installation are no news to people.
fn is_hidden(row: &AddonRow) -> bool {
    let feature = Feature::named(&row.feature);
    feature
        .and_then(Feature::addon)
        .is_some_and(|addon| addon.hidden)
}

/// Whether installing is allowed, for programs.
pub(super) fn gate_json(addons: &Addons) -> Value {
    let refusal = addons.settings().gate().refusal();
    json!({
        "allowed": refusal.is_none(),
        "code": refusal.map(|(code, ..)| code.name()),
        "reason": refusal.map(|(_, reason, _)| reason),
    })
}

fn cells(row: &AddonRow) -> Vec<String> {
    let size = if row.bytes == 0 {
        "-".to_owned()
    } else {
        human_size(row.bytes)
    };
    let worker = row.worker.as_ref();
    let worker = worker.map_or("-", |worker| worker.state.name());
    vec![
        row.feature.clone(),
        row.state.name().to_owned(),
        row.version.clone().unwrap_or_else(|| "-".to_owned()),
        size,
        if row.kind == "none" { "-" } else { row.kind }.to_owned(),
        worker.to_owned(),
    ]
}
