//! The policy: from settings and facts to what is allowed, with a reason for everything.

use std::path::{Path, PathBuf};

use hermes_proc::sandbox::{Network, SandboxPlan};

use super::caches::caches_in;
use super::facts::SandboxFacts;
use super::git::metadata_of;
use super::hidden::{hidden, sockets};
use super::look::{Look, Looked};
use super::settings::SandboxSettings;
use crate::private_places::{Access, in_hermes_home, in_home, on_machine};
use crate::workspace::{ProtectedHomes, covered_home};

/// Why a path may be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteReason {
    Workspace,
    Temporary,
    /// Metadata of the git repository that the workspace belongs to.
    Git,
    /// A toolchain's cache.
    Cache,
    /// `terminal.sandbox_write`
    Setting,
}

impl WriteReason {
    /// A word for people and programs.
    pub fn word(self) -> &'static str {
        match self {
            Self::Workspace => "workspace",
            Self::Temporary => "temporary",
            Self::Git => "git",
            Self::Cache => "cache",
            Self::Setting => "setting",
        }
    }
}

/// A path that may be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Writable {
    pub path: PathBuf,
    pub reason: WriteReason,
}

/// What sandboxed commands may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxPolicy {
    pub writable: Vec<Writable>,
    /// Below what may be written, and yet as it is.
    pub protected: Vec<PathBuf>,
    pinned: Vec<PathBuf>,
    pub hidden: Vec<PathBuf>,
    pub sockets: Vec<PathBuf>,
    pub network: Network,
    /// Directories to make before the first command.
    pub create: Vec<PathBuf>,
    /// What was asked for and is not allowed, and why.
    pub warnings: Vec<String>,
}

impl SandboxPolicy {
    /// The policy of these settings on this machine, and what it looked at. Changes nothing.
    pub fn resolve(settings: &SandboxSettings, facts: &SandboxFacts) -> (Self, Looked) {
        let look = Look::default();
        (Self::with(settings, facts, &look), look.end())
    }

    fn with(settings: &SandboxSettings, facts: &SandboxFacts, look: &Look) -> Self {
        let facts = &resolved(facts, look);
        let mut policy = Self {
            writable: Vec::new(),
            protected: Vec::new(),
            pinned: Vec::new(),
            hidden: hidden(facts, look),
            sockets: sockets(facts, look),
            network: settings.network,
            create: Vec::new(),
            warnings: settings.warnings.clone(),
        };
        match refusal(&facts.workspace, facts, look) {
            None => policy.allow_tree(&facts.workspace, WriteReason::Workspace, look),
            Some(why) => policy.warnings.push(format!(
                "the working directory {} {why}, so sandboxed commands cannot write there; work in a \
                 directory below it",
                facts.workspace.display()
            )),
        }
        if let Some(temporary) = &facts.temporary {
            policy.allow(temporary.clone(), WriteReason::Temporary);
        }
        for home in &facts.account_homes {
            let (directories, locks) = caches_in(home, look);
            for directory in directories {
                if !look.is_dir(&directory) {
                    policy.create.push(directory.clone());
                }
                policy.allow(without_links(&directory, look), WriteReason::Cache);
            }
            for lock in locks {
                policy.allow(without_links(&lock, look), WriteReason::Cache);
            }
        }
        for text in &settings.write {
            match listed(text, facts, look) {
                Ok(path) => policy.allow_tree(&path, WriteReason::Setting, look),
                Err(why) => policy
                    .warnings
                    .push(format!("terminal.sandbox_write: {text} {why}; left out")),
            }
        }
        policy
    }

    /// The same for the kernel.
    pub fn plan(&self) -> SandboxPlan {
        SandboxPlan {
            writable: self.writable.iter().map(|it| it.path.clone()).collect(),
            protected: self.protected.clone(),
            pinned: self.pinned.clone(),
            hidden: self.hidden.clone(),
            sockets: self.sockets.clone(),
            network: self.network,
        }
    }

    fn allow(&mut self, path: PathBuf, reason: WriteReason) {
        if !self.writable.iter().any(|known| known.path == path) {
            self.writable.push(Writable { path, reason });
        }
    }

    /// Allows a directory and what its repository needs.
    fn allow_tree(&mut self, path: &Path, reason: WriteReason, look: &Look) {
        self.allow(path.to_owned(), reason);
        let git = metadata_of(path, look);
        for path in git.writable {
            self.allow(path, WriteReason::Git);
        }
        self.protected.extend(git.protected);
        self.pinned.extend(git.pinned);
        self.create.extend(git.create);
    }
}

/// The facts without links. A path that is gone stays as it is.
fn resolved(facts: &SandboxFacts, look: &Look) -> SandboxFacts {
    let all = |paths: &[PathBuf]| {
        let mut all: Vec<PathBuf> = Vec::new();
        for path in paths.iter().map(|path| without_links(path, look)) {
            if !all.contains(&path) {
                all.push(path);
            }
        }
        all
    };
    SandboxFacts {
        workspace: without_links(&facts.workspace, look),
        temporary: facts
            .temporary
            .as_deref()
            .map(|path| without_links(path, look)),
        account_homes: all(&facts.account_homes),
        hermes_homes: all(&facts.hermes_homes),
        ssh_agent: facts.ssh_agent.clone(),
        is_root: facts.is_root,
    }
}

fn without_links(path: &Path, look: &Look) -> PathBuf {
    look.resolved(path).unwrap_or_else(|| path.to_owned())
}

/// A path of the setting, or why it is not allowed.
fn listed(text: &str, facts: &SandboxFacts, look: &Look) -> Result<PathBuf, String> {
    let text = text.trim();
    let path = match (text.strip_prefix("~/"), facts.account_homes.first()) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(text),
    };
    if !path.is_absolute() {
        return Err("is not an absolute path".to_owned());
    }
    let path = look
        .resolved(&path)
        .ok_or_else(|| "does not exist".to_owned())?;
    match refusal(&path, facts, look) {
        Some(why) => Err(why),
        None => Ok(path),
    }
}

/// Why a resolved path can never be written by sandboxed commands: continues "it …".
fn refusal(path: &Path, facts: &SandboxFacts, look: &Look) -> Option<String> {
    if look.resolved(path).is_none() {
        return Some("does not exist".to_owned());
    }
    let homes = ProtectedHomes {
        account_homes: facts.account_homes.clone(),
        hermes_homes: facts.hermes_homes.clone(),
    };
    if let Some(why) = covered_home(path, &homes) {
        return Some(why.to_owned());
    }
    for home in &facts.hermes_homes {
        if let Ok(inside) = path.strip_prefix(home)
            && let Some(place) = in_hermes_home(inside)
            && place.refuses(Access::Write)
        {
            return Some(place.description().to_owned());
        }
    }
    for home in &facts.account_homes {
        if let Ok(inside) = path.strip_prefix(home)
            && let Some(place) = in_home(inside)
            && place.refuses(Access::Write)
        {
            return Some(place.description().to_owned());
        }
    }
    let place = on_machine(path).filter(|place| place.refuses(Access::Write));
    place.map(|place| place.description().to_owned())
}

#[cfg(test)]
#[path = "policy_tests.rs"]
mod tests;
