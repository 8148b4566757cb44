//! Whether a worker could run, found out by the code that its conversation is opened with.

use std::sync::Arc;

use hermes_board::dispatch::WorkerNeeds;
use hermes_board::model::Obstacle;
use hermes_config::{Environment, vars};

use crate::backend::{BackendKind, docker_host, live_environment};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::essentials::{Essentials, EssentialsRequest};
use crate::person::{Nobody, Person};

/// What stands in the way of a worker with these needs. `context` is that of the dispatcher.
pub(crate) fn preflight(context: &Context, needs: &WorkerNeeds) -> Option<Obstacle> {
    let context = context_of_worker(context, needs);
    let request = EssentialsRequest {
        model: needs.model.as_deref(),
        skills: &needs.skills,
        ..EssentialsRequest::default()
    };
    let person: Arc<dyn Person> = Arc::new(Nobody);
    let looked = Essentials::open(&request, &context, &*person)
        .and_then(|essentials| look_at_backend(essentials.backend, &context, &person));
    match looked {
        Ok(obstacle) => obstacle,
        Err(error) => Some(Obstacle {
            hint: error
                .hint()
                .map(|hint| for_profile(&error, hint, needs).into()),
            problem: error.to_string().into(),
            holds: true,
        }),
    }
}

/// The context that the worker will have, with the variables it will have.
fn context_of_worker(context: &Context, needs: &WorkerNeeds) -> Context {
    let pairs = needs.environment.iter().map(|(name, value)| (name, value));
    let env = Environment::from_pairs(pairs).with(&vars::HERMES_HOME, needs.home.as_os_str());
    let mut context = context.with_env(env).in_home(&needs.home);
    context.current = Some(needs.profile.clone());
    context
}

/// Whether the engine answers, and whether the image is there.
fn look_at_backend(
    kind: BackendKind,
    context: &Context,
    person: &Arc<dyn Person>,
) -> Result<Option<Obstacle>> {
    if kind != BackendKind::Docker {
        return Ok(None);
    }
    let host = docker_host(context, &live_environment(context), person)?;
    let image = &host.settings().image;
    Ok(if host.has_image()? {
        None
    } else {
        Some(Obstacle {
            problem: format!(
                "the image {image} is not on this machine: the worker has to fetch it before its \
                 first command"
            )
            .into(),
            hint: Some(
                format!(
                    "fetch it with `{} pull {image}`, or set terminal.docker_image",
                    host.engine().program().display()
                )
                .into(),
            ),
            holds: false,
        })
    })
}

/// Hints speak of settings; those of the profile are meant.
fn for_profile(error: &Error, hint: String, needs: &WorkerNeeds) -> String {
    let name = &needs.profile;
    match error {
        Error::Provider(hermes_providers::OpenError::NoKey { variables, .. }) => {
            let variable = variables.first().copied().unwrap_or("KEY");
            let shared = if name.is_default() {
                String::new()
            } else {
                format!(
                    ", or use the keys of the default profile with `hermes -p {name} config set \
                     model.inherit_keys true`"
                )
            };
            format!("save one with `hermes -p {name} config set {variable} …`{shared}")
        }
        Error::Provider(hermes_providers::OpenError::NoModel { .. }) => {
            format!("`hermes -p {name} config set model.default MODEL`")
        }
        Error::Provider(hermes_providers::OpenError::NothingConfigured) => format!(
            "`hermes -p {name} config set model.provider PROVIDER`, then model.default and the key \
             of the provider in the same way"
        ),
        Error::Provider(_) | Error::BrokenSettings(_) | Error::WrongBackendSetting(_) => {
            format!("in the profile {name}: {hint}")
        }
        _ => hint,
    }
}
