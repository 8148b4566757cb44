//! What all conversations of a process share: the servers, and the guard that ends them.

use std::ffi::OsString;
use std::sync::{Arc, OnceLock};

use hermes_mcp::McpPool;
use hermes_terminal::background::CrashGuard;

/// The servers of a process.
#[derive(Debug, Default)]
pub(crate) struct McpShared {
    pub(crate) pool: Arc<McpPool>,
    guard: OnceLock<Option<Arc<CrashGuard>>>,
}

impl McpShared {
    /// The process that ends servers should this one be killed. Without one they run all the same,
    /// and only the kernel ends them.
    pub(crate) fn guard(&self, supervisor: &[OsString]) -> Option<&Arc<CrashGuard>> {
        let start = || {
            let started = CrashGuard::start(supervisor);
            let started =
                started.inspect_err(|error| tracing::warn!(%error, "MCP servers are not guarded"));
            started.ok().map(Arc::new)
        };
        self.guard.get_or_init(start).as_ref()
    }
}
