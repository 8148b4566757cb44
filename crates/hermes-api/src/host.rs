//! What the server needs of the process that hosts it.

use std::sync::Arc;

use hermes_runtime::Context;

/// The process around the server, usually a gateway.
pub trait ApiHost: Send + Sync + 'static {
    /// The profile with the settings in effect now. Conversations that are opened from now on use
    /// them; those kept open under an earlier context are opened anew.
    fn context(&self) -> Arc<Context>;

    /// Whether no new turns are to be begun.
    fn is_draining(&self) -> bool {
        false
    }

    /// Is told how many turns are on their way, whenever that changes.
    fn set_active(&self, _turns: usize) {}
}
