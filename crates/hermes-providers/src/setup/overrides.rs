//! Model options of the command line.

use hermes_secret::SecretString;

/// Options that override the settings; empty for the configured values.
#[derive(Debug, Clone, Default)]
pub struct ModelOverrides {
    /// `--provider`: an id, an alias, `custom`, `custom:<name>` or a key of `providers:`.
    pub provider: Option<String>,
    /// `-m`: name of the model.
    pub model: Option<String>,
    pub base_url: Option<String>,
    /// Key for this address.
    pub api_key: Option<SecretString>,
}
