//! Killing processes, and starting too many.

use super::super::hardline::{calls_itself, is_fork_bomb, kills_everything};
use super::super::keys;
use super::{Call, Keys, has_letter, short_letters};
use hermes_shell::{InnerForm, Via, is_long};

pub(super) fn rules(call: &Call<'_>, keys: &mut Keys) {
    if calls_itself(call.script, call.command)
        && (call.command.background || is_fork_bomb(call.script))
    {
        keys.push(keys::FORK_BOMB);
    }
    match call.name() {
        "kill" => kill(call, keys),
        "killall5" => keys.push(keys::KILL_ALL),
        "pkill" | "skill" => {
            if is_kill_signal(call) {
                keys.push(keys::FORCE_KILL);
            }
            by_user(call, keys);
            own_processes(call, keys);
        }
        "killall" => killall(call, keys),
        _ => {}
    }
}

/// `pkill -u root`, or a pattern that meets everything.
fn by_user(call: &Call<'_>, keys: &mut Keys) {
    let of_user = |text: &str| {
        short_letters(text)
            .is_some_and(|letters| letters.starts_with(['u', 'U']) || letters.ends_with(['u', 'U']))
            || is_long(text, "--euid", 4)
            || is_long(text, "--uid", 4)
            || is_long(text, "--user", 4)
    };
    if call
        .command
        .texts()
        .any(|text| of_user(text) || matches!(text, "." | ".*" | ""))
    {
        keys.push(keys::KILL_USER);
    }
}

fn kill(call: &Call<'_>, keys: &mut Keys) {
    if kills_everything(call.command) {
        keys.push(keys::KILL_ALL);
    }
    // The first process is the machine.
    if call.command.texts().last() == Some("1") && !call.texts().contains(&"-l") {
        keys.push(keys::KILL_ALL);
    }
    for inner in call.command.args().iter().flat_map(|word| &word.inner) {
        let runs = |name: &str| inner.names.iter().any(|found| found == name);
        let backtick = inner.form == InnerForm::Backtick;
        match (runs("pgrep"), runs("pidof"), backtick) {
            (true, _, false) => keys.push(keys::KILL_PGREP),
            (true, _, true) => keys.push(keys::KILL_PGREP_BACKTICK),
            (false, true, false) => keys.push(keys::KILL_PIDOF),
            (false, true, true) => keys.push(keys::KILL_PIDOF_BACKTICK),
            (false, false, _) => {}
        }
    }
    // `pgrep x | xargs kill` is the same thing the other way round.
    if matches!(call.command.carrier, Some((_, Via::Xargs))) {
        for source in call.script.upstream(call.command) {
            match source.name() {
                "pgrep" => keys.push(keys::KILL_PGREP),
                "pidof" => keys.push(keys::KILL_PIDOF),
                _ => {}
            }
        }
    }
}

fn is_kill_name(text: &str) -> bool {
    let upper = text.to_ascii_uppercase();
    matches!(upper.as_str(), "9" | "KILL" | "SIGKILL")
}

/// `-9`, `-KILL`, `-s KILL`, `--signal KILL`.
fn is_kill_signal(call: &Call<'_>) -> bool {
    is_joined_kill(call) || is_separate_kill(call)
}

fn is_joined_kill(call: &Call<'_>) -> bool {
    call.command.texts().any(|text| {
        short_letters(text).is_some_and(is_kill_name)
            || (is_long(text, "--signal", 3)
                && text
                    .split_once('=')
                    .is_some_and(|(_, name)| is_kill_name(name)))
    })
}

fn is_separate_kill(call: &Call<'_>) -> bool {
    let texts = call.texts();
    texts.windows(2).any(|pair| match pair {
        [option, signal] => {
            (*option == "-s" || is_long(option, "--signal", 3)) && is_kill_name(signal)
        }
        _ => false,
    })
}

fn killall(call: &Call<'_>, keys: &mut Keys) {
    if is_joined_kill(call) {
        keys.push(keys::KILLALL_KILL);
    }
    if is_separate_kill(call) {
        keys.push(keys::KILLALL_S_KILL);
    }
    let texts = call.texts();
    let by_regex = texts.iter().any(|text| is_long(text, "--regexp", 3))
        || has_letter(texts, 'r') && !texts.iter().any(|text| text.starts_with("-SIG"));
    if by_regex {
        keys.push(keys::KILLALL_REGEX);
    }
    own_processes(call, keys);
    by_user(call, keys);
}

/// Patterns that would meet Hermes itself.
fn own_processes(call: &Call<'_>, keys: &mut Keys) {
    let meets = call.command.texts().any(|text| {
        let lower = text.to_ascii_lowercase();
        lower
            .split(|c: char| !c.is_alphanumeric() && c != '.')
            .any(|part| matches!(part, "hermes" | "gateway" | "cli.py"))
    });
    if meets {
        keys.push(keys::KILL_HERMES);
    }
}
