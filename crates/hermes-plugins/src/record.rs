//! Where each installed plugin came from: `<home>/.plugins/installed.json`. It lies beside the plugins
//! and not among them, so that nobody takes it for one.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::origin::Origin;

const MOST_BYTES: u64 = 4 << 20;

/// What is known of the plugins that were installed.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Records {
    schema: u32,
    #[serde(default)]
    pub(crate) plugins: BTreeMap<String, PluginRecord>,
}

/// What is known of one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PluginRecord {
    pub(crate) origin: Origin,
    /// The commit that is in place.
    pub(crate) commit: Option<String>,
    /// The commit of the copy that was in place before.
    #[serde(default)]
    pub(crate) previous: Option<String>,
    pub(crate) installed_at: String,
}

impl Records {
    /// Those on disk; none if the file is missing or cannot be read.
    pub(crate) fn load(file: &Path) -> Self {
        let bytes = hermes_fs::read_optional(file, MOST_BYTES).ok().flatten();
        let records = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        records.unwrap_or_default()
    }

    pub(crate) fn save(&mut self, file: &Path) -> Result<()> {
        self.schema = 1;
        let text = serde_json::to_string_pretty(self).unwrap_or_default();
        Ok(hermes_fs::write_atomic_exact(
            file,
            format!("{text}\n").as_bytes(),
            0o600,
        )?)
    }
}
