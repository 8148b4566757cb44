//! Checks of the installation as rows of data, and the repairs some of them offer.
//!
//! Checks never change anything, not even a missing directory: `apply_fixes` is the only way from a
//! row to an effect.

mod addons;
mod api_server;
mod backends;
mod config_files;
mod databases;
mod directories;
mod fix;
mod gateway;
mod hooks;
mod model_provider;
mod plugins;
mod profiles;
mod row;
mod runtime;
mod skill_needs;
mod slots;
mod subprocess;

pub(crate) use fix::apply_fixes;
use row::Report;
pub(crate) use row::Row;

use crate::context::Context;

/// How far checks go.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scope {
    /// Whether the child environments of every profile are checked, or those of the one in use.
    pub(crate) all_profiles: bool,
    /// Whether the model provider is asked.
    pub(crate) online: bool,
}

/// All checks, in the order they are shown.
pub(crate) fn examine(context: &Context, scope: Scope) -> Vec<Row> {
    let report = &mut Report::default();
    let problems = context.listed_problems();
    runtime::check(context, report);
    config_files::check(context, problems, report);
    model_provider::check(context, scope.online, report);
    directories::check(context, report);
    databases::check(context, report);
    runtime::check_command(context, report);
    runtime::check_tools(context, report);
    backends::check(context, report);
    subprocess::check(context, scope.all_profiles, report);
    hooks::check(context, report);
    plugins::check(context, report);
    addons::check(context, report);
    profiles::check(context, report);
    gateway::check(context, report);
    slots::check(context, report);
    api_server::check(context, report);
    std::mem::take(&mut report.rows)
}

/// The checks of add-ons alone, in the order they are shown.
pub(crate) fn examine_addons(context: &Context) -> Vec<Row> {
    let report = &mut Report::default();
    addons::check_closely(context, report);
    std::mem::take(&mut report.rows)
}

/// The checks that take longer than looking at files.
pub(crate) fn examine_deeply(context: &Context) -> Vec<Row> {
    let report = &mut Report::default();
    model_provider::check(context, true, report);
    databases::check(context, report);
    api_server::check_deeply(context, report);
    std::mem::take(&mut report.rows)
}
