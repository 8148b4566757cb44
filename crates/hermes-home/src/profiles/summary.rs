//! What `profile list` and `profile show` tell.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::profiles::meta::{load_mapping, text_at};
use crate::profiles::{Distribution, distribution_of, existing, load_meta};
use crate::{Alias, Aliases, Location, ProfileName, Result, count_skills, gateway_pid};

/// One profile.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts, each a field of the record"
)]
pub struct ProfileSummary {
    pub name: ProfileName,
    pub path: PathBuf,
    /// Whether commands are about it when nothing else is said.
    pub is_current: bool,
    pub gateway_pid: Option<u32>,
    pub model: Option<String>,
    pub provider: Option<String>,
    pub has_env: bool,
    pub has_soul: bool,
    pub alias: Option<Alias>,
    pub distribution: Option<Distribution>,
    /// What it is for; empty if nobody said.
    pub description: String,
    /// Whether the description was generated.
    pub description_auto: bool,
    pub gateway_port: Option<u16>,
}

impl ProfileSummary {
    /// Number of its skills. Counted when asked for: it means a walk through hundreds of directories.
    pub fn skill_count(&self) -> usize {
        count_skills(&self.path)
    }

    /// The record of `--json`.
    pub fn to_json(&self) -> Value {
        json!({
            "name": self.name.as_str(),
            "path": self.path.to_string_lossy(),
            "is_default": self.name.is_default(),
            "is_current": self.is_current,
            "gateway_running": self.gateway_pid.is_some(),
            "gateway_pid": self.gateway_pid,
            "model": self.model,
            "provider": self.provider,
            "has_env": self.has_env,
            "skill_count": self.skill_count(),
            "alias": self.alias.as_ref().map(|alias| alias.name.as_str()),
            "distribution": self.distribution.as_ref().map(Distribution::to_json),
            "description": self.description,
            "description_auto": self.description_auto,
            "gateway_port": self.gateway_port,
        })
    }
}

/// All profiles of an installation: the default one, then the others by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProfileList {
    pub root: PathBuf,
    /// The current profile; `None` for a custom home.
    pub active: Option<ProfileName>,
    pub profiles: Vec<ProfileSummary>,
}

impl ProfileList {
    /// The record of `--json`.
    pub fn to_json(&self) -> Value {
        let profiles: Vec<Value> = self.profiles.iter().map(ProfileSummary::to_json).collect();
        json!({
            "root": self.root.to_string_lossy(),
            "active": self.active.as_ref().map_or("custom", ProfileName::as_str),
            "profiles": profiles,
        })
    }
}

/// Lists the profiles. Directories whose name is none are not profiles.
pub fn list(location: &Location, current: Option<&ProfileName>) -> Result<ProfileList> {
    let aliases = Aliases::of(location).by_profile();
    let profiles = names(location)?
        .into_iter()
        .map(|name| summarise(location, name, current, &aliases))
        .collect();
    Ok(ProfileList {
        root: location.root.clone(),
        active: current.cloned(),
        profiles,
    })
}

/// One profile that must exist.
pub fn show(
    location: &Location,
    name: &ProfileName,
    current: Option<&ProfileName>,
) -> Result<ProfileSummary> {
    existing(location, name)?;
    let aliases = Aliases::of(location).by_profile();
    Ok(summarise(location, name.clone(), current, &aliases))
}

/// Names of all profiles, the default one first.
pub fn names(location: &Location) -> Result<Vec<ProfileName>> {
    let entries = match hermes_fs::read_dir(&location.profiles_dir()) {
        Ok(entries) => entries,
        Err(error) if error.is_not_found() => Vec::new(),
        Err(error) => return Err(error.into()),
    };
    let named = entries
        .iter()
        .filter(|entry| entry.path.is_dir())
        .filter_map(|entry| ProfileName::from_directory(&entry.name));
    Ok(std::iter::once(ProfileName::default_profile())
        .chain(named)
        .collect())
}

fn summarise(
    location: &Location,
    name: ProfileName,
    current: Option<&ProfileName>,
    aliases: &BTreeMap<ProfileName, Alias>,
) -> ProfileSummary {
    let home = location.profile_home(&name);
    let (model, provider) = model_of(&home);
    let meta = load_meta(&home);
    ProfileSummary {
        is_current: current == Some(&name),
        gateway_pid: gateway_pid(&home),
        model,
        provider,
        has_env: home.join(".env").is_file(),
        has_soul: home.join("SOUL.md").is_file(),
        alias: aliases.get(&name).cloned(),
        distribution: distribution_of(&home),
        description: meta.description,
        description_auto: meta.description_auto,
        gateway_port: meta.gateway_port,
        path: home,
        name,
    }
}

/// `model: name`, or `model: {default: name, provider: name}`. A broken file tells nothing here;
/// the commands that need it complain.
fn model_of(home: &Path) -> (Option<String>, Option<String>) {
    let Some(config) = load_mapping(&home.join("config.yaml")) else {
        return (None, None);
    };
    match config.get("model") {
        Some(model @ Value::Object(_)) => {
            let name = text_at(model, "default").or_else(|| text_at(model, "model"));
            (name, text_at(model, "provider"))
        }
        _ => (text_at(&config, "model"), None),
    }
}
