//! The first minutes: what is there, a model, where commands run, and into the conversation.

use super::backends::{self, BackendSearch};
use super::detect::Detected;
use super::model_section::{ModelStep, choose_model};
use super::write::write_setting;
use crate::context::Context;
use crate::error::Result;
use crate::ui::{Choice, Picked, pick};

/// Sets up a provider, a model and a backend. Gives the context of the first conversation; `None` if
/// the person left.
pub(super) fn first_run(context: &Context) -> Result<Option<Context>> {
    context.note("Welcome to Hermes. A model is needed before the first conversation.")?;
    context.note("Looking for keys and for model servers on this machine ...")?;
    let detected = Detected::look(context)?;
    let mut search = Some(BackendSearch::start(context));
    let mut working = Vec::new();
    let mut step = ModelStep::Shortest;
    let mut ready = context.reloaded();
    loop {
        match choose_model(&ready, &detected, step)? {
            Some(chosen) => ready = chosen,
            None => return left(context),
        }
        if let Some(search) = search.take() {
            working = search.finish();
        }
        let mut rows = backends::rows(&working, "Start chatting");
        rows.push(Choice::new("Another model or provider", ""));
        let (model, _) = ready.config().model();
        let title = format!("{} is ready", model.unwrap_or("The model"));
        match pick(ready.printer, &ready.env, &title, &rows, 0)? {
            Picked::Chosen(at) => match working.get(at) {
                Some(backend) => {
                    if ready.config().text("terminal.backend") != backend.name {
                        write_setting(&ready, "terminal.backend", backend.name)?;
                        ready = ready.reloaded();
                    }
                    return Ok(Some(ready));
                }
                None => step = ModelStep::AllProviders,
            },
            Picked::Back => step = ModelStep::AllProviders,
            Picked::Leave => {
                context.note("Everything so far is saved; `hermes` starts the conversation.")?;
                return Ok(None);
            }
        }
    }
}

fn left(context: &Context) -> Result<Option<Context>> {
    context.note("No model is set up yet; `hermes setup` begins again.")?;
    Ok(None)
}
