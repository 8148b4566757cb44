//! `hermes chat`, `hermes -z` and `hermes` alone: a conversation with the agent.

mod args;
mod asking;
mod claim_watch;
mod conversation;
mod display;
mod ending;
mod git;
mod goal;
mod line_loop;
mod once;
mod opening;
mod picture;
mod pruning;
mod references;
mod repository;
mod slash;
mod small_window;
mod snapshot;
mod system_prompt;
mod title;
mod usage_report;
mod wishes;
mod worker;
mod worktree;

use std::process::ExitCode;

use hermes_config::vars;

pub(crate) use self::args::{Args, TopLevel};
use self::conversation::Conversation;
use self::wishes::{Talk, Wishes};
use self::worker::Worker;
use crate::context::Context;
use crate::error::{CommandError, Result};

pub(crate) fn run(top: TopLevel, args: Option<Args>, context: &Context) -> Result<ExitCode> {
    let wishes = Wishes::resolve(top, args, context)?;
    let mut env = context.env.clone();
    if wishes.yolo {
        env = env.with(&vars::HERMES_YOLO_MODE, "1");
    }
    if wishes.ignore_user_config {
        env = env.with(&vars::HERMES_IGNORE_USER_CONFIG, "1");
    }
    let context = &context.with_env(env);
    let ended = match &wishes.talk {
        Talk::Oneshot(prompt) => once::script(prompt, &wishes, context),
        Talk::Query(query) | Talk::QuietQuery(query) => once::query(query, &wishes, context),
        Talk::Lines { .. } => line_loop::run(&wishes, context),
    };
    ended.inspect_err(|error| Worker::failed(context, error.exit_code()))
}

/// Opens a conversation after having looked at the settings.
fn open(wishes: &Wishes, context: &Context) -> Result<Conversation> {
    if !wishes.ignore_user_config {
        for problem in context.config().problems() {
            if let hermes_config::settings::Problem::Broken { .. } = problem {
                let error = CommandError::user(problem.to_string());
                return Err(match problem.hint() {
                    Some(hint) => error.hint(hint),
                    None => error,
                });
            }
        }
        if let Some(wrong) = context.config().wrong_value("model.context_length") {
            let hint = wrong.hint();
            context
                .printer
                .warn(format!("{wrong}; it is found out instead"), Some(&hint))?;
        }
    }
    if let [_, ..] = wishes.skills.as_slice() {
        return Err(
            CommandError::user(format!("Unknown skill(s): {}", wishes.skills.join(", ")))
                .hint("this build loads no skills yet"),
        );
    }
    Conversation::open(wishes, context)
}
