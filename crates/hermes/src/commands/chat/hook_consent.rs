//! Hooks that nobody has accepted: the person at the terminal is asked before the conversation.

use hermes_hooks::HookSpec;
use hermes_runtime::{ProfileHooks, accepts_unseen_hooks};

use crate::context::Context;
use crate::error::Result;
use crate::ui::{confirm, one_line};

/// Longest command that is shown.
const SHOWN: usize = 300;

/// Accepts hooks nobody has seen, or asks whether to; says which are not run. With `accept` all are
/// accepted.
pub(crate) fn settle_hooks(context: &Context, accept: bool) -> Result<()> {
    if context.config().get("hooks").is_none() {
        return Ok(());
    }
    settle(&ProfileHooks::of(context), context, accept)
}

/// The same for a gateway, with the handlers of `hooks/`.
pub(crate) fn settle_gateway_hooks(context: &Context, accept: bool) -> Result<()> {
    let found = ProfileHooks::with_gateway(context);
    for problem in &found.problems {
        context.warn(problem)?;
    }
    settle(&found, context, accept)
}

fn settle(found: &ProfileHooks, context: &Context, accept: bool) -> Result<()> {
    let unseen: Vec<&HookSpec> = found.unseen().collect();
    if unseen.is_empty() {
        return Ok(());
    }
    context.ensure_home()?;
    // An agent cannot agree to what is run for its user.
    let accept = (accept || accepts_unseen_hooks(context)) && !context.caller().is_agent();
    if accept {
        return Ok(found.accept(&unseen)?);
    }
    for hook in unseen {
        let (event, command) = (hook.event.name(), one_line(&hook.command, SHOWN));
        let place = if hook.event.is_of_gateway() {
            "hooks/"
        } else {
            "config.yaml"
        };
        let question = format!(
            "{place} has a new hook: at {event}, `{command}` is run with the rights of your \
             account. Accept it?"
        );
        match confirm(context.printer, &question)? {
            Some(true) => found.accept(&[hook])?,
            Some(false) => context.note(format!("The hook `{command}` is not run."))?,
            None => context.note(format!(
                "The hook `{command}` of {event} is not run: nobody has accepted it; --accept-hooks does."
            ))?,
        }
    }
    Ok(())
}
