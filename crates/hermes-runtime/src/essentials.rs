//! What a conversation cannot begin without: readable settings, a model, its skills, a backend. The
//! preflight of workers consists of this.

use std::sync::Arc;

use hermes_config::settings::Problem;
use hermes_providers::{ModelOverrides, Provider};
use hermes_secret::SecretString;
use hermes_skills::Skill;

use crate::backend::BackendKind;
use crate::context::Context;
use crate::context_window;
use crate::error::{Error, Result};
use crate::person::Person;
use crate::request::ConversationRequest;
use crate::skills;

/// A model by name, at a provider by name; what is not named is configured.
pub(crate) fn model_choice(model: Option<&str>, provider: Option<&str>) -> ModelOverrides {
    ModelOverrides {
        provider: provider.map(str::to_owned),
        model: model.map(str::to_owned),
        ..ModelOverrides::default()
    }
}

/// What decides whether a conversation can begin at all.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct EssentialsRequest<'a> {
    pub(crate) model: Option<&'a str>,
    pub(crate) provider: Option<&'a str>,
    pub(crate) base_url: Option<&'a str>,
    pub(crate) api_key: Option<&'a SecretString>,
    pub(crate) skills: &'a [String],
    pub(crate) ignore_user_config: bool,
}

impl<'a> From<&'a ConversationRequest> for EssentialsRequest<'a> {
    fn from(request: &'a ConversationRequest) -> Self {
        Self {
            model: request.model.as_deref(),
            provider: request.provider.as_deref(),
            base_url: request.base_url.as_deref(),
            api_key: request.api_key.as_ref(),
            skills: if request.ignore_rules {
                &[]
            } else {
                &request.skills
            },
            ignore_user_config: request.ignore_user_config,
        }
    }
}

/// What a conversation cannot begin without.
pub(crate) struct Essentials {
    pub(crate) choice: ModelOverrides,
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) skills: Vec<Skill>,
    pub(crate) backend: BackendKind,
}

impl Essentials {
    /// Opens the model, reads the skills and chooses the backend. Writes nothing; the preflight of
    /// workers consists of this.
    pub(crate) fn open(
        request: &EssentialsRequest<'_>,
        context: &Context,
        person: &dyn Person,
    ) -> Result<Self> {
        if !request.ignore_user_config {
            check_settings(context)?;
        }
        let choice = ModelOverrides {
            base_url: request.base_url.map(str::to_owned),
            api_key: request.api_key.cloned(),
            ..model_choice(request.model, request.provider)
        };
        let provider = hermes_providers::open(context.config(), &choice)?;
        context_window::check(&provider.route(), context, person)?;
        Ok(Self {
            choice,
            provider,
            skills: skills::load(request.skills, context)?,
            backend: BackendKind::choose(context, None)?,
        })
    }
}

/// Refuses settings that cannot be read.
fn check_settings(context: &Context) -> Result<()> {
    let mut problems = context.config().problems().iter();
    if let Some(problem) = problems.find(|one| matches!(one, Problem::Broken { .. })) {
        return Err(Error::BrokenSettings(problem.clone()));
    }
    Ok(())
}
