//! The board tools of a conversation.

use std::sync::Arc;

use hermes_board::DispatchFlags;
use hermes_home::ProfileName;
use hermes_tools::BoardAccess;

use super::check_backend::AssigneeChecks;
use crate::backend::RemoteLease;
use crate::board_settings::dispatch_settings;
use crate::context::Context;
use crate::worker_setup::worker_setup;

/// The board as tools of this conversation use it. Opens nothing.
pub(super) fn access(context: &Context, remote: Option<&Arc<RemoteLease>>) -> BoardAccess {
    let settings = dispatch_settings(context, &DispatchFlags::default());
    let home = crate::board_settings::board_home(context);
    let workers = worker_setup(context, &home, &settings);
    let mut access = BoardAccess::resolve(
        &context.env,
        context.config(),
        &context.location,
        context.current.as_ref().map(ProfileName::as_str),
        &settings,
        workers,
    );
    if remote.is_none() {
        access.directory.clone_from(&context.system.start_dir);
    }
    let checks = AssigneeChecks::of_worker(context, remote);
    access.check_backend = Some(Arc::new(checks));
    if let Some(remote) = remote {
        access.context.workspace.clone_from(&remote.card.workspace);
        access
            .context
            .attachments
            .clone_from(&remote.card.attachments);
    }
    access
}
