//! Checks of the installation as rows of data, and the repairs some of them offer.
//!
//! Checks never change anything, not even a missing directory: `apply_fixes` is the only way from a
//! row to an effect.

mod backends;
mod command;
mod config_files;
mod databases;
mod directories;
mod facts;
mod fix;
mod profiles;
mod row;
mod runtime;
mod skill_needs;
mod subprocess;
mod tools;

pub(crate) use facts::{
    configured_platforms, cron_jobs, install_method, setting_and_origin, terminal_backend,
};
pub(crate) use fix::apply_fixes;
pub(crate) use row::Row;

use crate::context::Context;

/// All checks, in the order they are shown; those of child environments for the profile in use, or
/// for each.
pub(crate) fn examine(context: &Context, all_profiles: bool) -> Vec<Row> {
    let mut rows = Vec::new();
    runtime::check(context, &mut rows);
    config_files::check(context, &mut rows);
    directories::check(context, &mut rows);
    databases::check(context, &mut rows);
    command::check(context, &mut rows);
    tools::check(context, &mut rows);
    backends::check(context, &mut rows);
    subprocess::check(context, all_profiles, &mut rows);
    profiles::check(context, &mut rows);
    rows
}
