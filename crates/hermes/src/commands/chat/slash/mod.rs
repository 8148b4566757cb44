//! Commands of a conversation, typed with a slash before them: one table, one file per group.
//!
//! Their output goes to standard error, as everything does that is not an answer.

mod about;
mod absent;
mod display;
mod goal;
mod history;
mod model;
mod own_commands;
mod program;
mod rollback;
mod session;
mod thinking;
mod work;

use std::sync::Arc;

use hermes_config::settings::{SetRequest, set};
use hermes_runtime::Conversation;

use super::display::Display;
use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::ui::confirm;

pub(super) use self::work::BackgroundSessions;

/// What follows a command.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum After {
    /// The next line is read.
    Prompt,
    /// A turn with this message.
    Turn(String),
    /// The standing goal goes on.
    Goal,
    /// The conversation is left for another session: an id, the beginning of one, or a title.
    Resume(String),
    /// The conversation ends.
    Quit {
        /// Whether the session is deleted as well.
        delete: bool,
    },
}

/// The open conversation that a command works on.
pub(super) struct ChatState<'a> {
    pub(super) conversation: &'a mut Conversation,
    pub(super) display: &'a mut Display,
    pub(super) context: &'a Context,
    pub(super) background: &'a BackgroundSessions,
    /// Shows, at any time, a title and a text that do not belong to the conversation.
    pub(super) aside: Arc<dyn Fn(String, String) + Send + Sync>,
}

impl ChatState<'_> {
    fn note(&self, text: impl AsRef<str>) -> Result<()> {
        self.context.note(text)
    }

    /// Writes a setting for new sessions too.
    fn write_setting(&self, key: &str, value: &str) -> Result<()> {
        self.context.refuse_if_managed("config.yaml")?;
        let request = SetRequest {
            key,
            value,
            force: false,
        };
        set(&self.context.sources_to_write(), &request)?;
        Ok(())
    }

    /// Asks before something is discarded, at a terminal and unless the settings say otherwise.
    fn may_discard(&self, what: &str) -> Result<bool> {
        let config = self.conversation.context().config();
        if !config.flag("approvals.destructive_slash_confirm") {
            return Ok(true);
        }
        // A script is not asked.
        Ok(confirm(self.context.printer, what)?.unwrap_or(true))
    }
}

type Run = fn(&mut ChatState<'_>, &str) -> Result<After>;

/// A command.
struct Command {
    names: &'static [&'static str],
    arguments: &'static str,
    help: &'static str,
    run: Run,
}

const fn command(
    names: &'static [&'static str],
    arguments: &'static str,
    help: &'static str,
    run: Run,
) -> Command {
    Command {
        names,
        arguments,
        help,
        run,
    }
}

const COMMANDS: &[Command] = &[
    command(
        &["new", "reset", "clear"],
        "[title]",
        "End this session and start an empty one",
        session::new,
    ),
    command(
        &["retry"],
        "",
        "Undo the last message and send it again",
        history::retry,
    ),
    command(
        &["undo"],
        "[N]",
        "Undo the last message, or the last N, and everything that followed",
        history::undo,
    ),
    command(
        &["rollback"],
        "[N [file]|diff N]",
        "List the snapshots of files, go back to one, or show what has changed since",
        rollback::rollback,
    ),
    command(
        &["compress", "compact"],
        "[what matters]",
        "Replace the middle of the conversation with a summary",
        history::compress,
    ),
    command(
        &["history"],
        "",
        "Show the conversation, one line per message",
        history::show,
    ),
    command(
        &["branch", "fork"],
        "[title]",
        "Go on in a copy of this session; the original stays as it is",
        session::branch,
    ),
    command(
        &["resume"],
        "[session]",
        "Leave this session for another one, by id or title",
        session::resume,
    ),
    command(
        &["sessions"],
        "",
        "List the latest sessions",
        program::sessions,
    ),
    command(
        &["save"],
        "[file]",
        "Write the conversation to a file, as JSON",
        session::save,
    ),
    command(
        &["title"],
        "[text]",
        "Show or set the title of the session",
        session::title,
    ),
    command(
        &["status"],
        "",
        "Show the session, its model and its directory",
        session::status,
    ),
    command(
        &["model"],
        "[name] [--provider NAME] [--global] [--refresh]",
        "List the models, or switch to one, with --global for all sessions",
        model::model,
    ),
    command(
        &["reasoning"],
        "[level|show|hide|full|clamp] [--global]",
        "How much the model thinks (none to xhigh), and how much of that is shown",
        thinking::reasoning,
    ),
    command(
        &["fast"],
        "[fast|normal|status]",
        "Show or set whether OpenAI is asked for its faster, dearer tier",
        thinking::fast,
    ),
    command(
        &["personality"],
        "[name|none] [--global]",
        "Show the personalities, or take one on",
        thinking::personality,
    ),
    command(
        &["usage"],
        "",
        "Show tokens, requests and how full the context window is",
        model::usage,
    ),
    command(
        &["tools"],
        "[list|enable|disable] [name]",
        "Show the tools available to the model, or switch toolsets for new conversations",
        about::tools,
    ),
    command(
        &["toolsets"],
        "",
        "Show which toolsets are on",
        program::toolsets,
    ),
    command(
        &["skills"],
        "[list|search|install|pending|…]",
        "List the skills, or run a command about them; /NAME loads one",
        own_commands::all_skills,
    ),
    command(
        &["reload-skills"],
        "",
        "Look for skills again, and list them",
        own_commands::skills,
    ),
    command(
        &["reload-mcp", "reload_mcp"],
        "",
        "Read the MCP servers of the settings again, and offer their tools",
        program::reload_mcp,
    ),
    command(
        &["mcp"],
        "[list|test|add|remove|…]",
        "List the MCP servers, or run a command about them",
        program::mcp,
    ),
    command(
        &["plugins"],
        "[list|install|update|remove|enable|disable]",
        "List the plugins, or run a command about them",
        program::plugins,
    ),
    command(
        &["memory"],
        "[pending|approve|reject|approval] [id|on|off]",
        "Show what is remembered, and decide about changes that wait for approval",
        program::memory,
    ),
    command(
        &["queue"],
        "<message>",
        "Send a message as the next turn",
        work::queue,
    ),
    command(
        &["steer"],
        "<message>",
        "Tell the running turn something; without one, send it",
        work::queue,
    ),
    command(
        &["goal"],
        "[text|draft text|status|show|pause|resume|clear|wait PID|unwait]",
        "Work towards a goal, turn after turn, until a judge finds it reached",
        goal::goal,
    ),
    command(
        &["subgoal"],
        "[text|remove N|clear]",
        "List, add or remove what the goal asks for besides",
        goal::subgoal,
    ),
    command(
        &["background", "bg"],
        "<message>",
        "Work on this in a session of its own, beside this one",
        work::background,
    ),
    command(
        &["agents", "tasks"],
        "",
        "Show background processes and background sessions",
        work::agents,
    ),
    command(
        &["stop"],
        "",
        "End all background processes of this session",
        work::stop,
    ),
    command(
        &["image"],
        "<file>",
        "Send an image with the next message",
        work::image,
    ),
    command(
        &["paste"],
        "",
        "Send the image on the clipboard with the next message",
        work::paste,
    ),
    command(
        &["prompt", "compose"],
        "[text]",
        "Write the next message in your editor, then send it",
        work::prompt,
    ),
    command(
        &["copy"],
        "[N]",
        "Copy the last answer, or the N-th last, to the clipboard of the terminal",
        work::copy,
    ),
    command(
        &["kanban"],
        "[command]",
        "Run a command of the task board",
        program::kanban,
    ),
    command(
        &["cron"],
        "[command]",
        "Run a command of the scheduler",
        program::cron,
    ),
    command(
        &["config"],
        "[command]",
        "Show or change settings",
        program::config,
    ),
    command(
        &["profile"],
        "",
        "Show the profile in use",
        program::profile,
    ),
    command(
        &["whoami"],
        "",
        "Show who is at work here: user, profile, home",
        about::whoami,
    ),
    command(
        &["verbose"],
        "[off|new|all|verbose]",
        "Show less or more of tool calls; without a word, the next step",
        display::verbose,
    ),
    command(
        &["busy"],
        "[interrupt|queue|steer|status]",
        "Show or set what a message does that is sent during a turn",
        display::busy,
    ),
    command(
        &["statusbar", "sb"],
        "[on|off|status]",
        "Hide or show the status line",
        display::statusbar,
    ),
    command(
        &["timestamps", "ts"],
        "[on|off|status]",
        "Show the time of messages, or hide it",
        display::timestamps,
    ),
    command(
        &["footer"],
        "[on|off|status]",
        "Show a line about model, context and directory under answers, or hide it",
        display::footer,
    ),
    command(
        &["indicator"],
        "[kaomoji|emoji|unicode|ascii]",
        "Choose what moves while the agent works",
        display::indicator,
    ),
    command(
        &["skin"],
        "[name]",
        "List the skins, or choose one",
        display::skin,
    ),
    command(
        &["redraw"],
        "",
        "Clear the screen and draw it anew",
        about::redraw,
    ),
    command(
        &["reload"],
        "",
        "Read the settings and keys again",
        program::reload,
    ),
    command(
        &["insights"],
        "[days]",
        "Show what was done in the last days (30), and what it took",
        program::insights,
    ),
    command(
        &["debug"],
        "",
        "Print a summary of the setup for a bug report",
        program::debug,
    ),
    command(&["version"], "", "Show the version", program::version),
    command(
        &["yolo"],
        "",
        "Turn approval of risky commands off or on for this session",
        about::yolo,
    ),
    command(&["help"], "", "Show these commands", about::help),
    command(
        &["quit", "exit", "q"],
        "[--delete]",
        "Quit; with --delete, also delete the session",
        about::quit,
    ),
];

/// Names, arguments and purpose of all commands, for completions.
pub(super) fn listed() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    let first = |command: &'static Command| command.names.first().copied();
    COMMANDS
        .iter()
        .filter_map(move |command| Some((first(command)?, command.arguments, command.help)))
}

/// Whether a line is a command. A path is not one: `/etc/hosts says …` goes to the model.
pub(super) fn is_command(line: &str) -> bool {
    let Some(rest) = line.strip_prefix('/') else {
        return false;
    };
    let name = rest.split(char::is_whitespace).next().unwrap_or_default();
    !name.is_empty() && !name.contains(['/', '.'])
}

/// Runs the command of a line.
pub(super) fn run(line: &str, state: &mut ChatState<'_>) -> Result<After> {
    let line = line.trim();
    let line = line.strip_prefix('/').unwrap_or(line);
    let (name, arguments) = match line.split_once(char::is_whitespace) {
        Some((name, arguments)) => (name, arguments.trim()),
        None => (line, ""),
    };
    let name = name.to_ascii_lowercase();
    let found = COMMANDS
        .iter()
        .find(|command| command.names.contains(&name.as_str()));
    match found {
        Some(command) => (command.run)(state, arguments),
        None => match own_commands::run(&name, arguments, state)? {
            Some(after) => Ok(after),
            None => match absent::instead_of(&name) {
                Some(text) => state.note(text).map(|()| After::Prompt),
                None => Err(unknown(&name)),
            },
        },
    }
}

fn unknown(name: &str) -> CommandError {
    let names = COMMANDS.iter().flat_map(|command| command.names).copied();
    CommandError::user(format!("unknown command: /{name}")).hint(
        match hermes_text::closest(name, names) {
            Some(known) => format!("did you mean /{known}?"),
            None => "/help lists the commands".to_owned(),
        },
    )
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn path_is_not_a_command() {
        for (line, is) in [
            ("/undo", true),
            ("/nosuch 3", true),
            ("/etc/hosts is wrong", false),
            ("/tmp", true),
            ("/README.md", false),
            ("/ what", false),
            ("undo", false),
        ] {
            assert_eq!(is_command(line), is, "{line}");
        }
    }

    #[test]
    fn unknown_command_suggests_the_nearest_name() {
        for (typed, near) in [
            ("undp", Some("/undo?")),
            ("retr", Some("/retry?")),
            ("histroy", Some("/history?")),
            ("xyzzyxyzzy", None),
        ] {
            let error = unknown(typed);
            assert!(error.message.contains(typed), "{error:?}");
            let hint = error.hints.first().map(String::as_str).unwrap_or_default();
            match near {
                Some(near) => assert!(hint.contains(near), "{hint}"),
                None => assert!(hint.contains("/help"), "{hint}"),
            }
        }
    }

    #[test]
    fn command_names_are_unique() {
        let mut names: Vec<&str> = COMMANDS.iter().flat_map(|one| one.names).copied().collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
