//! The settings of boards.

use hermes_board::boards::{BoardHome, ServerSettings};
use hermes_board::{DispatchFlags, KanbanSettings, WorkspaceRules};

use crate::context::Context;
use crate::log_once::warn_once;

/// The settings of boards.
pub fn kanban_settings(context: &Context) -> KanbanSettings {
    resolve(context, &DispatchFlags::default())
}

/// The settings of the dispatcher, with flags over them.
pub fn dispatch_settings(context: &Context, flags: &DispatchFlags) -> KanbanSettings {
    let settings = resolve(context, flags);
    warn_once(&settings.complaints);
    settings
}

fn resolve(context: &Context, flags: &DispatchFlags) -> KanbanSettings {
    KanbanSettings::resolve(context.config(), &context.env, memory_bytes(), flags)
}

/// The boards of this installation, in files or on servers.
pub fn board_home(context: &Context) -> BoardHome {
    let servers = ServerSettings::resolve(context.config(), &context.env, &context.location);
    BoardHome::resolve(&context.env, &context.location).on_servers(servers)
}

/// Where cards may be worked on.
pub fn workspace_rules(context: &Context) -> WorkspaceRules {
    let home = board_home(context);
    rules(context, &home, &kanban_settings(context).workspace_roots)
}

/// The same on the boards of a home, with these directories listed by the operator.
pub(crate) fn rules(context: &Context, home: &BoardHome, roots: &[String]) -> WorkspaceRules {
    let environment = context.environment();
    WorkspaceRules::new(home, &context.location, environment.policy(), roots)
}

/// Memory of this machine.
fn memory_bytes() -> Option<u64> {
    let info = rustix::system::sysinfo();
    info.totalram.checked_mul(u64::from(info.mem_unit))
}
