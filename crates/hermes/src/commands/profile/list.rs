//! `hermes profile list`.

use hermes_home::profiles::{ProfileSummary, list};

use super::{ABSENT, running};
use crate::context::Context;
use crate::error::Result;
use crate::ui::{Table, cut};

/// Longest model name shown.
const MODEL_WIDTH: usize = 26;
/// Longest distribution shown.
const DISTRIBUTION_WIDTH: usize = 30;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    let found = list(&context.location, context.current.as_ref())?;
    if args.json {
        return context.json(&found.to_json());
    }
    let mut table = Table::new(&["  Profile", "Model", "Gateway", "Alias", "Distribution"]);
    for profile in &found.profiles {
        table.row(row(profile));
    }
    context.out(&table.render())
}

fn row(profile: &ProfileSummary) -> Vec<String> {
    let marker = if profile.is_current { "◆" } else { " " };
    let or_absent = |text: Option<String>| text.unwrap_or_else(|| ABSENT.to_owned());
    let distribution = profile.distribution.as_ref().map(|d| match &d.version {
        Some(version) => cut(&format!("{}@{version}", d.name), DISTRIBUTION_WIDTH),
        None => cut(&d.name, DISTRIBUTION_WIDTH),
    });
    vec![
        format!("{marker} {}", profile.name),
        or_absent(
            profile
                .model
                .as_deref()
                .map(|model| cut(model, MODEL_WIDTH)),
        ),
        running(profile.gateway_pid.is_some()).to_owned(),
        or_absent(profile.alias.as_ref().map(|alias| alias.name.clone())),
        or_absent(distribution),
    ]
}
