//! `PATH` of a child: which directories are searched, and where each of them comes from.
//!
//! A login shell often replaces `PATH` (Debian's `/etc/profile` does), so that programs its caller
//! finds would not be found in the session. What the caller has and the login shell left out is
//! therefore searched after it.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::path_value::{entries, joined};
use super::policy::EnvPolicy;
use super::rule::Rule;
use crate::find_on_path;

/// Where Homebrew has its programs.
const HOMEBREW_DIRECTORIES: [&str; 2] = ["/opt/homebrew/bin", "/opt/homebrew/sbin"];

/// Directories that hold programs on every system.
pub const STANDARD_DIRECTORIES: [&str; 6] = [
    "/usr/local/sbin",
    "/usr/local/bin",
    "/usr/sbin",
    "/usr/bin",
    "/sbin",
    "/bin",
];

/// Where an entry of a search path comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PathOrigin {
    /// The directory with the link to the running program.
    HermesLink,
    LoginShell,
    /// A command of the session added the entry.
    Session,
    /// The `PATH` that Hermes itself was started with.
    Caller,
    /// The fixed list of the system's directories.
    System,
}

impl PathOrigin {
    /// Stable name for programs.
    pub fn id(self) -> &'static str {
        match self {
            Self::HermesLink => "hermes-link",
            Self::LoginShell => "login-shell",
            Self::Session => "session-state",
            Self::Caller => "caller",
            Self::System => "system",
        }
    }

    /// A few words for a table.
    pub fn text(self) -> &'static str {
        match self {
            Self::HermesLink => "link to the running hermes",
            Self::LoginShell => "login shell",
            Self::Session => "set earlier in this session",
            Self::Caller => "PATH that Hermes started with",
            Self::System => "directory of the system",
        }
    }
}

/// A search path entry by entry, and what was left out of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SearchPath {
    pub entries: Vec<(OsString, PathOrigin)>,
    pub dropped: Vec<(OsString, Rule)>,
}

/// What a search path is put together from.
#[derive(Clone, Copy)]
pub(super) struct PathSources<'a> {
    pub(super) caller: Option<&'a OsStr>,
    /// `PATH` at the end of the login shell, if that changed it.
    pub(super) login: Option<&'a OsStr>,
    /// `PATH` as commands of the session left it, if they changed it: then it is whole.
    pub(super) session: Option<&'a OsStr>,
    /// Directories of activated environments whose markers the child does not get.
    pub(super) deactivated: &'a [PathBuf],
}

impl SearchPath {
    /// No empty entries (they mean the current directory), no duplicates, nothing of an own install,
    /// the system's directories, and a `hermes` that is the running one.
    pub(super) fn build(sources: &PathSources<'_>, policy: &EnvPolicy) -> Self {
        let mut path = Self::default();
        if let Some(value) = sources.login {
            path.add(value, PathOrigin::LoginShell, &[], policy);
        }
        if let Some(value) = sources.caller {
            path.add(value, PathOrigin::Caller, sources.deactivated, policy);
        }
        path.add_system_directories(policy);
        if let Some(value) = sources.session {
            path = path.reordered(value, policy);
        }
        path.lead_to_running_program(policy);
        path
    }

    fn add(
        &mut self,
        value: &OsStr,
        origin: PathOrigin,
        deactivated: &[PathBuf],
        policy: &EnvPolicy,
    ) {
        for entry in entries(value).filter(|entry| !entry.is_empty()) {
            let rule = if policy.own_install.contains(Path::new(entry)) {
                Some(Rule::OwnInstall)
            } else if deactivated.iter().any(|one| one == Path::new(entry)) {
                Some(Rule::ActivationMarker)
            } else {
                None
            };
            match rule {
                _ if self.origin_of(entry).is_some() => {}
                Some(rule) => self.dropped.push((entry.to_owned(), rule)),
                None => self.entries.push((entry.to_owned(), origin)),
            }
        }
    }

    fn origin_of(&self, directory: &OsStr) -> Option<PathOrigin> {
        let known = self.entries.iter().find(|(entry, _)| entry == directory);
        known.map(|(_, origin)| *origin)
    }

    /// The path that a session set, whose entries come from where they came from before; then the
    /// system's directories.
    fn reordered(self, value: &OsStr, policy: &EnvPolicy) -> Self {
        let mut path = Self {
            dropped: self.dropped.clone(),
            ..Self::default()
        };
        for entry in entries(value) {
            let origin = self.origin_of(entry).unwrap_or(PathOrigin::Session);
            path.add(entry, origin, &[], policy);
        }
        path.add_system_directories(policy);
        path
    }

    /// Appends where programs are on every system we know, as far as it is missing.
    fn add_system_directories(&mut self, policy: &EnvPolicy) {
        for directory in HOMEBREW_DIRECTORIES.iter().chain(&STANDARD_DIRECTORIES) {
            self.add(OsStr::new(directory), PathOrigin::System, &[], policy);
        }
    }

    /// Puts the directory with the link first, if another `hermes` or none would be found.
    fn lead_to_running_program(&mut self, policy: &EnvPolicy) {
        let link_dir = policy.link_dir();
        if !resolves_to_running(&self.value(), policy) {
            self.entries.retain(|(entry, _)| *entry != link_dir);
            let first = (link_dir.into_os_string(), PathOrigin::HermesLink);
            self.entries.insert(0, first);
        } else if let Some(entry) = self.entries.iter_mut().find(|(one, _)| *one == link_dir) {
            entry.1 = PathOrigin::HermesLink;
        }
    }

    /// The value of `PATH`.
    pub(super) fn value(&self) -> OsString {
        joined(self.entries.iter().map(|(entry, _)| entry.as_os_str()))
    }

    /// For programs: the entries in their order, and what was left out.
    pub(super) fn to_json(&self) -> Value {
        let entries = self.entries.iter().map(|(directory, origin)| {
            json!({
                "directory": directory.to_string_lossy(),
                "from": origin.id(),
            })
        });
        let dropped = self.dropped.iter().map(|(directory, rule)| {
            json!({
                "directory": directory.to_string_lossy(),
                "rule": rule.id(),
            })
        });
        json!({
            "entries": entries.collect::<Vec<_>>(),
            "dropped": dropped.collect::<Vec<_>>(),
        })
    }
}

fn resolves_to_running(path: &OsStr, policy: &EnvPolicy) -> bool {
    let real = |path: &Path| hermes_fs::canonicalize(path).ok();
    let found: Option<PathBuf> = find_on_path(OsStr::new("hermes"), Some(path));
    found.is_some_and(|found| real(&found).is_some_and(|f| Some(f) == real(&policy.hermes_program)))
}

#[cfg(test)]
#[path = "search_path_tests.rs"]
mod tests;
