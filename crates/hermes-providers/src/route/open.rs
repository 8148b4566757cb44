//! Opening the provider that settings and flags ask for.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use hermes_config::{Config, vars};

use super::wanted::Wanted;
use crate::provider::Provider;
use crate::replay::{Replay, Script, ScriptError};

/// Why there is nothing to ask.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Nothing is configured and no key is set.
    #[error("no model provider is configured")]
    NothingConfigured,
    /// There is no provider of that name.
    #[error("there is no provider `{name}`")]
    UnknownProvider {
        /// As it was given.
        name: String,
    },
    /// The replay provider needs a script.
    #[error("the provider `replay` needs a script")]
    NoScript,
    /// The script cannot be played.
    #[error(transparent)]
    Script(#[from] ScriptError),
}

impl OpenError {
    /// What the user can do.
    pub fn hint(&self) -> String {
        match self {
            Self::NothingConfigured => {
                "run `hermes model`, or set OPENROUTER_API_KEY in `.env`".to_owned()
            }
            Self::UnknownProvider { .. } => {
                "`hermes model` lists what there is; `hermes doctor` checks it".to_owned()
            }
            Self::NoScript => "set `model.script` to a file of turns".to_owned(),
            Self::Script(error) => error.hint().to_owned(),
        }
    }
}

/// The provider that settings and flags ask for. No request is made.
pub fn open(config: &Config, wanted: &Wanted) -> Result<Arc<dyn Provider>, OpenError> {
    let (_, configured) = config.model();
    let name = wanted.provider.as_deref().or(configured);
    match name.map(str::trim) {
        Some(Replay::ID) => Ok(Arc::new(open_replay(config, wanted)?)),
        Some(name) => Err(OpenError::UnknownProvider {
            name: name.to_owned(),
        }),
        None => Err(OpenError::NothingConfigured),
    }
}

fn open_replay(config: &Config, wanted: &Wanted) -> Result<Replay, OpenError> {
    let script = config.text("model.script").trim();
    if script.is_empty() {
        return Err(OpenError::NoScript);
    }
    let script = Script::load(&script_path(config, script))?;
    let model = wanted.model.as_deref().or(config.model().0);
    Ok(Replay::new(script, model))
}

/// Relative paths start at the home of the profile, `~` is the user's.
fn script_path(config: &Config, written: &str) -> PathBuf {
    let sources = config.sources();
    let user = written.strip_prefix("~/");
    match (user, sources.env.text(&vars::HOME)) {
        (Some(below), Some(home)) => Path::new(home).join(below),
        _ => sources.home.join(written),
    }
}
