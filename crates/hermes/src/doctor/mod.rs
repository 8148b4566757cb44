//! Checks of the installation as rows of data, and the repairs some of them offer.
//!
//! Checks never change anything, not even a missing directory: `apply_fixes` is the only way from a
//! row to an effect.

mod backends;
mod config_files;
mod databases;
mod directories;
mod fix;
mod profiles;
mod row;
mod runtime;
mod skill_needs;
mod subprocess;

pub(crate) use fix::apply_fixes;
use row::Report;
pub(crate) use row::Row;

use crate::context::Context;

/// All checks, in the order they are shown; those of child environments for the profile in use, or
/// for each.
pub(crate) fn examine(context: &Context, all_profiles: bool) -> Vec<Row> {
    let report = &mut Report::default();
    let problems = context.listed_problems();
    runtime::check(context, report);
    config_files::check(context, problems, report);
    directories::check(context, report);
    databases::check(context, report);
    runtime::check_command(context, report);
    runtime::check_tools(context, report);
    backends::check(context, report);
    subprocess::check(context, all_profiles, report);
    profiles::check(context, report);
    std::mem::take(&mut report.rows)
}
