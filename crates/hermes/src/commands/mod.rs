//! One file per command: its arguments, and what it does with them.

pub(crate) mod auth;
pub(crate) mod backup;
pub(crate) mod chat;
pub(crate) mod completion;
pub(crate) mod config;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod dump;
pub(crate) mod exec;
pub(crate) mod fallback;
pub(crate) mod import;
pub(crate) mod internal;
pub(crate) mod kanban;
pub(crate) mod logs;
pub(crate) mod profile;
pub(crate) mod sandbox;
pub(crate) mod sessions;
pub(crate) mod status;
pub(crate) mod tools;
pub(crate) mod version;

use std::process::ExitCode;

use crate::cli::Command;
use crate::context::Context;
use crate::error::Result;

/// Runs a command.
pub(crate) fn run(
    command: Option<Command>,
    before: chat::TopLevel,
    context: &Context,
) -> Result<ExitCode> {
    let Some(command) = command else {
        return chat::run(before, None, context);
    };
    match command {
        Command::Chat(args) => chat::run(before, Some(*args), context),
        Command::Config(args) => config::run(&args, context),
        Command::Profile(args) => profile::run(&args, context),
        Command::Kanban(args) => kanban::run(&args, context),
        Command::Demo(args) => demo::run(&args, context),
        Command::Auth(args) => auth::run(&args, context),
        Command::Fallback(args) => fallback::run(&args, context),
        Command::Status(args) => status::run(&args, context),
        Command::Doctor(args) => doctor::run(&args, context),
        Command::Logs(args) => logs::run(&args, context),
        Command::Dump(args) => dump::run(&args, context),
        Command::Backup(args) => backup::run(&args, context),
        Command::Import(args) => import::run(&args, context),
        Command::Exec(args) => exec::run(&args, context),
        Command::Sandbox(args) => sandbox::run(&args, context),
        Command::Sessions(args) => sessions::run(&args, context),
        Command::Tools(args) => tools::run(&args, context),
        Command::Completion(args) => completion::run(&args, context),
        Command::Version => version::run(context),
        Command::Internal(args) => internal::run(&args, context),
    }
}
