//! One file per command: its arguments, and what it does with them.

/// Declares the verbs of a command: help, settings of the parser, arguments, and the function that
/// runs each in the context of the command.
///
/// The parser learns the arguments of a verb only when the verb is called or described: a command
/// must not pay for the arguments of all others.
macro_rules! verbs {
    ($context:ty; $(
        $(#[doc = $doc:literal])+
        $([$($setting:ident($value:expr)),+])?
        $name:ident($args:ty) => $run:path
    ),+ $(,)?) => {
        #[derive(Debug)]
        pub(crate) enum Verb {
            $($(#[doc = $doc])+ $name($args)),+
        }

        impl clap::Subcommand for Verb {
            fn augment_subcommands(command: clap::Command) -> clap::Command {
                Self::augment(command, |_| true)
            }

            fn augment_subcommands_for_update(command: clap::Command) -> clap::Command {
                Self::augment_subcommands(command)
            }

            fn has_subcommand(name: &str) -> bool {
                [$(stringify!($name)),+]
                    .iter()
                    .any(|verb| crate::commands::verb_name(verb) == name)
            }
        }

        impl clap::FromArgMatches for Verb {
            fn from_arg_matches(matches: &clap::ArgMatches) -> std::result::Result<Self, clap::Error> {
                let missing = clap::error::ErrorKind::MissingSubcommand;
                let Some((name, matches)) = matches.subcommand() else {
                    return Err(clap::Error::new(missing));
                };
                $(if name == crate::commands::verb_name(stringify!($name)) {
                    return <$args as clap::FromArgMatches>::from_arg_matches(matches)
                        .map(Self::$name);
                })+
                Err(clap::Error::new(missing))
            }

            fn update_from_arg_matches(
                &mut self,
                matches: &clap::ArgMatches,
            ) -> std::result::Result<(), clap::Error> {
                *self = Self::from_arg_matches(matches)?;
                Ok(())
            }
        }

        impl Verb {
            /// Adds the parsers of the verbs that are wanted.
            fn augment(mut command: clap::Command, wanted: impl Fn(&str) -> bool) -> clap::Command {
                $({
                    let name = crate::commands::verb_name(stringify!($name));
                    if wanted(&name) {
                        command = command.subcommand(
                            crate::commands::verb::<$args>(name, concat!($($doc),+))
                                $($(.$setting($value))+)?
                        );
                    }
                })+
                command
            }

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

pub(crate) mod addons;
pub(crate) mod auth;
pub(crate) mod backup;
pub(crate) mod chat;
pub(crate) mod checkpoints;
pub(crate) mod completion;
pub(crate) mod config;
pub(crate) mod cron;
pub(crate) mod dashboard;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod dump;
pub(crate) mod exec;
pub(crate) mod fallback;
pub(crate) mod gateway;
pub(crate) mod hooks;
pub(crate) mod import;
pub(crate) mod insights;
pub(crate) mod internal;
pub(crate) mod kanban;
pub(crate) mod logs;
pub(crate) mod man;
pub(crate) mod mcp;
pub(crate) mod memory;
pub(crate) mod model;
pub(crate) mod pending_changes;
pub(crate) mod plugins;
pub(crate) mod profile;
pub(crate) mod sandbox;
pub(crate) mod sessions;
pub(crate) mod setup;
pub(crate) mod skills;
pub(crate) mod status;
pub(crate) mod tools;
pub(crate) mod update;
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

/// The parser of one verb, without its arguments as long as nobody asks for them.
pub(crate) fn verb<A: clap::Args>(name: String, about: &'static str) -> clap::Command {
    clap::Command::new(name)
        .about(about.trim())
        .defer(|command| {
            let about = command.get_about().cloned();
            // What the documentation of the arguments says is not about the verb.
            A::augment_args(command).about(about.unwrap_or_default())
        })
}

/// A verb as it is typed: `NotifyList` is `notify-list`.
pub(crate) fn verb_name(variant: &str) -> String {
    let mut name = String::with_capacity(variant.len() + 2);
    for (at, letter) in variant.char_indices() {
        if letter.is_ascii_uppercase() && at > 0 {
            name.push('-');
        }
        name.push(letter.to_ascii_lowercase());
    }
    name
}

/// Prints the help of a command that was called without a verb.
pub(crate) fn help(context: &crate::context::Context, path: &[&str]) -> Result<()> {
    let mut tree = (context.command_tree)();
    tree.build();
    let mut command = &mut tree;
    for name in path {
        let Some(found) = command.find_subcommand_mut(name) else {
            return Ok(());
        };
        command = found;
    }
    context.out(&command.render_help().to_string())
}
