//! Commands of a conversation, typed with a slash before them: one table, one file per group.
//!
//! What they say goes to standard error, as everything does that is not an answer.

mod about;
mod history;
mod model;
mod session;

use super::conversation::Conversation;
use super::display::Display;
use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::ui::confirm;

/// What comes after a command.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum After {
    /// The next line.
    Prompt,
    /// A turn with these words, as they are.
    Turn(String),
    /// The end.
    Quit {
        /// The session is to go as well.
        delete: bool,
    },
}

/// What a command works on.
pub(super) struct Desk<'a> {
    pub(super) conversation: &'a mut Conversation,
    pub(super) display: &'a mut Display,
    pub(super) context: &'a Context,
}

impl Desk<'_> {
    fn say(&self, text: impl AsRef<str>) -> Result<()> {
        Ok(self.context.printer.note(text)?)
    }

    /// Asks before something is discarded, if somebody is there and the settings want that.
    fn may_discard(&self, what: &str) -> Result<bool> {
        let config = self.context.config();
        if !config.flag("approvals.destructive_slash_confirm") {
            return Ok(true);
        }
        // Nobody at the terminal: a script means what it says.
        Ok(confirm(&self.context.printer, what)?.unwrap_or(true))
    }
}

type Run = fn(&mut Desk<'_>, &str) -> Result<After>;

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
        "End this session and begin an empty one",
        session::new,
    ),
    command(
        &["retry"],
        "",
        "Take the last message back and send it again",
        history::retry,
    ),
    command(
        &["undo"],
        "[N]",
        "Take the last message back, or the last N, with all that followed",
        history::undo,
    ),
    command(
        &["compress", "compact"],
        "[what matters]",
        "Put a summary in the place of the middle of the conversation",
        history::compress,
    ),
    command(
        &["history"],
        "",
        "Show the conversation, a line for each message",
        history::show,
    ),
    command(
        &["title"],
        "[text]",
        "Show the title of the session, or give it one",
        session::title,
    ),
    command(
        &["status"],
        "",
        "Show the session, its model and where it works",
        session::status,
    ),
    command(
        &["model"],
        "[name] [--provider NAME]",
        "Show the model, or let another one answer in this session",
        model::model,
    ),
    command(
        &["usage"],
        "",
        "Show tokens, requests and how full the window is",
        model::usage,
    ),
    command(&["tools"], "", "Show the tools the model has", about::tools),
    command(
        &["yolo"],
        "",
        "Run risky commands unasked in this session, or ask again",
        about::yolo,
    ),
    command(&["help"], "", "Show these commands", about::help),
    command(
        &["quit", "exit", "q"],
        "[--delete]",
        "Leave; with --delete the session goes as well",
        about::quit,
    ),
];

/// Whether a line is a command. A path is not one: `/etc/hosts says …` is said to the model.
pub(super) fn is_command(line: &str) -> bool {
    let Some(rest) = line.strip_prefix('/') else {
        return false;
    };
    let name = rest.split(char::is_whitespace).next().unwrap_or_default();
    !name.is_empty() && !name.contains(['/', '.'])
}

/// Runs the command of a line.
pub(super) fn run(line: &str, desk: &mut Desk<'_>) -> Result<After> {
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
        Some(command) => (command.run)(desk, arguments),
        None => Err(unknown(&name)),
    }
}

fn unknown(name: &str) -> CommandError {
    let error = CommandError::user(format!("there is no command /{name}"));
    let names = COMMANDS.iter().flat_map(|command| command.names);
    let near = names
        .map(|known| (distance(name, known), *known))
        .min()
        .filter(|(distance, known)| *distance * 2 <= known.len());
    error.hint(match near {
        Some((_, known)) => format!("did you mean /{known}?"),
        None => "/help shows what there is".to_owned(),
    })
}

/// Letters to add, drop or change to get from one word to the other.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (line, letter) in one.chars().enumerate() {
        let mut corner = line;
        let mut left = line + 1;
        if let Some(first) = row.first_mut() {
            *first = left;
        }
        for (cell, known) in row.iter_mut().skip(1).zip(&other) {
            let changed = corner + usize::from(*known != letter);
            corner = *cell;
            left = changed.min(corner + 1).min(left + 1);
            *cell = left;
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn a_command_is_told_from_a_path() {
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
    fn the_nearest_name_is_named() {
        for (typed, near) in [
            ("undp", Some("/undo?")),
            ("retr", Some("/retry?")),
            ("histroy", Some("/history?")),
            ("xyzzyxyzzy", None),
        ] {
            let error = unknown(typed);
            let (message, hints) = error.words();
            assert!(message.contains(typed), "{message}");
            let hint = hints.first().map(String::as_str).unwrap_or_default();
            match near {
                Some(near) => assert!(hint.contains(near), "{hint}"),
                None => assert!(hint.contains("/help"), "{hint}"),
            }
        }
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("abc", ""), 3);
        assert_eq!(distance("kitten", "sitting"), 3);
    }

    #[test]
    fn no_name_stands_twice() {
        let mut names: Vec<&str> = COMMANDS.iter().flat_map(|one| one.names).copied().collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
