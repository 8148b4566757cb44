//! Records that gateways leave in a home.

use std::path::Path;

use serde_json::Value;

/// Records are a few hundred bytes; the state file lists platforms and stays below this too.
const RECORD_LIMIT: u64 = 1024 * 1024;

/// What a file says.
pub(crate) fn load(path: &Path) -> Option<Value> {
    // Missing, unreadable or torn: to a probe all three mean that nothing is known.
    let bytes = hermes_fs::read_optional(path, RECORD_LIMIT)
        .ok()
        .flatten()?;
    serde_json::from_slice(&bytes).ok()
}
