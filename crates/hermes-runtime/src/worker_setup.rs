//! How workers are started, by the settings of their profiles.

use std::path::Path;
use std::sync::Arc;

use hermes_board::KanbanSettings;
use hermes_board::boards::BoardHome;
use hermes_board::dispatch::{Preflight, WorkerNeeds, WorkerProfile, WorkerSetup};
use hermes_tools::ToolSelection;

use crate::board_settings::rules;
use crate::context::Context;
use crate::log_once::warn_once;
use crate::preflight::preflight;

/// How this process starts workers.
pub fn worker_setup(context: &Context, home: &BoardHome, settings: &KanbanSettings) -> WorkerSetup {
    let policy = context.environment().policy().clone();
    let workspaces = rules(context, home, &settings.workspace_roots);
    warn_once(&workspaces.complaints);
    let own = policy.hermes_program.clone();
    let setup = WorkerSetup::new(
        &context.env,
        home,
        &context.location,
        policy,
        settings.worker_log,
    );
    let is_own = setup.program == own || is_same_file(&setup.program, &own);
    let (profiles, workers) = (context.clone(), context.clone());
    WorkerSetup {
        workspaces,
        profile_of: Arc::new(move |home| profile_of(&profiles, home)),
        preflight: is_own.then(|| -> Preflight {
            Arc::new(move |needs: &WorkerNeeds| preflight(&workers, needs))
        }),
        ..setup
    }
}

fn is_same_file(one: &Path, other: &Path) -> bool {
    let path = hermes_fs::canonicalize(one).ok();
    path.is_some() && path == hermes_fs::canonicalize(other).ok()
}

/// What the profile with this home has configured for its workers.
fn profile_of(context: &Context, home: &Path) -> WorkerProfile {
    let context = context.in_home(home);
    let selection = ToolSelection::resolve(context.config(), &context.env, "cli", None);
    WorkerProfile {
        toolsets: selection.expanded().into_iter().collect(),
        env_passthrough: context.environment().policy().passthrough.clone(),
    }
}
