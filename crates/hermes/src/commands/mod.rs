//! One file per command: its arguments, and what it does with them.

/// Declares the verbs of a command: help, arguments, and the function that runs each in the context
/// of the command.
macro_rules! verbs {
    ($context:ty; $($(#[$meta:meta])* $name:ident($args:ty) => $run:path),+ $(,)?) => {
        #[derive(Debug, clap::Subcommand)]
        pub(crate) enum Verb {
            $($(#[$meta])* $name($args)),+
        }

        impl Verb {
            pub(crate) fn run(
                &self,
                context: &$context,
            ) -> crate::error::Result<std::process::ExitCode> {
                match self {
                    $(Self::$name(args) => crate::commands::exit($run(args, context))),+
                }
            }
        }
    };
}
pub(crate) use verbs;

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

use crate::error::Result;

// The arguments of a verb that takes none; a doc comment would become its help.
#[derive(Debug, clap::Args)]
pub(crate) struct NoArgs {}

/// The exit code of a command: success unless the command gives one of its own.
pub(crate) fn exit(result: Result<impl Termination>) -> Result<ExitCode> {
    Ok(result?.report())
}
