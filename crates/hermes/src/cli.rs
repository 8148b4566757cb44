//! The argument tree, and the way from raw arguments to a command in its context.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser};
use hermes_config::{Environment, vars};
use hermes_home::{ProfileName, SystemFacts, refuse_non_directory, select};
use unicode_width::UnicodeWidthStr;

use crate::commands::setup::AfterSetup;
use crate::commands::{self, NoArgs, exit, verbs};
use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::facts::VERSION;
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
    version = VERSION,
    max_term_width = WIDTH,
    propagate_version = false,
    disable_help_subcommand = true,
    after_help = "Settings: hermes config --help. Profiles: hermes profile --help.",
)]
struct Cli {
    /// Use this profile instead of the active one
    // Taken out of the arguments before they get here; what is left is not a profile name.
    #[arg(short, long, global = true, value_name = "NAME", value_parser = ProfileName::parse)]
    profile: Option<ProfileName>,

    #[command(flatten)]
    chat: commands::chat::TopLevel,

    #[command(subcommand)]
    command: Option<Verb>,
}

verbs! { Context;
    /// Watch agents work on a board; needs no key and touches none of your data
    Demo(commands::demo::Args) => commands::demo::run,
    /// Talk to the agent
    Chat(Box<commands::chat::Args>) => commands::chat::run_alone,
    /// Show and change settings
    Config(commands::config::Args) => commands::config::run,
    /// Manage profiles: agents, each with its own home
    Profile(commands::profile::Args) => commands::profile::run,
    /// Create, watch and complete cards on the task board
    Kanban(Box<commands::kanban::Args>) => commands::kanban::run,
    /// Run, start and stop the process that serves a profile day and night
    Gateway(commands::gateway::Args) => commands::gateway::run,
    /// Serve the dashboard: the installation in a browser
    Dashboard(commands::dashboard::Args) => commands::dashboard::run,
    /// Schedule jobs: prompts for the agent, or scripts, at set times
    Cron(commands::cron::Args) => commands::cron::run,
    /// Show the model in use, or choose another one
    Model(commands::model::Args) => commands::model::run,
    /// Manage the keys for model providers
    Auth(commands::auth::Args) => commands::auth::run,
    /// Manage the providers to fall back to when the first one fails
    Fallback(commands::fallback::Args) => commands::fallback::run,
    /// Manage commands that are run at events of conversations
    Hooks(commands::hooks::Args) => commands::hooks::run,
    /// Show, prune and delete snapshots of files that agents changed
    Checkpoints(commands::checkpoints::Args) => commands::checkpoints::run,
    /// Manage MCP servers, whose tools agents can use
    Mcp(commands::mcp::Args) => commands::mcp::run,
    /// Manage plugins, programs of others that bring tools and hooks
    Plugins(commands::plugins::Args) => commands::plugins::run,
    /// Set up a provider, a model and a terminal, step by step
    Setup(commands::setup::Args) => run_setup,
    /// Log in to a provider
    Login(commands::auth::LoginArgs) => commands::auth::run_login,
    /// Remove the login and all keys of a provider
    Logout(commands::auth::LogoutArgs) => commands::auth::run_logout,
    /// Show what is configured and what is running
    Status(commands::status::Args) => commands::status::run,
    /// Check the installation and suggest fixes
    Doctor(commands::doctor::Args) => commands::doctor::run,
    /// Show and follow log files
    Logs(commands::logs::Args) => commands::logs::run,
    /// Print a summary of the setup for a bug report
    Dump(commands::dump::Args) => commands::dump::run,
    /// Back up the whole home to one file
    Backup(commands::backup::Args) => commands::backup::run,
    /// Restore a backup
    Import(commands::import::Args) => commands::import::run,
    /// Say how this installation is updated
    Update(commands::update::Args) => commands::update::run,
    /// Run a command as an agent's terminal would
    Exec(commands::exec::Args) => commands::exec::run,
    /// Manage the containers that agents work in
    Sandbox(commands::sandbox::Args) => commands::sandbox::run,
    /// List, search, export and prune stored conversations
    Sessions(commands::sessions::Args) => commands::sessions::run,
    /// List, install, check and switch skills
    Skills(commands::skills::Args) => commands::skills::run,
    /// List, install, check and remove optional backends
    Addons(commands::addons::Args) => commands::addons::run,
    /// Show, approve and delete what the agent remembers
    Memory(commands::memory::Args) => commands::memory::run,
    /// Show what was done in the last days, and what it took
    Insights(commands::insights::Args) => commands::insights::run,
    /// List and call agent tools
    Tools(commands::tools::Args) => commands::tools::run,
    /// Print a completion script for a shell
    Completion(commands::completion::Args) => commands::completion::run,
    /// Print the manual page of a command
    Man(commands::man::Args) => commands::man::run,
    /// Show the version and the path of the program
    Version(NoArgs) => commands::version::run,
    /// Steps that scripts and services call
    [hide(true)]
    Internal(commands::internal::Args) => commands::internal::run,
}

/// `hermes setup`, which may end in a conversation.
fn run_setup(args: &commands::setup::Args, context: &Context) -> Result<ExitCode> {
    match commands::setup::run(args, context)? {
        AfterSetup::Done => Ok(ExitCode::SUCCESS),
        AfterSetup::Chat(ready) => commands::chat::run_plain(&ready),
    }
}

impl Verb {
    /// Whether the command is pointless where the home is no directory. `doctor` says what is
    /// wrong.
    fn needs_home(&self) -> bool {
        !matches!(
            self,
            Self::Demo(_) | Self::Doctor(_) | Self::Completion(_) | Self::Man(_) | Self::Version(_)
        )
    }
}

/// Whether a word is one of our commands.
pub(crate) fn is_subcommand(word: &str) -> bool {
    word == "help" || Cli::command().find_subcommand(word).is_some()
}

/// Selects the profile, parses what is left of the arguments, and runs the command.
pub(crate) fn run(env: &Environment, printer: Printer, args: &[OsString]) -> Result<ExitCode> {
    // Help and version need no home, and must work whatever state it is in.
    if let [only] = args
        && (only == "--version" || only == "-V")
    {
        return exit(printer.line(format!("hermes {VERSION}")));
    }
    let asks_for_help = args
        .iter()
        .take_while(|arg| *arg != "--")
        .any(|arg| arg == "--help" || arg == "-h");
    let system = system_facts(env);
    if !asks_for_help {
        finish_interrupted_import(env, &system, printer, args)?;
    }
    let selection = match select(args, env, &system) {
        Ok(selection) => Some(selection),
        Err(_) if asks_for_help => None,
        Err(error) => return Err(error.into()),
    };
    let rest = selection
        .as_ref()
        .map_or(args, |selection| selection.args.as_slice());
    let rest = help_as_flag(rest);
    let cli = match parse(&rest) {
        Ok(cli) => cli,
        Err(error) => {
            let mut text = with_short_usage(&error.render().to_string());
            if !error.use_stderr() {
                return exit(printer.out(&text));
            }
            if let Some(question) = question(&error, &rest) {
                text.push_str(&format!(
                    "\nhint: to ask the agent, run: hermes chat -q {question}\n"
                ));
            }
            printer.err(&text)?;
            return Ok(ExitCode::from(2));
        }
    };
    let Some(selection) = selection else {
        return Ok(ExitCode::from(2));
    };
    let is_chat = matches!(cli.command, None | Some(Verb::Chat(_)));
    if !is_chat && cli.chat.is_given() {
        return Err(CommandError::usage(
            "these flags only apply to `hermes chat`",
        ));
    }
    if cli.command.as_ref().is_none_or(Verb::needs_home) {
        refuse_non_directory(&selection.location)?;
    }
    let context = &Context::new(env, system, &selection, printer, Cli::command, run_words);
    let result = match cli.command {
        None => commands::chat::run(cli.chat, None, context),
        Some(Verb::Chat(args)) => commands::chat::run(cli.chat, Some(*args), context),
        Some(verb) => verb.run(context),
    };
    // A thread that goes on may hold a copy of the context; servers must not outlive the command.
    context.close_servers();
    result
}

fn parse(words: &[OsString]) -> std::result::Result<Cli, clap::Error> {
    if let Some(verb) = parse_verb_alone(words) {
        return Ok(Cli {
            profile: None,
            chat: commands::chat::TopLevel::default(),
            command: Some(verb),
        });
    }
    let full = std::iter::once(OsString::from("hermes")).chain(words.iter().cloned());
    let matches = Cli::command().try_get_matches_from(full)?;
    Cli::from_arg_matches(&matches)
}

/// Understands a call whose first word is a verb without the parsers of all others, which cost more
/// than many commands do. The whole tree is for everything else, and for saying what is wrong.
fn parse_verb_alone(words: &[OsString]) -> Option<Verb> {
    let called = words.first()?.to_str()?;
    let tree = Verb::augment(clap::Command::new("hermes"), |name| name == called);
    // Flags of the top level mean a conversation, so `chat` is for the whole tree.
    if called == "chat" || tree.get_subcommands().next().is_none() {
        return None;
    }
    let full = std::iter::once(OsString::from("hermes")).chain(words.iter().cloned());
    let matches = tree.try_get_matches_from(full).ok()?;
    Verb::from_arg_matches(&matches).ok()
}

/// Runs a command line in a context that is there already, as a slash command does.
fn run_words(words: &[String], context: &Context) -> Result<ExitCode> {
    let words: Vec<OsString> = words.iter().map(OsString::from).collect();
    match parse(&words) {
        Ok(Cli {
            command: Some(verb),
            ..
        }) => verb.run(context),
        Ok(_) => Ok(ExitCode::from(2)),
        Err(error) => {
            context
                .printer
                .err(&with_short_usage(&error.render().to_string()))?;
            Ok(ExitCode::from(2))
        }
    }
}

/// `help COMMAND` means `COMMAND --help`.
fn help_as_flag(args: &[OsString]) -> Vec<OsString> {
    match args {
        [first, rest @ ..] if first == "help" => {
            let names = rest.iter().cloned();
            names.chain([OsString::from("--help")]).collect()
        }
        _ => args.to_vec(),
    }
}

/// What a person meant to ask who wrote it without `-q`, in quotes for a shell: words where no
/// command is, and more of them than a mistyped command would have.
fn question(error: &clap::Error, args: &[OsString]) -> Option<String> {
    use clap::error::{ContextKind, ContextValue, ErrorKind};

    let words: Vec<&str> = args.iter().filter_map(|arg| arg.to_str()).collect();
    let text = match (error.kind(), words.split_first()?) {
        (ErrorKind::UnknownArgument, (first, rest))
            if *first == "chat" && rest.iter().all(|word| !word.starts_with('-')) =>
        {
            rest.join(" ")
        }
        (ErrorKind::InvalidSubcommand, (first, rest)) => {
            let given = error.get(ContextKind::InvalidSubcommand);
            let is_first = matches!(given, Some(ContextValue::String(given)) if given == first);
            let has_flags = rest.iter().any(|word| word.starts_with('-'));
            // A mistyped command has few words, and a name near it.
            let is_near = error.get(ContextKind::SuggestedSubcommand).is_some();
            let least = if is_near { 2 } else { 1 };
            let is_sentence = first.contains(char::is_whitespace) || rest.len() >= least;
            if !is_first || has_flags || !is_sentence {
                return None;
            }
            words.join(" ")
        }
        _ => return None,
    };
    Some(format!("'{}'", text.replace('\'', "'\\''")))
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

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn a_verb_costs_nothing_until_it_is_called_or_described() {
        let mut tree = Cli::command();
        for verb in tree.get_subcommands() {
            let built = verb.get_arguments().count() + verb.get_subcommands().count();
            assert_eq!(built, 0, "{}", verb.get_name());
        }
        tree.build();
        let kanban = tree.find_subcommand("kanban").unwrap();
        let create = kanban.find_subcommand("create").unwrap();
        assert!(create.get_arguments().any(|arg| arg.get_id() == "title"));
    }

    #[test]
    fn a_verb_alone_is_understood_as_in_the_whole_tree() {
        let words = |line: &str| -> Vec<OsString> { line.split(' ').map(Into::into).collect() };
        for line in [
            "config get model.default",
            "profile list",
            "kanban --board b create title --assignee a --priority 2",
            "gateway run --replace",
            "skills list --json",
            "version",
        ] {
            let alone = parse_verb_alone(&words(line)).map(|verb| format!("{verb:?}"));
            let full = std::iter::once("hermes".into()).chain(words(line));
            let whole = Cli::command()
                .try_get_matches_from(full)
                .and_then(|matches| Cli::from_arg_matches(&matches))
                .ok()
                .and_then(|cli| cli.command);
            let whole = whole.map(|verb| format!("{verb:?}"));
            assert!(whole.is_some(), "{line}");
            assert_eq!(alone, whole, "{line}");
        }
        for line in [
            "config --help",
            "config nothing",
            "confg get",
            "chat -q hi",
            "-z hi",
        ] {
            assert!(parse_verb_alone(&words(line)).is_none(), "{line}");
        }
    }

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
