//! What the command line asks for, before settings are looked at.

use hermes_secret::SecretString;

/// Choices that beat the settings. All empty means: as configured.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// `--provider`: an id, an alias, `custom`, `custom:<name>` or a key of `providers:`.
    pub provider: Option<String>,
    /// `-m`: name of the model.
    pub model: Option<String>,
    /// Address of the API, for a route of its own.
    pub base_url: Option<String>,
    /// Key for that address.
    pub api_key: Option<SecretString>,
}
