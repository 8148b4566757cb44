//! The model of sub-agents, where `delegation` names another one than that of the conversation.
//!
//! A key goes only to the host it was given for: the key of the conversation is not sent to
//! `delegation.base_url`.

use std::sync::Arc;

use hermes_config::Config;
use hermes_secret::SecretString;

use super::choose::choice;
use super::error::OpenError;
use super::open::open_choice;
use super::overrides::ModelOverrides;
use super::resolve::RouteChoice;
use crate::provider::Provider;
use crate::route::ApiMode;

/// The provider that `delegation` names; `None` if it names none. `main` are the command line
/// overrides of the conversation.
pub(super) fn open(
    config: &Config,
    main: &ModelOverrides,
) -> Result<Option<Arc<dyn Provider>>, OpenError> {
    let Some(mut wanted) = delegated_choice(config, main) else {
        return Ok(None);
    };
    match open_choice(config, &wanted) {
        // A provider without a model of its own is asked for that of the conversation.
        Err(OpenError::NoModel { .. }) if wanted.model.is_none() => {
            let (configured, _) = config.model();
            let configured = configured.map(str::to_owned);
            wanted.model = main.model.clone().or(configured);
            open_choice(config, &wanted).map(Some)
        }
        opened => opened.map(Some),
    }
}

fn delegated_choice(config: &Config, main: &ModelOverrides) -> Option<RouteChoice> {
    let text = |key: &str| {
        let text = config.text(key).trim();
        (!text.is_empty() && !text.eq_ignore_ascii_case("auto")).then(|| text.to_owned())
    };
    let model = text("delegation.model");
    let base_url = text("delegation.base_url");
    // An address alone is a custom endpoint.
    let custom = base_url.as_ref().map(|_| "custom".to_owned());
    let provider = text("delegation.provider").or(custom);
    if provider.is_none() {
        // Another model in the same place.
        return Some(RouteChoice {
            model: Some(model?),
            ..choice(config, main)
        });
    }
    let mut wanted = choice(
        config,
        &ModelOverrides {
            provider,
            model,
            base_url,
            api_key: None,
        },
    );
    if let Some(key) = text("delegation.api_key") {
        wanted.given_key.api_key = Some(SecretString::from(key));
    }
    wanted.mode = text("delegation.api_mode").and_then(|mode| ApiMode::parse(&mode));
    Some(wanted)
}
