//! Which directories cards may be worked on in. Asked when a card is created, when its workspace is
//! made, and again when that is mounted: a directory can be swapped for a link in between.

use std::path::{Path, PathBuf};

use hermes_home::Location;
use hermes_policy::{ProtectedHomes, listed_directory, workspace_refusal};
use hermes_proc::EnvPolicy;

use crate::boards::BoardHome;
use crate::model::{Task, WorkspaceKind};
use crate::workspace_refusal::WorkspaceRefusal;

/// The rules about workspaces.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorkspaceRules {
    homes: ProtectedHomes,
    /// `kanban.workspace_roots`, resolved.
    roots: Vec<PathBuf>,
    /// A sentence for each entry of that setting that does not count.
    pub complaints: Vec<String>,
}

impl WorkspaceRules {
    /// What to do about an entry of `kanban.workspace_roots` that does not count.
    pub const ROOTS_HINT: &str = "name existing directories of projects, with absolute paths";

    /// The rules of an installation. `roots` is the setting `kanban.workspace_roots`.
    pub fn new(
        home: &BoardHome,
        location: &Location,
        policy: &EnvPolicy,
        roots: &[String],
    ) -> Self {
        let homes = protected_homes(home, location, policy);
        let mut rules = Self {
            homes,
            ..Self::default()
        };
        for text in roots {
            match listed_directory(text, &location.user_home, &rules.homes) {
                Ok(root) => rules.roots.push(root),
                Err(why) => rules.complaints.push(format!(
                    "kanban.workspace_roots: '{}' {why}, so it does not count",
                    crate::shown(text, 200)
                )),
            }
        }
        rules
    }

    /// Directories that are never handed over as a whole.
    pub fn homes(&self) -> &ProtectedHomes {
        &self.homes
    }

    /// Whether a directory can be a workspace at all; gives it without links.
    pub fn check(&self, path: &Path) -> Result<PathBuf, WorkspaceRefusal> {
        let real = hermes_fs::resolved(path);
        match workspace_refusal(&real, &self.homes) {
            Some(why) => Err(WorkspaceRefusal::new(path, &real, why)),
            None => Ok(real),
        }
    }

    /// The directory that a workspace which an agent has chosen must lie in, now and later: that of
    /// the agent, or one of the operator's list.
    pub fn root_for_agent(
        &self,
        path: &Path,
        own: Option<&Path>,
    ) -> Result<PathBuf, WorkspaceRefusal> {
        let real = self.check(path)?;
        // Whoever works in a whole home has no workspace in it.
        let own = own.and_then(|own| self.check(own).ok());
        let mut roots = own.iter().chain(&self.roots);
        match roots.find(|root| real.starts_with(root)) {
            Some(root) => Ok(root.clone()),
            None => {
                let why = "lies neither in the workspace of the agent that chose it nor in \
                           kanban.workspace_roots";
                Err(WorkspaceRefusal::outside(path, &real, why.to_owned()))
            }
        }
    }

    /// Whether a card may be worked on in a directory; gives it as it is to be used. A directory
    /// that an agent chose must still be where it was when the card was created.
    pub fn check_for(&self, task: &Task, path: &Path) -> Result<PathBuf, WorkspaceRefusal> {
        let real = self.check(path)?;
        let chosen = task.workspace() != Some(WorkspaceKind::Scratch);
        let root = task.filed_within.as_deref().map(Path::new);
        let root = root.filter(|root| chosen && !root.as_os_str().is_empty());
        match root {
            None => Ok(path.to_owned()),
            Some(root) if real.starts_with(root) => Ok(real),
            Some(root) => {
                let why = format!(
                    "lies outside of {}, where the agent that created the card may choose one",
                    root.display()
                );
                Err(WorkspaceRefusal::outside(path, &real, why))
            }
        }
    }
}

/// The homes of the user and of Hermes, and what every board has of its own.
fn protected_homes(home: &BoardHome, location: &Location, policy: &EnvPolicy) -> ProtectedHomes {
    let child_home = &policy.child_home;
    let mut account_homes = vec![location.user_home.clone()];
    if child_home.real_home_is_known {
        account_homes.push(child_home.real_home().to_owned());
    }
    account_homes.extend(child_home.effective().map(Path::to_owned));
    let mut hermes_homes = vec![location.root.clone(), location.home.clone()];
    // An installation without named profiles has no such directory.
    let profiles = hermes_fs::read_dir(&location.profiles_dir()).unwrap_or_default();
    hermes_homes.extend(profiles.into_iter().map(|entry| entry.path));
    hermes_homes.extend(home.own_directories());
    ProtectedHomes {
        account_homes: distinct(account_homes),
        hermes_homes: distinct(hermes_homes),
    }
}

fn distinct(paths: Vec<PathBuf>) -> Vec<PathBuf> {
    let mut distinct = Vec::with_capacity(paths.len());
    for path in paths {
        if !distinct.contains(&path) {
            distinct.push(path);
        }
    }
    distinct
}
