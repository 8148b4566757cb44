//! The route to a provider that is only asked about its models.

use hermes_config::Config;
use hermes_secret::SecretString;

use super::error::OpenError;
use super::keys::GivenKey;
use super::resolve::{ResolvedRoute, RouteChoice, resolve};

/// Whom to ask, and with which key.
#[derive(Debug, Clone, Copy)]
pub(crate) struct QueryRoute<'a> {
    pub(crate) provider: &'a str,
    pub(crate) base_url: Option<&'a str>,
    pub(crate) key: Option<&'a SecretString>,
}

impl QueryRoute<'_> {
    /// Makes no request.
    pub(crate) fn resolve(&self, config: &Config) -> Result<ResolvedRoute, OpenError> {
        let text = |key: &str| {
            let text = config.text(key).trim();
            (!text.is_empty()).then(|| text.to_owned())
        };
        // The settings of the provider in use are those of the `model:` block.
        let is_configured = config.model().1 == Some(self.provider);
        let given_key = GivenKey {
            api_key: text("model.api_key").map(SecretString::from),
            key_env: text("model.key_env"),
        };
        let choice = RouteChoice {
            provider: Some(self.provider.to_owned()),
            // The list of models is the same for all of them.
            model: Some("any".to_owned()),
            base_url: self.base_url.map(str::to_owned),
            flag_key: self.key.cloned(),
            given_key: if is_configured && self.base_url.is_none() {
                given_key
            } else {
                GivenKey::default()
            },
            from_model_block: is_configured,
            mode: None,
        };
        resolve(config, &choice)
    }
}
