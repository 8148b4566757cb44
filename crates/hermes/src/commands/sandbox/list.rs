//! `hermes sandbox list`.

use hermes_docker::HomeOf;
use hermes_docker::manage::{self, Listing, SandboxRow, Scope};
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
    /// Include the containers of other homes, and mark them
    #[arg(long)]
    all: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    let host = host(context)?;
    let scope = if args.all {
        Scope::AllHomes
    } else {
        scope(context, args.all_profiles)?
    };
    let listing = manage::list(&host, &scope)?;
    if args.json {
        return context.json(&listing);
    }
    if listing.sandboxes.is_empty() {
        context.line("No sandboxes")?;
    } else {
        context.out(&table(&listing, args.all))?;
    }
    match listing.left_out {
        0 => Ok(()),
        1 => context.note("1 container of another home is not shown; --all lists it"),
        count => context.note(format!(
            "{count} containers of other homes are not shown; --all lists them"
        )),
    }
}

/// The table; with the homes, if there can be several.
fn table(listing: &Listing, shows_home: bool) -> String {
    let mut heads = vec![
        "NAME",
        "STATE",
        "TASK",
        "PROFILE",
        "IMAGE",
        "CREATED",
        "LAST-USED",
        "DRIFT",
    ];
    if shows_home {
        heads.push("HOME");
    }
    let mut table = Table::new(&heads);
    for sandbox in &listing.sandboxes {
        let mut cells = row(sandbox);
        if shows_home {
            cells.push(home(sandbox.home).to_owned());
        }
        table.row(cells);
    }
    table.render()
}

fn home(home: HomeOf) -> &'static str {
    match home {
        HomeOf::This => "this",
        HomeOf::Other => "other",
        HomeOf::Unknown => "unknown",
    }
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
