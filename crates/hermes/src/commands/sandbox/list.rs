//! `hermes sandbox list`.

use hermes_docker::manage::{self, SandboxRow, Scope};
use jiff::Timestamp;

use super::host;
use crate::context::Context;
use crate::error::Result;
use crate::ui::{Table, cut};

const IMAGE_WIDTH: usize = 40;

#[derive(Debug, Default, clap::Args)]
pub(crate) struct Args {
    /// Include the containers of all profiles
    #[arg(long)]
    all_profiles: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    let host = host(context)?;
    let listing = manage::list(&host, &scope(context, args.all_profiles)?)?;
    if args.json {
        return context.json(&listing);
    }
    if listing.sandboxes.is_empty() {
        return context.line("No sandboxes");
    }
    let mut table = Table::new(&[
        "NAME",
        "STATE",
        "TASK",
        "PROFILE",
        "IMAGE",
        "CREATED",
        "LAST-USED",
        "DRIFT",
    ]);
    for sandbox in &listing.sandboxes {
        table.row(row(sandbox));
    }
    context.out(&table.render())
}

/// Which sandboxes are meant, with the homes that count as ours.
pub(super) fn scope(context: &Context, all_profiles: bool) -> Result<Scope> {
    if !all_profiles {
        return Ok(Scope::ThisProfile);
    }
    let found = hermes_home::profiles::list(&context.location, context.current.as_ref())?;
    let homes = found.profiles.into_iter().map(|profile| profile.path);
    Ok(Scope::AllProfiles {
        homes: homes.collect(),
    })
}

fn row(sandbox: &SandboxRow) -> Vec<String> {
    let drift = if sandbox.drift.is_empty() {
        "-".to_owned()
    } else {
        sandbox.drift.join(", ")
    };
    vec![
        sandbox.name.clone(),
        sandbox.state.clone(),
        sandbox.task_id.clone(),
        sandbox.profile.clone(),
        cut(&sandbox.image, IMAGE_WIDTH),
        age(sandbox.created_at.as_deref()),
        age(sandbox.last_used_at.as_deref()),
        drift,
    ]
}

fn age(time: Option<&str>) -> String {
    let then = time.and_then(|text| text.parse::<Timestamp>().ok());
    then.map_or_else(
        || "-".to_owned(),
        |then| hermes_time::ago(Timestamp::now().as_second() - then.as_second()),
    )
}
