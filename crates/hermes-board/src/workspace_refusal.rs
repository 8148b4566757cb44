//! Why a directory cannot be a workspace, with the way out.

use std::path::{Path, PathBuf};

/// Why a directory cannot be a workspace.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{} cannot be a workspace: it {}{why}", path.display(), leads_to(real.as_deref()))]
pub struct WorkspaceRefusal {
    path: PathBuf,
    /// Where the path leads, if that is elsewhere.
    real: Option<PathBuf>,
    /// Completes "it …".
    why: String,
    is_outside: bool,
}

impl WorkspaceRefusal {
    /// `why` continues "it …"; `real` is where the path leads.
    pub(crate) fn new(path: &Path, real: &Path, why: String) -> Self {
        Self {
            path: path.to_owned(),
            real: (hermes_fs::without_dots(path) != real).then(|| real.to_owned()),
            why,
            is_outside: false,
        }
    }

    /// The same for a directory that is not the agent's to choose.
    pub(crate) fn outside(path: &Path, real: &Path, why: String) -> Self {
        Self {
            is_outside: true,
            ..Self::new(path, real, why)
        }
    }

    /// What to do instead.
    pub fn hint(&self) -> &'static str {
        if self.is_outside {
            "choose a directory inside the workspace, or let a person add one to \
             kanban.workspace_roots"
        } else {
            "choose the directory of a project, or leave it out for a scratch workspace"
        }
    }
}

fn leads_to(real: Option<&Path>) -> String {
    match real {
        Some(real) => format!("leads to {}, which ", real.display()),
        None => String::new(),
    }
}
