//! The profiles of an installation.

mod clone;
mod create;
mod delete;
mod distribution;
mod install;
mod meta;
mod port;
mod rename;
mod source;
mod stop;
mod summary;
mod sweep;

pub use create::{CloneDepth, CreateFlags, CreateRequest, ProfileContent, create};
pub use delete::{DeletePlan, DeleteReport, apply_delete, plan_delete};
pub use distribution::{
    Distribution, DistributionManifest, VariableNeed, distribution_of, manifest_of,
};
pub use install::{
    ConfigChoice, InstallPlan, InstallTools, UpdateReport, apply_install, plan_install, update,
};
pub use meta::{ProfileMeta, describe, load_meta};
pub use port::{assign_gateway_ports, gateway_port, settle_gateway_port};
pub use rename::{RenameReport, rename};
pub use stop::{StoppedProcess, stop_gateway, stop_other_gateways};
pub use summary::{ProfileList, ProfileSummary, list, names, show};
pub use sweep::sweep;

use crate::sticky::point_to;
use crate::{Error, Location, ProfileName, Result};

/// The location of a profile that must exist.
pub fn existing(location: &Location, name: &ProfileName) -> Result<Location> {
    let profile = location.for_profile(name);
    if name.is_default() || profile.home.is_dir() {
        Ok(profile)
    } else {
        Err(Error::Missing { name: name.clone() })
    }
}

/// Makes an existing profile sticky.
pub fn use_profile(location: &Location, name: &ProfileName) -> Result<()> {
    existing(location, name)?;
    Ok(point_to(location, name)?)
}
