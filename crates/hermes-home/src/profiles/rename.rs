//! Giving a profile another name.

use std::path::Path;
use std::time::Duration;

use crate::profiles::stop::{backends_of, stop_all};
use crate::profiles::{StoppedProcess, existing, stop_gateway};
use crate::sticky::point_to;
use crate::{
    AliasMove, AliasRules, Aliases, Error, Location, ProfileName, Result, Sticky, sticky_profile,
};

/// What a rename did.
#[derive(Debug)]
pub struct RenameReport {
    pub location: Location,
    /// The gateway, if one ran. It is not started again here.
    pub gateway: Option<StoppedProcess>,
    /// Other processes that served the profile under its old name.
    pub processes: Vec<StoppedProcess>,
    pub aliases: Vec<AliasMove>,
    pub sticky_moved: bool,
}

/// Renames a profile. `hermes` is the program that wrapper commands run.
pub fn rename(
    location: &Location,
    old: &ProfileName,
    new: &ProfileName,
    hermes: &Path,
    rules: AliasRules<'_>,
) -> Result<RenameReport> {
    if old.is_default() || new.is_default() {
        return Err(Error::DefaultProfile { action: "renamed" });
    }
    let from = existing(location, old)?.home;
    let target = location.for_profile(new);
    let taken = || Error::Exists {
        name: new.clone(),
        path: target.home.clone(),
    };
    // Before anything is stopped; the rename itself decides.
    if hermes_fs::exists_no_follow(&target.home) {
        return Err(taken());
    }
    let gateway = stop_gateway(&from, Duration::ZERO)?;
    let processes = stop_all(&backends_of(&from))?;
    match hermes_fs::rename_exclusive(&from, &target.home) {
        Ok(()) => {}
        Err(hermes_fs::Error::AlreadyExists { .. }) => return Err(taken()),
        Err(error) => return Err(error.into()),
    }
    let sticky_moved = sticky_profile(location) == Sticky::Named(old.clone());
    if sticky_moved {
        point_to(location, new)?;
    }
    let aliases = Aliases::of(location).follow_rename(old, new, hermes, rules);
    Ok(RenameReport {
        location: target,
        gateway,
        processes,
        aliases,
        sticky_moved,
    })
}
