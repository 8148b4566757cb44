//! `hermes chat`, `hermes -z` and `hermes` alone: a conversation with the agent.

mod args;
mod display;
mod events;
mod exit_code;
mod interface;
mod line_loop;
mod once;
mod open_chat;
mod options;
mod pick_session;
mod slash;
mod usage_report;

use std::process::ExitCode;

use hermes_runtime::{Runtime, SessionChoice};

pub(crate) use self::args::{Args, TopLevel};
use self::options::{ChatOptions, InputMode};
pub(crate) use self::pick_session::{Offer, pick_session};
use crate::context::Context;
use crate::error::Result;

/// `hermes chat` with no flags before it.
pub(crate) fn run_alone(args: &Args, context: &Context) -> Result<ExitCode> {
    run(TopLevel::default(), Some(args.clone()), context)
}

/// Goes on with this session.
pub(crate) fn resume(id: &str, context: &Context) -> Result<ExitCode> {
    run(TopLevel::resuming(id), None, context)
}

pub(crate) fn run(top: TopLevel, args: Option<Args>, context: &Context) -> Result<ExitCode> {
    let mut options = ChatOptions::resolve(top, args, context)?;
    if options.picks_session {
        match pick_session(Offer::default(), context)? {
            Some(id) => options.request.session = SessionChoice::Named(id.to_string()),
            None => return Ok(ExitCode::SUCCESS),
        }
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
