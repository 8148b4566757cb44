//! Copying a home into one under construction.
//!
//! Links are copied as links and never followed; a database is never copied as a file while someone
//! may be writing to it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use hermes_fs::{Entry, Kind};

use crate::database::is_database;
use crate::location::follow;
use crate::profiles::meta::remove_gateway_port;
use crate::{Error, Location, Result};

/// Files a clone of the settings takes.
const SETTINGS: &[&str] = &[
    "config.yaml",
    ".env",
    "SOUL.md",
    "memories/MEMORY.md",
    "memories/USER.md",
];

/// History of the source.
const HISTORY: &[&str] = &["sessions", "backups", "state-snapshots", "checkpoints"];

/// What the default profile's home holds for the whole installation.
const INSTALLATION: &[&str] = &[
    "hermes-agent",
    ".worktrees",
    "profiles",
    "bin",
    "node_modules",
    "active_profile",
];

/// What a running process of the source keeps about itself, and messages to it.
const RUNTIME: &[&str] = &[
    "gateway.pid",
    "gateway.lock",
    "gateway_state.json",
    "gateway_state.json.lock",
    "gateway-starts.log",
    // Interrupted runs in it go on in their own home, and nowhere else.
    "api_turns.db",
    "processes.json",
    ".gateway-takeover.json",
    ".gateway-planned-stop.json",
    ".drain_request.json",
    ".clean_shutdown",
    ".restart_notify.json",
];

/// Endings of files that can be made again or mean nothing elsewhere.
const DISPOSABLE: &[&str] = &["pyc", "pyo", "sock", "tmp"];

/// Copies settings, secrets, persona, skills and curated memory.
pub(crate) fn settings(source: &Path, staged: &Path) -> Result<()> {
    for name in SETTINGS {
        let from = source.join(name);
        // Following links here: a settings file kept elsewhere is copied by content.
        if from.is_file() {
            hermes_fs::copy_file(&from, &staged.join(name), 0o600)?;
        }
    }
    let skills = source.join("skills");
    if skills.is_dir() {
        hermes_fs::copy_tree(&skills, &staged.join("skills"), &mut |_, _| true)?;
    }
    Ok(())
}

/// Copies everything that is not history, installation or runtime.
pub(crate) fn everything(source: &Path, staged: &Path, location: &Location) -> Result<()> {
    let is_root = follow(source) == follow(&location.root);
    let mut databases: Vec<PathBuf> = Vec::new();
    hermes_fs::copy_tree(source, staged, &mut |relative, entry| {
        let wanted = !is_left_out(relative, entry, is_root);
        if wanted && entry.kind == Kind::File && is_database(relative) {
            databases.push(relative.to_owned());
            return false;
        }
        wanted
    })?;
    for relative in databases {
        let (from, to) = (source.join(&relative), staged.join(&relative));
        match hermes_store::backup_to(&from, &to) {
            Ok(_) => {}
            Err(hermes_store::Error::NotADatabase { .. }) => {
                hermes_fs::copy_file(&from, &to, 0o600)?;
            }
            Err(error) => {
                return Err(Error::Step {
                    action: "copy the database",
                    path: from,
                    source: error.into(),
                });
            }
        }
    }
    let env = staged.join(".env");
    if hermes_fs::symlink_metadata(&env).is_ok_and(|meta| meta.is_file()) {
        hermes_fs::set_mode(&env, 0o600)?;
    }
    if hermes_fs::symlink_metadata(&staged.join("profile.yaml")).is_ok_and(|meta| meta.is_file()) {
        remove_gateway_port(staged)?;
    }
    Ok(())
}

fn is_left_out(relative: &Path, entry: &Entry, is_root: bool) -> bool {
    // Names that are not Unicode match none of ours.
    let name = entry.name.to_str().unwrap_or_default();
    let at_top = relative.parent() == Some(Path::new(""));
    let by_ending = Path::new(name)
        .extension()
        .and_then(OsStr::to_str)
        .is_some_and(|ending| DISPOSABLE.contains(&ending));
    name == "__pycache__"
        // The log and its index belong to the database file and go with its copy.
        || hermes_store::is_sidecar_name(name)
        || (by_ending && entry.kind != Kind::Dir)
        || (at_top
            && (HISTORY.contains(&name)
                || name.starts_with("state.db")
                || RUNTIME.contains(&name)
                || name.starts_with(".update_")
                || name.starts_with(".update.tmp-")
                || (is_root && INSTALLATION.contains(&name))))
}
