//! `hermes skills`: the skills of a profile, and those that can be had elsewhere.

mod bundled;
mod choose;
mod find;
mod install;
mod list;
mod pending;
mod publish;
mod report;
mod snapshot;
mod tap;
mod update;

use std::process::ExitCode;

use hermes_skills::hub::{FetchTools, Hub};

use super::{exit, pending_changes};
use crate::context::Context;
use crate::error::Result;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Option<Verb>,
}

verbs! { Context;
    /// List the skills of this profile
    [visible_alias("ls")]
    List(list::Args) => list::run,
    /// List everything that can be installed
    Browse(find::BrowseArgs) => find::browse,
    /// Search for skills that can be installed
    Search(find::SearchArgs) => find::search,
    /// Show a skill without installing it
    Inspect(find::InspectArgs) => find::inspect,
    /// Install a skill
    Install(install::Args) => install::run,
    /// Remove an installed skill
    Uninstall(install::UninstallArgs) => install::uninstall,
    /// Check whether installed skills have updates
    Check(update::CheckArgs) => update::check,
    /// Update installed skills
    Update(update::UpdateArgs) => update::update,
    /// Scan installed skills again
    Audit(report::AuditArgs) => report::audit,
    /// Switch skills on and off
    Config(choose::Args) => choose::run,
    /// Let a bundled skill be updated again, or restore it
    Reset(bundled::ResetArgs) => bundled::reset,
    /// List the bundled skills that you changed
    ListModified(bundled::ModifiedArgs) => bundled::list_modified,
    /// Show how your copy of a bundled skill differs, or what a waiting change does
    Diff(bundled::DiffArgs) => bundled::diff,
    /// Keep the bundled skills out of this profile
    OptOut(bundled::OptOutArgs) => bundled::opt_out,
    /// Copy the bundled skills into this profile again
    OptIn(bundled::OptInArgs) => bundled::opt_in,
    /// Restore optional skills of the Python runtime; there are none in this version
    RepairOfficial(bundled::RepairArgs) => bundled::repair_official,
    /// Check a skill before you give it to others
    Publish(publish::Args) => publish::run,
    /// Export and import what was installed
    Snapshot(snapshot::Args) => snapshot::run,
    /// Manage the repositories that skills come from
    Tap(tap::Args) => tap::run,
    /// List changes to skills that wait for approval
    Pending(pending_changes::PendingArgs) => pending::list,
    /// Make changes that wait for approval
    Approve(pending_changes::WhichArgs) => pending::approve,
    /// Discard changes that wait for approval
    Reject(pending_changes::WhichArgs) => pending::reject,
    /// Show or set whether each change needs approval
    Approval(pending_changes::ApprovalArgs) => pending::approval,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<ExitCode> {
    match &args.verb {
        Some(verb) => verb.run(context),
        None => exit(list::run(&list::Args::default(), context)),
    }
}

fn hub(context: &Context) -> Hub {
    Hub::new(&context.location.home)
}

fn fetch_tools(context: &Context) -> FetchTools {
    let git = context.environment().helper_plan();
    FetchTools::new(context.config(), git, &context.location.user_home)
}
