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

use clap::builder::{PossibleValuesParser, TypedValueParser};

use crate::error::Result;

/// Parses an argument that is one of these names into what the name stands for.
pub(crate) fn named<T: Clone + Send + Sync + 'static>(
    values: impl IntoIterator<Item = (&'static str, T)>,
) -> impl TypedValueParser<Value = T> {
    let values: Vec<(&str, T)> = values.into_iter().collect();
    let names: Vec<&str> = values.iter().map(|(name, _)| *name).collect();
    PossibleValuesParser::new(names).try_map(move |given| {
        let mut values = values.iter();
        let found = values.find(|(name, _)| *name == given);
        found
            .map(|(_, value)| value.clone())
            .ok_or("there is no such value")
    })
}

// The arguments of a verb that takes none; a doc comment would become its help.
#[derive(Debug, clap::Args)]
pub(crate) struct NoArgs {}

/// The exit code of a command: success unless the command gives one of its own.
pub(crate) fn exit(result: Result<impl Termination>) -> Result<ExitCode> {
    Ok(result?.report())
}
