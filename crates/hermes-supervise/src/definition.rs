//! What a service manager has to know about a gateway. Units and property lists are made from this.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hermes_config::Config;
use hermes_home::{HomeKind, Location};
use hermes_proc::env::STANDARD_DIRECTORIES;
use sha2::{Digest as _, Sha256};

/// Directories below a home in which people keep programs.
const OF_PEOPLE: &[&str] = &[".local/bin", ".cargo/bin", "go/bin", ".npm-global/bin"];

/// Where nothing lasts.
const TEMPORARY: &[&str] = &["/tmp", "/var/tmp"];

/// A gateway, as a manager runs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GatewayDefinition {
    /// The program, absolute.
    pub program: String,
    /// The profile, where it has a name.
    pub profile: Option<String>,
    /// What tells this service from others of the machine; empty for the default profile.
    pub suffix: String,
    /// `HERMES_HOME`.
    pub home: String,
    /// `PATH`.
    pub path: String,
    /// How long a stopping gateway waits for its work.
    pub drain: Duration,
    /// How often systemd wants to hear of it.
    pub watchdog: Option<Duration>,
}

/// Why a gateway cannot be a service.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DefinitionError {
    #[error("the home {} is in a directory for temporary files, where a service would lose it", .0.display())]
    TemporaryHome(PathBuf),
    #[error("the path {} has characters that a service definition cannot hold", .0.display())]
    UnusualPath(PathBuf),
}

impl DefinitionError {
    /// What the user can do next.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::TemporaryHome(_) => "set HERMES_HOME to a directory that lasts, or unset it",
            Self::UnusualPath(_) => "move it to a path of printable characters",
        }
    }
}

impl GatewayDefinition {
    /// The service of the home in use. `path` is the caller's `PATH`.
    pub fn new(
        program: &Path,
        location: &Location,
        path: Option<&OsStr>,
        drain: Duration,
        watchdog: Option<Duration>,
    ) -> Result<Self, DefinitionError> {
        let home =
            hermes_fs::canonicalize(&location.home).unwrap_or_else(|_| location.home.clone());
        let temporary = std::env::temp_dir();
        let mut places = TEMPORARY.iter().map(Path::new).chain([temporary.as_path()]);
        if places.any(|place| home.starts_with(place)) {
            return Err(DefinitionError::TemporaryHome(home));
        }
        Ok(Self {
            program: text(program)?,
            profile: match &location.kind {
                HomeKind::Named(name) => Some(name.to_string()),
                HomeKind::Default | HomeKind::Custom => None,
            },
            suffix: suffix(location, &home),
            path: search_path(program, &location.user_home, path)?,
            home: text(&home)?,
            drain,
            watchdog,
        })
    }

    /// What follows the program on its command line.
    pub(crate) fn arguments(&self) -> Vec<&str> {
        let profile = self.profile.iter().flat_map(|name| ["--profile", name]);
        profile.chain(["gateway", "run"]).collect()
    }

    /// The service, as people call it.
    pub(crate) fn described(&self) -> String {
        match &self.profile {
            Some(name) => format!("Hermes gateway of profile {name}"),
            None => "Hermes gateway".to_owned(),
        }
    }

    /// `base`, with what tells this service from others.
    pub(crate) fn named(&self, base: &str) -> String {
        match self.suffix.as_str() {
            "" => base.to_owned(),
            suffix => format!("{base}-{suffix}"),
        }
    }

    /// How long the manager waits for a gateway that stops.
    pub(crate) fn stop_limit(&self) -> Duration {
        stop_limit(self.drain)
    }
}

/// How long a stopping gateway waits for its work, by these settings.
pub fn drain_timeout(config: &Config) -> Duration {
    let seconds = config.number("agent.restart_drain_timeout");
    let seconds = seconds.unwrap_or_default().clamp(0.0, 86_400.0);
    Duration::try_from_secs_f64(seconds).unwrap_or_default()
}

/// How long a manager waits for a gateway that waits this long for its work.
pub(crate) fn stop_limit(drain: Duration) -> Duration {
    drain + Duration::from_secs(30)
}

/// What tells the service of a home from others of the machine.
fn suffix(location: &Location, home: &Path) -> String {
    match &location.kind {
        HomeKind::Default => String::new(),
        HomeKind::Named(name) => name.to_string(),
        HomeKind::Custom => {
            let mut digest = hermes_fs::hex(&Sha256::digest(home.as_os_str().as_encoded_bytes()));
            digest.truncate(8);
            digest
        }
    }
}

/// Where a gateway looks for programs. A manager starts it without anybody's profile, so what the
/// caller has in the usual places counts.
fn search_path(
    program: &Path,
    user_home: &Path,
    path: Option<&OsStr>,
) -> Result<String, DefinitionError> {
    let own = program.parent().map(Path::to_owned);
    // As it was found: a link that a version manager turns is worth more than where it points now.
    let node = hermes_proc::find_on_path(OsStr::new("node"), path);
    let node = node.and_then(|node| node.parent().map(Path::to_owned));
    let of_people = OF_PEOPLE.iter().map(|name| user_home.join(name));
    let of_windows: Vec<PathBuf> = path
        .map(|path| std::env::split_paths(path).collect())
        .unwrap_or_default();
    let of_windows = of_windows.into_iter().filter(|entry| is_of_windows(entry));
    let mut entries: Vec<String> = Vec::new();
    let all = own
        .into_iter()
        .chain(node)
        .chain(of_people.filter(|entry| entry.is_dir()))
        .chain(of_windows)
        .chain(STANDARD_DIRECTORIES.iter().map(PathBuf::from));
    for entry in all {
        let entry = text(&entry)?;
        if !entry.contains(':') && !entries.contains(&entry) {
            entries.push(entry);
        }
    }
    Ok(entries.join(":"))
}

/// Whether an entry leads to the programs of the Windows around a Linux.
fn is_of_windows(entry: &Path) -> bool {
    let entry = entry.to_string_lossy().to_lowercase();
    entry.starts_with("/mnt/") && entry.contains("/windows")
}

/// The path as text that fits on one line.
pub(crate) fn text(path: &Path) -> Result<String, DefinitionError> {
    let unusual = || DefinitionError::UnusualPath(path.to_owned());
    let text = path.to_str().ok_or_else(unusual)?;
    if text.chars().any(char::is_control) {
        return Err(unusual());
    }
    Ok(text.to_owned())
}

#[cfg(test)]
#[path = "definition_tests.rs"]
mod tests;
