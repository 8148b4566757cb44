//! Commands that never run, whatever the user or the settings say.

use super::normalise::KnownHomes;
use super::paths::{is_block_device, is_irreplaceable};
use super::syntax::{Analysis, Command, MAX_COMMAND_CHARS, Reach, Script, Word, file_operands};

/// Why a command never runs, if so.
pub(crate) fn hardline(analysis: &Analysis<'_>, homes: &KnownHomes) -> Option<String> {
    if analysis.too_long {
        return Some(format!(
            "the command has more than {MAX_COMMAND_CHARS} characters and cannot be checked; write the text to a file and use that"
        ));
    }
    let script = &analysis.script;
    if is_fork_bomb(script) {
        return Some("fork bomb".to_owned());
    }
    script
        .commands
        .iter()
        .filter(|command| command.reach != Reach::Container)
        .find_map(|command| command_hardline(command, homes))
        .map(str::to_owned)
}

fn command_hardline(command: &Command, homes: &KnownHomes) -> Option<&'static str> {
    let onto_disk = command
        .redirects
        .iter()
        .any(|redirect| redirect.writes && is_block_device(&redirect.target, homes));
    if onto_disk {
        return Some("overwriting a block device");
    }
    let asks_for_help = command.args().len() == 1
        && command
            .texts()
            .all(|text| matches!(text, "--help" | "--version"));
    if command.words.is_empty() || asks_for_help {
        return None;
    }
    // What a pattern in the command word can stand for: `/bin/r?`.
    let candidates: Vec<&str> = match command.words.first() {
        Some(word) if word.glob => NAMES
            .split(' ')
            .filter(|name| super::glob::matches(command.name(), name, super::glob::Case::Sensitive))
            .collect(),
        _ => vec![command.name()],
    };
    candidates
        .into_iter()
        .find_map(|name| named_hardline(name, command, homes))
}

const NAMES: &str = "rm mkfs dd kill shutdown reboot halt poweroff init telinit systemctl";

fn named_hardline(name: &str, command: &Command, homes: &KnownHomes) -> Option<&'static str> {
    let first_operand = || command.texts().find(|text| !text.starts_with('-'));
    match name {
        "rm" => file_operands(command.args())
            .any(|word| is_irreplaceable(word, homes))
            .then_some("deleting the root, the home or a system directory"),
        _ if name == "mkfs" || name.starts_with("mkfs.") => Some("formatting a filesystem"),
        "dd" => command
            .args()
            .iter()
            .filter_map(|word| {
                let target = word.text.strip_prefix("of=")?;
                Some(Word::constant(target))
            })
            .any(|target| is_block_device(&target, homes))
            .then_some("overwriting a block device"),
        "kill" if kills_everything(command) => Some("killing every process"),
        "shutdown" | "reboot" | "halt" | "poweroff" => {
            Some("shutting down or restarting the machine")
        }
        "init" | "telinit" => first_operand()
            .is_some_and(|level| matches!(level, "0" | "6"))
            .then_some("shutting down or restarting the machine"),
        "systemctl" => first_operand()
            .is_some_and(|verb| matches!(verb, "poweroff" | "reboot" | "halt" | "kexec"))
            .then_some("shutting down or restarting the machine"),
        _ => None,
    }
}

/// Whether `-1` is among the targets of `kill`, and not its signal.
pub(crate) fn kills_everything(command: &Command) -> bool {
    let mut words = command.texts().peekable();
    let mut signal_seen = false;
    while let Some(text) = words.next() {
        match text {
            "-s" | "-n" | "--signal" => {
                words.next();
                signal_seen = true;
            }
            "-1" if signal_seen => return true,
            "-l" | "-L" => return false,
            _ => signal_seen = true,
        }
    }
    false
}

/// A function that pipes itself into itself.
pub(crate) fn is_fork_bomb(script: &Script) -> bool {
    script.commands.iter().any(|command| {
        calls_itself(script, command)
            && command.pipe.is_some_and(|position| position.stage > 0)
            && script
                .upstream(command)
                .iter()
                .any(|other| calls_itself(script, other) && other.name() == command.name())
    })
}

/// Whether a command calls the function it stands in.
pub(crate) fn calls_itself(script: &Script, command: &Command) -> bool {
    let function = command
        .function
        .and_then(|function| script.functions.get(function));
    function.is_some_and(|name| !name.is_empty() && command.name() == name)
}
