//! `hermes addons show`.

use hermes_addons::{Details, State};
use serde_json::json;

use super::list::gate_json;
use super::{addons, succeeded};
use crate::context::Context;
use crate::error::Result;
use crate::ui::{Page, counted, human_size};

const LABEL_WIDTH: usize = 12;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The feature
    feature: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    let addons = addons(context)?;
    let details = succeeded(context, addons.details(&args.feature), args.json)?;
    let is_set = |name: &str| context.config().secret(name).is_some();
    if args.json {
        let mut value = serde_json::to_value(&details)?;
        let secrets = details.secrets.iter();
        value["secrets"] = secrets
            .map(|name| json!({ "name": name, "set": is_set(name) }))
            .collect();
        value["gate"] = gate_json(&addons);
        return context.json(&value);
    }
    context.out(&page(&details, context, &addons, is_set))
}

fn page(
    details: &Details,
    context: &Context,
    addons: &hermes_addons::Addons,
    is_set: impl Fn(&str) -> bool,
) -> String {
    let row = &details.row;
    let mut page = Page::new(context.printer, LABEL_WIDTH);
    page.heading(&row.feature);
    page.row("State", row.state.name());
    match row.state {
        State::Native => page.row("Note", "part of Hermes: nothing has to be installed"),
        State::Planned => page.row("Note", "not part of this version of Hermes"),
        _ => page.row("Packages", &row.specs.join(", ")),
    }
    if details.closure.is_empty() {
        return page.text;
    }
    if let Some(generation) = &row.generation {
        page.row("Generation", generation);
        page.row("Size", &human_size(row.bytes));
    } else {
        page.row("Size", &format!("about {} MB", details.size_mb));
    }
    page.row("Used for", &details.roles.join(", "));
    if !row.needed_by.is_empty() {
        page.row("Needed by", &row.needed_by.join(", "));
    }
    for name in details.secrets {
        let state = if is_set(name) { "set" } else { "not set" };
        page.row("Works with", &format!("{name} ({state})"));
    }
    if let Some((_, reason, _)) = addons.settings().gate().refusal() {
        page.row("Gate", reason);
    }
    if let Some(failure) = &row.failure {
        page.row(
            "Last failure",
            &format!("{} ({})", failure.message, failure.at),
        );
    }
    page.row("Closure", &counted(details.closure.len(), "package"));
    for package in &details.closure {
        page.text.push_str(&format!("    {package}\n"));
    }
    page.text
}
