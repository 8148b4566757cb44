//! Deleting a profile: first a plan to show, then the deed.
//!
//! Once the directory has its hidden name the profile is gone for everyone; what is left after a
//! crash is cleared away by the next creation or deletion.

use std::path::PathBuf;
use std::time::Duration;

use crate::profiles::stop::{backends_of, stop_all};
use crate::profiles::sweep::DELETED;
use crate::profiles::{ProfileSummary, StoppedProcess, show, stop_gateway, sweep};
use crate::sticky::point_to;
use crate::{Alias, Aliases, Error, Location, ProfileName, Result, Sticky, sticky_profile};

/// What a deletion would do.
#[derive(Debug, Clone)]
pub struct DeletePlan {
    pub profile: ProfileSummary,
    pub aliases: Vec<Alias>,
    /// Other processes that serve it and would be stopped.
    pub processes: Vec<u32>,
    pub is_sticky: bool,
}

/// What a deletion did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeleteReport {
    pub gateway: Option<StoppedProcess>,
    pub processes: Vec<StoppedProcess>,
    pub aliases: Vec<PathBuf>,
    /// Wrapper commands that could not be removed, with the reason.
    pub kept_aliases: Vec<String>,
    /// Whether the default profile is the sticky one now.
    pub sticky_reset: bool,
}

/// Looks at what a deletion would touch. Changes nothing.
pub fn plan_delete(location: &Location, name: &ProfileName) -> Result<DeletePlan> {
    if name.is_default() {
        return Err(Error::DefaultProfile { action: "deleted" });
    }
    let profile = show(location, name, None)?;
    let gateway = profile.gateway_pid;
    Ok(DeletePlan {
        aliases: aliases_of(location, name),
        processes: backends_of(&profile.path)
            .iter()
            .map(|identity| identity.pid)
            .filter(|pid| Some(*pid) != gateway)
            .collect(),
        is_sticky: sticky_profile(location) == Sticky::Named(name.clone()),
        profile,
    })
}

/// Deletes the profile of a plan, looking at processes and aliases anew.
pub fn apply_delete(location: &Location, plan: &DeletePlan) -> Result<DeleteReport> {
    let name = &plan.profile.name;
    let home = location.profile_home(name);
    let mut report = DeleteReport {
        gateway: stop_gateway(&home, Duration::ZERO)?,
        ..DeleteReport::default()
    };
    report.processes = stop_all(&backends_of(&home))?;
    let aliases = Aliases::of(location);
    for alias in aliases_of(location, name) {
        match aliases.remove(&alias.name) {
            Ok(path) => report.aliases.push(path),
            // A wrapper that stays is a nuisance; a profile that stays is not what was asked for.
            Err(error) => report.kept_aliases.push(error.to_string()),
        }
    }
    let hidden = hide(location, name)?;
    if sticky_profile(location) == Sticky::Named(name.clone()) {
        point_to(location, &ProfileName::default_profile())?;
        report.sticky_reset = true;
    }
    if let Err(source) = hermes_fs::remove_tree(&hidden) {
        return Err(Error::LeftBehind {
            name: name.clone(),
            left: hidden,
            source,
        });
    }
    sweep(location);
    Ok(report)
}

/// Gives the directory a name that nobody takes for a profile.
fn hide(location: &Location, name: &ProfileName) -> Result<PathBuf> {
    let home = location.profile_home(name);
    let time = jiff::Timestamp::now().as_millisecond();
    let pid = std::process::id();
    let hidden = location
        .profiles_dir()
        .join(format!(".{name}{DELETED}{time}-{pid}"));
    match hermes_fs::rename_exclusive(&home, &hidden) {
        Ok(()) => Ok(hidden),
        Err(error) if error.is_not_found() => Err(Error::Missing { name: name.clone() }),
        Err(error) => Err(error.into()),
    }
}

fn aliases_of(location: &Location, name: &ProfileName) -> Vec<Alias> {
    let all = Aliases::of(location).scan().into_iter();
    all.filter(|alias| alias.profile == *name).collect()
}
