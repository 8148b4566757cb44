//! `hermes internal complete`: what may stand where the cursor is, for the scripts that
//! `hermes completion` prints. Says nothing where only the shell knows better, and never fails
//! loudly: somebody is typing.

use hermes_board::model::TaskId;
use hermes_board::{BoardOptions, ListQuery, StoredBoard};
use hermes_config::schema;
use hermes_home::profiles::names;
use hermes_providers::BUILTINS;

use crate::context::Context;
use crate::error::Result;

/// Most cards that are offered.
const MOST_CARDS: u32 = 200;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The words behind hermes so far, the last one unfinished
    #[arg(allow_hyphen_values = true, trailing_var_arg = true)]
    words: Vec<String>,
}

/// Verbs of `kanban` that take a card.
const CARD_VERBS: &[&str] = &[
    "archive",
    "assign",
    "attach",
    "attachments",
    "block",
    "claim",
    "comment",
    "complete",
    "context",
    "decompose",
    "edit",
    "heartbeat",
    "link",
    "log",
    "promote",
    "reassign",
    "reclaim",
    "runs",
    "schedule",
    "show",
    "specify",
    "tail",
    "unblock",
    "unlink",
    "why",
];

/// Verbs of `profile` that take a profile.
const PROFILE_VERBS: &[&str] = &[
    "alias", "delete", "describe", "export", "info", "rename", "show", "update", "use",
];

/// What is expected at the cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expected {
    Profile,
    Card,
    Setting,
    Provider,
    Nothing,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    let Some((typed, before)) = args.words.split_last() else {
        return Ok(());
    };
    let before: Vec<&str> = before.iter().map(String::as_str).collect();
    let candidates = match expected(&before) {
        Expected::Profile => profiles(context),
        Expected::Card => cards(context),
        Expected::Setting => settings(),
        Expected::Provider => BUILTINS.iter().map(|one| one.id.to_owned()).collect(),
        Expected::Nothing => Vec::new(),
    };
    let mut out = String::new();
    for candidate in candidates {
        if candidate.starts_with(typed.as_str()) {
            out.push_str(&candidate);
            out.push('\n');
        }
    }
    context.out(&out)
}

fn expected(before: &[&str]) -> Expected {
    match before.last() {
        Some(&("-p" | "--profile" | "--assignee" | "--clone-from")) => return Expected::Profile,
        Some(&"--provider") => return Expected::Provider,
        _ => {}
    }
    let mut words = Vec::new();
    let mut rest = before.iter();
    while let Some(word) = rest.next() {
        match *word {
            "-p" | "--profile" | "--board" => {
                rest.next();
            }
            flag if flag.starts_with('-') => {}
            word => words.push(word),
        }
    }
    match words.as_slice() {
        ["config", "get" | "set" | "unset"] => Expected::Setting,
        ["profile", verb] if PROFILE_VERBS.contains(verb) => Expected::Profile,
        ["kanban", "assign" | "reassign", _] => Expected::Profile,
        ["kanban", verb, ..] if CARD_VERBS.contains(verb) => Expected::Card,
        [
            "auth",
            "add" | "list" | "logout" | "remove" | "reset" | "status",
        ]
        | ["fallback", "add"] => Expected::Provider,
        _ => Expected::Nothing,
    }
}

fn profiles(context: &Context) -> Vec<String> {
    let names = names(&context.location).unwrap_or_default();
    names.iter().map(ToString::to_string).collect()
}

fn settings() -> Vec<String> {
    let paths = schema::keys().map(|(path, _)| path);
    paths.filter(|path| !path.contains('*')).collect()
}

/// Cards of the current board, if it exists: looking must not make one.
fn cards(context: &Context) -> Vec<String> {
    let home = hermes_runtime::board_home(context);
    let Ok(board) = home.select(None) else {
        return Vec::new();
    };
    if !board.has_database() {
        return Vec::new();
    }
    let Ok(store) = StoredBoard::open(&board, &BoardOptions::from_environment(&context.env)) else {
        return Vec::new();
    };
    let query = ListQuery {
        limit: Some(MOST_CARDS),
        ..ListQuery::default()
    };
    let cards = store.list(&query).unwrap_or_default();
    let id = |id: &TaskId| id.to_string();
    cards.iter().map(|card| id(&card.id)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_before_say_what_is_expected() {
        for (words, wanted) in [
            ("-p", Expected::Profile),
            ("profile use", Expected::Profile),
            ("profile list", Expected::Nothing),
            ("config get", Expected::Setting),
            ("-p coder config set", Expected::Setting),
            ("config set terminal.timeout", Expected::Nothing),
            ("kanban show", Expected::Card),
            ("kanban --board x complete t_1", Expected::Card),
            ("kanban assign t_1", Expected::Profile),
            ("kanban create --assignee", Expected::Profile),
            ("auth add", Expected::Provider),
            ("chat", Expected::Nothing),
            ("", Expected::Nothing),
        ] {
            let before: Vec<&str> = words.split_whitespace().collect();
            assert_eq!(expected(&before), wanted, "{words}");
        }
    }
}
