//! Errors of opening a provider.

use crate::replay::ScriptError;

/// Why no provider could be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("no model provider is configured")]
    NothingConfigured,
    #[error("no such provider: `{name}`")]
    UnknownProvider { name: String },
    #[error("the provider `custom` needs an address")]
    NoAddress,
    #[error("the provider `{provider}` needs the address of your resource")]
    NoAddressOfOwn {
        provider: &'static str,
        variable: &'static str,
    },
    #[error("`{url}` is not an HTTP address")]
    BadAddress {
        /// The address without its query.
        url: String,
    },
    #[error("no model is set for the provider `{provider}`")]
    NoModel { provider: String },
    #[error("{} {provider} ({host})", if variables.is_empty() { "nobody is logged in to" } else { "no key is set for" })]
    NoKey {
        provider: String,
        host: String,
        variables: &'static [&'static str],
    },
    #[error("it has no provider or no model")]
    IncompleteFallback,
    #[error("the provider `replay` needs a script")]
    NoScript,
    #[error(transparent)]
    ReplayScript(#[from] ScriptError),
}

impl OpenError {
    /// What the user can do.
    pub fn hint(&self) -> String {
        match self {
            Self::NothingConfigured => {
                "run `hermes setup`, or add a key with `hermes auth add PROVIDER` and choose a model with `hermes model NAME`".to_owned()
            }
            Self::UnknownProvider { .. } => {
                "list the providers with `hermes model --list`".to_owned()
            }
            Self::NoAddress => "set `model.base_url`".to_owned(),
            Self::NoAddressOfOwn { variable, .. } => {
                format!("set {variable} or `model.base_url`, or run `hermes setup`")
            }
            Self::BadAddress { .. } => {
                "an address starts with http:// or https:// and a host".to_owned()
            }
            Self::NoModel { .. } => "choose one with `hermes model NAME`, or `-m` for one run".to_owned(),
            Self::NoKey {
                provider,
                variables: [],
                ..
            } => format!("log in with `hermes auth add {provider}`"),
            Self::NoKey {
                provider,
                variables,
                ..
            } => format!(
                "set {} in `.env`, set `model.key_env`, or run `hermes auth add {provider}`",
                variables.first().copied().unwrap_or("the key")
            ),
            Self::IncompleteFallback => {
                "write each entry as a mapping with `provider` and `model`".to_owned()
            }
            Self::NoScript => "set `model.script` to a file with turns".to_owned(),
            Self::ReplayScript(error) => error.hint().to_owned(),
        }
    }
}
