//! `hermes chat`, `hermes -z` and `hermes` alone: a conversation with the agent.

mod args;
mod clipboard;
mod display;
mod events;
mod exit_code;
mod hook_consent;
mod interface;
mod line_loop;
mod look;
mod message_editor;
mod once;
mod open_chat;
mod options;
mod pick_session;
mod skin;
mod slash;
mod usage_report;

use std::process::ExitCode;

use hermes_runtime::{ConversationRequest, Runtime, SessionChoice};

pub(crate) use self::args::{Args, TopLevel};
pub(crate) use self::hook_consent::{settle_gateway_hooks, settle_hooks};
use self::options::{ChatOptions, InputMode};
pub(crate) use self::pick_session::{Offer, pick_session};
use super::setup::{FirstRun, before_chat};
use crate::context::Context;
use crate::error::Result;

/// `hermes chat` with no flags before it.
pub(crate) fn run_alone(args: &Args, context: &Context) -> Result<ExitCode> {
    run(TopLevel::default(), Some(args.clone()), context)
}

/// A conversation at the terminal without any flags.
pub(crate) fn run_plain(context: &Context) -> Result<ExitCode> {
    run(TopLevel::default(), None, context)
}

/// Goes on with this session.
pub(crate) fn resume(id: &str, context: &Context) -> Result<ExitCode> {
    run(TopLevel::resuming(id), None, context)
}

/// A run of a scheduled job: one query, told about as events, with nobody there.
pub(crate) fn run_scheduled(
    prompt: &str,
    request: ConversationRequest,
    context: &Context,
) -> Result<ExitCode> {
    let options = ChatOptions::scheduled(prompt, request);
    let runtime = Runtime::new((**context).clone());
    once::scheduled(prompt, &options, &runtime, context)
}

pub(crate) fn run(top: TopLevel, args: Option<Args>, context: &Context) -> Result<ExitCode> {
    let mut options = ChatOptions::resolve(top, args, context)?;
    if options.picks_session {
        match pick_session(Offer::default(), context)? {
            Some(id) => options.request.session = SessionChoice::Named(id.to_string()),
            None => return Ok(ExitCode::SUCCESS),
        }
    }
    let set_up;
    let context = match first_run(&options, context)? {
        FirstRun::NotNeeded => context,
        FirstRun::Ready(ready) => {
            set_up = ready;
            &set_up
        }
        FirstRun::Left => return Ok(ExitCode::FAILURE),
    };
    if !options.request.ignore_user_config {
        settle_hooks(context, options.accept_hooks)?;
    }
    let runtime = Runtime::new((**context).clone());
    let ended = match &options.mode {
        InputMode::Oneshot(prompt) => once::script(prompt, &options, &runtime, context),
        InputMode::Query(query) | InputMode::QuietQuery(query) => {
            once::query(query, &options, &runtime, context)
        }
        InputMode::JsonQuery(query) => once::events(query, &options, &runtime, context),
        InputMode::Lines { .. } if interface::is_usable(&options, context) => {
            interface::run(&options, &runtime, context)
        }
        InputMode::Lines { .. } => line_loop::run(&options, &runtime, context),
    };
    ended.inspect_err(|error| runtime.record_failed_worker(error.exit_code()))
}

/// Sets up a provider before a person's first conversation. What the flags name is taken as it is.
fn first_run(options: &ChatOptions, context: &Context) -> Result<FirstRun> {
    let request = &options.request;
    let is_named = request.model.is_some()
        || request.provider.is_some()
        || request.ignore_user_config
        || request.session != SessionChoice::New;
    if is_named || !matches!(options.mode, InputMode::Lines { quiet: false }) {
        return Ok(FirstRun::NotNeeded);
    }
    before_chat(context)
}
