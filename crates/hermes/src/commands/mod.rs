//! One file per command: its arguments, and what it does with them.

/// Declares the verbs of a command: help, arguments, and the function that runs each.
macro_rules! verbs {
    ($($(#[$meta:meta])* $name:ident($args:ty) => $run:path),+ $(,)?) => {
        #[derive(Debug, clap::Subcommand)]
        enum Verb {
            $($(#[$meta])* $name($args)),+
        }

        impl Verb {
            fn run(&self, context: &Context) -> Result<ExitCode> {
                match self {
                    $(Self::$name(args) => crate::commands::exit($run(args, context))),+
                }
            }
        }
    };
}

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

use std::process::{ExitCode, Termination};

use crate::cli::Command;
use crate::context::Context;
use crate::error::Result;

// The arguments of a verb that takes none; a doc comment would become its help.
#[derive(Debug, clap::Args)]
pub(crate) struct NoArgs {}

/// The exit code of a command: success unless the command gives one of its own.
pub(crate) fn exit(result: Result<impl Termination>) -> Result<ExitCode> {
    Ok(result?.report())
}

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
        Command::Status(args) => exit(status::run(&args, context)),
        Command::Doctor(args) => exit(doctor::run(&args, context)),
        Command::Logs(args) => exit(logs::run(&args, context)),
        Command::Dump(args) => exit(dump::run(&args, context)),
        Command::Backup(args) => exit(backup::run(&args, context)),
        Command::Import(args) => exit(import::run(&args, context)),
        Command::Exec(args) => exec::run(&args, context),
        Command::Sandbox(args) => sandbox::run(&args, context),
        Command::Sessions(args) => sessions::run(&args, context),
        Command::Tools(args) => tools::run(&args, context),
        Command::Completion(args) => exit(completion::run(&args, context)),
        Command::Version => exit(version::run(context)),
        Command::Internal(args) => internal::run(&args, context),
    }
}
