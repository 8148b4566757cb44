//! The settings of boards and their workers.

use std::path::Path;
use std::sync::Arc;

use hermes_board::boards::BoardHome;
use hermes_board::dispatch::WorkerSetup;
use hermes_board::{DispatchFlags, KanbanSettings};
use hermes_config::{Config, Environment, Sources, vars};
use hermes_tools::ToolSelection;

use crate::context::Context;

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

/// How this process starts workers.
pub fn worker_setup(context: &Context, home: &BoardHome, settings: &KanbanSettings) -> WorkerSetup {
    let policy = context.environment().policy().clone();
    let env = context.env.clone();
    WorkerSetup {
        toolsets: Arc::new(move |home| toolsets_of(&env, home)),
        ..WorkerSetup::new(
            &context.env,
            home,
            &context.location,
            policy,
            settings.worker_log,
        )
    }
}

/// The toolsets that a profile uses on the command line.
fn toolsets_of(env: &Environment, home: &Path) -> Vec<String> {
    let env = env.with(&vars::HERMES_HOME, home.as_os_str());
    let config = Config::load_read_only(&Sources::new(&env, home));
    let selection = ToolSelection::resolve(&config, &env, "cli", None);
    selection.expanded().into_iter().collect()
}

/// Memory of this machine.
fn memory_bytes() -> Option<u64> {
    let info = rustix::system::sysinfo();
    info.totalram.checked_mul(u64::from(info.mem_unit))
}
