//! Installing a profile from a distribution: fetched and looked at first, then built like any new
//! profile. An update fetches it again and replaces what is the distribution's: each entry changes
//! places with its successor in one step; the manifest goes last, so that an interrupted update
//! still shows the old version and can be repeated.

use std::path::Path;

use hermes_fs::{Kind, Staging};
use hermes_proc::EnvPlan;

use crate::profiles::create::{build, create_directories, seed, write_seeds};
use crate::profiles::distribution::MANIFEST;
use crate::profiles::source::{FetchedDistribution, fetch};
use crate::profiles::{Distribution, DistributionManifest, manifest_of};
use crate::{Error, HomePolicy, Location, ProfileName, Result, utc_now};

/// Entries that are the user's, whatever a distribution ships under these names.
const USER_OWNED: &[&str] = &[
    ".env",
    "auth.json",
    "auth.lock",
    "profile.yaml",
    "active_profile",
    "processes.json",
    "channel_directory.json",
    "errors.log",
    "memories",
    "sessions",
    "logs",
    "plans",
    "workspace",
    "home",
    "local",
    "pairing",
    "platforms",
    "image_cache",
    "audio_cache",
    "document_cache",
    "browser_screenshots",
    "cache",
    "checkpoints",
    "sandboxes",
    "backups",
    "state-snapshots",
    "kanban",
    "hermes-agent",
    ".worktrees",
    "profiles",
    "bin",
    "node",
    "node_modules",
    "lazy-packages",
    ".git",
    ".managed",
    ".container-mode",
    ".hermes_history",
    ".clean_shutdown",
    ".restart_notify.json",
    ".drain_request.json",
];

/// Template for `.env` as authors ship it, and as users find it.
const ENV_TEMPLATE: &str = ".env.template";
const ENV_EXAMPLE: &str = ".env.EXAMPLE";

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

/// What fetching needs from outside.
#[derive(Debug, Clone, Copy)]
pub struct InstallTools<'a> {
    pub env: &'a EnvPlan,
    /// The version distributions may ask for.
    pub version: &'a str,
}

/// A fetched distribution and what installing it would do.
#[derive(Debug)]
pub struct InstallPlan {
    pub manifest: DistributionManifest,
    pub profile: Location,
    pub name: ProfileName,
    pub exists: bool,
    pub skill_count: usize,
    pub has_cron: bool,
    pub(crate) fetched: FetchedDistribution,
}

/// Fetches a distribution and checks it. Leaves nothing behind but the plan, which cleans up when
/// dropped.
pub fn plan_install(
    location: &Location,
    source: &str,
    name: Option<&str>,
    tools: InstallTools<'_>,
) -> Result<InstallPlan> {
    let fetched = fetch(location, source, tools.env)?;
    let manifest =
        DistributionManifest::load(&fetched.directory, &crate::name::shown(source.trim()))?;
    if let Some(required) = &manifest.hermes_requires {
        check_version(required, tools.version)?;
    }
    let name = ProfileName::parse_new(name.unwrap_or(&manifest.distribution.name))?;
    let profile = location.for_profile(&name);
    Ok(InstallPlan {
        exists: hermes_fs::exists_no_follow(&profile.home),
        skill_count: crate::count_skills(&fetched.directory),
        has_cron: hermes_fs::read_dir(&fetched.directory.join("cron"))
            .is_ok_and(|entries| !entries.is_empty()),
        manifest,
        profile,
        name,
        fetched,
    })
}

/// Installs a plan. An existing profile is refused, or with `force` gets the distribution's files,
/// settings included, and keeps everything that is the user's.
pub fn apply_install(
    location: &Location,
    plan: &InstallPlan,
    force: bool,
    policy: &HomePolicy,
) -> Result<Location> {
    if plan.profile.home.is_dir() && force {
        replace_owned(&plan.profile.home, plan, ConfigChoice::Replace, policy)?;
        return Ok(plan.profile.clone());
    }
    build(location, &plan.name, policy, |staged| {
        copy_owned(plan, staged, ConfigChoice::Replace)?;
        create_directories(staged)?;
        write_seeds(staged)
    })
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
fn replace_owned(
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

/// Copies what belongs to the distribution into an empty directory, the manifest included.
fn copy_owned(plan: &InstallPlan, to: &Path, config: ConfigChoice) -> Result<()> {
    let from = &plan.fetched.directory;
    hermes_fs::copy_tree(from, to, &mut |relative, entry| {
        let at_top = relative.parent() == Some(Path::new(""));
        let name = entry.name.to_str().unwrap_or_default();
        let left_out = at_top
            && (is_user_owned(name)
                || name == MANIFEST
                || name == ENV_TEMPLATE
                || (name == "config.yaml" && config == ConfigChoice::Keep));
        // Links were refused when the distribution was fetched; a directory may change since.
        !left_out && entry.kind != Kind::Symlink
    })?;
    let config_file = to.join("config.yaml");
    if config_file.is_file() {
        hermes_fs::set_mode(&config_file, 0o600)?;
    }
    let example = to.join(ENV_EXAMPLE);
    let template = from.join(ENV_TEMPLATE);
    if hermes_fs::symlink_metadata(&template).is_ok_and(|meta| meta.is_file()) {
        hermes_fs::remove_file_if_present(&example)?;
        hermes_fs::copy_file(&template, &example, 0o600)?;
    } else if let Some(text) = plan.manifest.env_example() {
        seed(&example, &text)?;
    }
    let text = plan
        .manifest
        .installed_text(&plan.name, &plan.fetched.provenance, &utc_now())
        .map_err(|source| Error::Yaml {
            path: from.join(MANIFEST),
            source,
        })?;
    hermes_fs::write_atomic(&to.join(MANIFEST), text.as_bytes(), 0o644)?;
    Ok(())
}

fn is_user_owned(name: &str) -> bool {
    // An unreadable name is given as empty: nothing of an author's is called so.
    name.is_empty()
        || USER_OWNED.contains(&name)
        || name.contains(".db")
        || name.starts_with("gateway")
        || name.starts_with(".gateway")
        || name.starts_with(".update")
}

/// One comparison such as `>=0.12.0`; a bare version means "at least".
fn check_version(required: &str, current: &str) -> Result<()> {
    const OPERATORS: &[&str] = &[">=", "<=", "==", "!=", ">", "<"];
    let required = required.trim();
    let (operator, wanted) = OPERATORS
        .iter()
        .find_map(|operator| Some((*operator, required.strip_prefix(operator)?)))
        .unwrap_or((">=", required));
    let holds =
        version(wanted)
            .zip(version(current))
            .is_some_and(|(wanted, ours)| match operator {
                ">=" => ours >= wanted,
                "<=" => ours <= wanted,
                "==" => ours == wanted,
                "!=" => ours != wanted,
                ">" => ours > wanted,
                _ => ours < wanted,
            });
    if holds {
        Ok(())
    } else {
        Err(Error::Version {
            required: crate::name::shown(required),
            current: current.to_owned(),
        })
    }
}

/// Major, minor and patch; labels behind `-` or `+` do not count.
fn version(text: &str) -> Option<[u64; 3]> {
    let text = text.trim().trim_start_matches('v');
    let text = text.split(['-', '+']).next()?;
    let mut parts = text.split('.');
    let mut version = [0; 3];
    for slot in &mut version {
        *slot = parts.next().unwrap_or("0").trim().parse().ok()?;
    }
    Some(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_requirements() {
        for good in [
            ">=0.12.0",
            "0.12",
            "==0.19.0",
            "<1",
            "!=0.18.0",
            "> v0.12.0-rc1",
        ] {
            assert!(check_version(good, "0.19.0").is_ok(), "{good}");
        }
        for bad in [">=0.20", "==0.12.0", "<0.19.0", ">0.19.0", "banana", ">="] {
            assert!(check_version(bad, "0.19.0").is_err(), "{bad}");
        }
    }

    #[test]
    fn what_is_the_users_stays_the_users() {
        for name in [
            ".env",
            "memories",
            "state.db",
            "kanban.db-wal",
            "gateway.lock",
            ".gateway-takeover.json",
        ] {
            assert!(is_user_owned(name), "{name}");
        }
        for name in [
            "SOUL.md",
            "skills",
            "cron",
            "mcp.json",
            "config.yaml",
            "scripts",
            "README.md",
        ] {
            assert!(!is_user_owned(name), "{name}");
        }
    }
}
