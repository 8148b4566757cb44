//! Fetching a distribution again and replacing what is its.
//!
//! Each entry changes places with its successor in one step; the manifest goes last, so that an
//! interrupted update still shows the old version and can be repeated.

use std::path::Path;

use hermes_fs::Staging;

use crate::profiles::distribution::MANIFEST;
use crate::profiles::install::copy_owned;
use crate::profiles::{Distribution, InstallPlan, InstallTools, manifest_of, plan_install};
use crate::{Error, HomePolicy, Location, ProfileName, Result};

/// Whether `config.yaml` is replaced too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConfigChoice {
    Keep,
    Replace,
}

/// What an update did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpdateReport {
    pub before: Distribution,
    pub after: Distribution,
    /// Entries of the home that were replaced or added.
    pub replaced: Vec<String>,
}

/// Updates a profile from the source its manifest names.
pub fn update(
    location: &Location,
    name: &ProfileName,
    config: ConfigChoice,
    tools: InstallTools<'_>,
    policy: &HomePolicy,
) -> Result<UpdateReport> {
    let installed = manifest_of(location, name)?;
    let before = installed.distribution;
    let Some(source) = before.source.clone() else {
        return Err(Error::NotInstalled { name: name.clone() });
    };
    let plan = plan_install(location, &source, Some(name.as_str()), tools)?;
    let home = location.profile_home(name);
    let replaced = replace_owned(&home, &plan, config, policy)?;
    Ok(UpdateReport {
        before,
        after: Distribution {
            name: name.to_string(),
            source: Some(source),
            ..plan.manifest.distribution
        },
        replaced,
    })
}

/// Replaces the entries of a distribution in a home that exists.
pub(crate) fn replace_owned(
    home: &Path,
    plan: &InstallPlan,
    config: ConfigChoice,
    policy: &HomePolicy,
) -> Result<Vec<String>> {
    Staging::sweep(home, "update")?;
    // Inside the home: renames do not cross file systems, and the home may be a link to another.
    let staging = Staging::begin(home, "update")?;
    copy_owned(plan, staging.path(), config)?;
    policy.hand_over_tree(staging.path())?;
    let mut entries = hermes_fs::read_dir(staging.path())?;
    entries.sort_by_key(|entry| entry.name == MANIFEST);
    let mut replaced = Vec::new();
    for entry in entries {
        let target = home.join(&entry.name);
        if hermes_fs::exists_no_follow(&target) {
            hermes_fs::exchange(&entry.path, &target)?;
        } else {
            hermes_fs::rename_exclusive(&entry.path, &target)?;
        }
        replaced.push(entry.name.to_string_lossy().into_owned());
    }
    Ok(replaced)
}
