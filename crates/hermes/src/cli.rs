//! The argument tree, and the way from raw arguments to a command with its surroundings.

use std::ffi::OsString;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use hermes_config::{Environment, vars};
use hermes_home::{ProfileName, SystemFacts, refuse_non_directory, select};
use unicode_width::UnicodeWidthStr;

use crate::commands;
use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::recovery::finish_interrupted_import;
use crate::ui::Printer;

/// Widest line of a help text.
const WIDTH: usize = 80;
/// What the line of usage begins with.
const USAGE: &str = "Usage: ";

/// Hosts AI agents: a home, a terminal, a gateway and a task board for each.
#[derive(Debug, Parser)]
#[command(
    name = "hermes",
    version = commands::version::SHORT,
    max_term_width = WIDTH,
    propagate_version = false,
    disable_help_subcommand = true,
    after_help = "Settings: hermes config --help. Profiles: hermes profile --help.",
)]
pub(crate) struct Cli {
    /// Act for this profile instead of the active one
    // Taken out of the arguments before they get here; what is left is not a profile name.
    #[arg(short, long, global = true, value_name = "NAME", value_parser = ProfileName::parse)]
    profile: Option<ProfileName>,

    #[command(flatten)]
    chat: commands::chat::TopLevel,

    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// See agents at work on a board, with no key and nothing of yours
    Demo(commands::demo::Args),
    /// Talk to the agent
    Chat(Box<commands::chat::Args>),
    /// Look at and change settings
    Config(commands::config::Args),
    /// Manage profiles: agents with a home of their own
    Profile(commands::profile::Args),
    /// File, watch and finish the cards of the task board
    Kanban(Box<commands::kanban::Args>),
    /// Manage the keys of model providers
    Auth(commands::auth::Args),
    /// Manage who is asked when the first provider fails
    Fallback(commands::fallback::Args),
    /// Show what is configured and what runs
    Status(commands::status::Args),
    /// Check the installation and say how to mend it
    Doctor(commands::doctor::Args),
    /// Show and follow log files
    Logs(commands::logs::Args),
    /// Print a summary of the set-up for a report
    Dump(commands::dump::Args),
    /// Back up the whole home into one file
    Backup(commands::backup::Args),
    /// Restore a backup
    Import(commands::import::Args),
    /// Run a command as an agent's terminal would
    Exec(commands::exec::Args),
    /// Manage the containers in which agents work
    Sandbox(commands::sandbox::Args),
    /// List, search, export and prune stored conversations
    Sessions(commands::sessions::Args),
    /// List and call the tools of agents
    Tools(commands::tools::Args),
    /// Print a completion script for a shell
    Completion(commands::completion::Args),
    /// Show the version and where the program is
    Version,
    /// Steps that scripts and services call
    #[command(hide = true)]
    Internal(commands::internal::Args),
}

impl Command {
    /// Whether the command is pointless where the home is no directory. `doctor` says what is wrong.
    fn needs_home(&self) -> bool {
        !matches!(
            self,
            Self::Demo(_) | Self::Doctor(_) | Self::Completion(_) | Self::Version
        )
    }
}

/// A command and its surroundings.
pub(crate) struct Invocation {
    /// Without a command a conversation is meant.
    pub(crate) command: Option<Command>,
    /// Flags that stood before it.
    pub(crate) chat: commands::chat::TopLevel,
    pub(crate) context: Context,
}

/// What the arguments amount to.
pub(crate) enum Interpreted {
    /// Run this.
    Run(Box<Invocation>),
    /// Nothing to run: help, version or a usage error.
    Said {
        text: String,
        code: u8,
        to_stderr: bool,
    },
}

/// Selects the profile, then parses what is left of the arguments.
pub(crate) fn interpret(
    env: &Environment,
    printer: &Printer,
    args: Vec<OsString>,
) -> Result<Interpreted> {
    // Help and version need no home, and must work whatever state it is in.
    if let [only] = args.as_slice()
        && (only == "--version" || only == "-V")
    {
        let text = format!("hermes {}\n", commands::version::SHORT);
        return Ok(Interpreted::Said {
            text,
            code: 0,
            to_stderr: false,
        });
    }
    let asks_for_help = args
        .iter()
        .take_while(|arg| *arg != "--")
        .any(|arg| arg == "--help" || arg == "-h");
    let system = system_facts(env);
    if !asks_for_help {
        finish_interrupted_import(env, &system, printer, &args)?;
    }
    let selection = match select(&args, env, &system) {
        Ok(selection) => Some(selection),
        Err(_) if asks_for_help => None,
        Err(error) => return Err(error.into()),
    };
    let rest = selection
        .as_ref()
        .map_or(args.as_slice(), |selection| selection.args.as_slice());
    let full = std::iter::once(OsString::from("hermes")).chain(rest.iter().cloned());
    let parsed = command()
        .try_get_matches_from(full)
        .and_then(|m| Cli::from_arg_matches(&m));
    match (parsed, selection) {
        (Ok(cli), Some(selection)) => {
            let is_chat = matches!(cli.command, None | Some(Command::Chat(_)));
            if !is_chat && cli.chat.is_given() {
                return Err(CommandError::usage(
                    "these flags belong to `hermes chat`, not to this command",
                ));
            }
            if cli.command.as_ref().is_none_or(Command::needs_home) {
                refuse_non_directory(&selection.location)?;
            }
            Ok(Interpreted::Run(Box::new(Invocation {
                command: cli.command,
                chat: cli.chat,
                context: Context::new(env, system, &selection, printer),
            })))
        }
        (Ok(_), None) => Ok(Interpreted::Said {
            text: String::new(),
            code: 2,
            to_stderr: true,
        }),
        (Err(error), _) => {
            let to_stderr = error.use_stderr();
            let code = u8::from(to_stderr) * 2;
            Ok(Interpreted::Said {
                text: with_short_usage(&error.render().to_string()),
                code,
                to_stderr,
            })
        }
    }
}

/// Help wraps its texts but not the line of usage; that one is broken between arguments here.
fn with_short_usage(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    for line in text.split_inclusive('\n') {
        match line.strip_prefix(USAGE) {
            Some(words) if line.trim_end().width() > WIDTH => out.push_str(&wrapped_usage(words)),
            _ => out.push_str(line),
        }
    }
    out
}

/// A flag and its value stay together.
fn wrapped_usage(words: &str) -> String {
    let mut out = USAGE.to_owned();
    let mut column = USAGE.len();
    let mut words = words.split_whitespace().peekable();
    while let Some(word) = words.next() {
        let mut unit = word.to_owned();
        if word.starts_with('-')
            && let Some(value) = words.next_if(|next| next.starts_with('<'))
        {
            unit.push_str(&format!(" {value}"));
        }
        if column > USAGE.len() {
            if column + 1 + unit.width() > WIDTH {
                out.push_str(&format!("\n{:1$}", "", USAGE.len()));
                column = USAGE.len();
            } else {
                out.push(' ');
                column += 1;
            }
        }
        column += unit.width();
        out.push_str(&unit);
    }
    out.push('\n');
    out
}

/// Facts about the machine. Debug builds can be told to look for them elsewhere, so that tests can
/// show what happens outside a container.
fn system_facts(env: &Environment) -> SystemFacts {
    let mut facts = SystemFacts::of_process();
    if cfg!(debug_assertions)
        && let Some(root) = env.os(&vars::HERMES_TEST_SYSTEM_ROOT)
    {
        facts.file_system_root = root.into();
    }
    facts
}

/// The tree, for parsing, completions and the reference page.
pub(crate) fn command() -> clap::Command {
    Cli::command()
}

/// Names of the commands, which no alias may take.
pub(crate) fn command_names() -> Vec<String> {
    command()
        .get_subcommands()
        .map(|c| c.get_name().to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn a_long_usage_is_broken_between_arguments() {
        let short = "Says something\n\nUsage: hermes x [OPTIONS] <ID>\n\nArguments:\n";
        assert_eq!(with_short_usage(short), short);
        let long = "Usage: hermes kanban notify-subscribe [OPTIONS] --platform <NAME> --chat-id <ID> \
                    <ID>\n\nArguments:\n";
        assert_eq!(
            with_short_usage(long),
            "Usage: hermes kanban notify-subscribe [OPTIONS] --platform <NAME> --chat-id <ID>\n       \
             <ID>\n\nArguments:\n"
        );
    }
}
