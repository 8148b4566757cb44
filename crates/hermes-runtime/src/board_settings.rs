//! The settings of boards and their workers.

use std::path::Path;
use std::sync::Arc;

use hermes_board::boards::BoardHome;
use hermes_board::dispatch::{Preflight, WorkerNeeds, WorkerProfile, WorkerSetup};
use hermes_board::{DispatchFlags, KanbanSettings, WorkspaceRules};
use hermes_tools::ToolSelection;

use crate::context::Context;
use crate::preflight::preflight;

/// The settings of boards.
pub fn kanban_settings(context: &Context) -> KanbanSettings {
    resolve(context, &DispatchFlags::default())
}

/// The settings of the dispatcher, with flags over them.
pub fn dispatch_settings(context: &Context, flags: &DispatchFlags) -> KanbanSettings {
    let settings = resolve(context, flags);
    for complaint in &settings.complaints {
        tracing::warn!("{complaint}");
    }
    settings
}

fn resolve(context: &Context, flags: &DispatchFlags) -> KanbanSettings {
    KanbanSettings::resolve(context.config(), &context.env, memory_bytes(), flags)
}

/// Where cards may be worked on.
pub fn workspace_rules(context: &Context) -> WorkspaceRules {
    let home = BoardHome::resolve(&context.env, &context.location);
    rules(context, &home, &kanban_settings(context).workspace_roots)
}

fn rules(context: &Context, home: &BoardHome, roots: &[String]) -> WorkspaceRules {
    let environment = context.environment();
    WorkspaceRules::new(home, &context.location, environment.policy(), roots)
}

/// How this process starts workers.
pub fn worker_setup(context: &Context, home: &BoardHome, settings: &KanbanSettings) -> WorkerSetup {
    let policy = context.environment().policy().clone();
    let workspaces = rules(context, home, &settings.workspace_roots);
    for complaint in &workspaces.complaints {
        tracing::warn!("{complaint}");
    }
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

/// Memory of this machine.
fn memory_bytes() -> Option<u64> {
    let info = rustix::system::sysinfo();
    info.totalram.checked_mul(u64::from(info.mem_unit))
}
