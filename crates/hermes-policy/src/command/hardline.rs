//! Commands that never run, whatever the user or the settings say.

use super::known_homes::KnownHomes;
use super::paths::{is_block_device, is_irreplaceable, is_restart_switch};
use hermes_shell::{
    Analysis, Command, MAX_COMMAND_CHARS, Reach, Script, Via, Word, basename, file_operands,
    is_long, is_one_of, operands,
};

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
        .find_map(|command| {
            command_hardline(command, homes).or_else(|| deletes_found(script, command, homes))
        })
        .map(str::to_owned)
}

const DELETION: &str = "deleting the root, the home or a system directory";
const RESTART: &str = "shutting down or restarting the machine";
const DISK: &str = "overwriting a block device";

/// Why this one command never runs, if so.
pub(crate) fn command_hardline(command: &Command, homes: &KnownHomes) -> Option<&'static str> {
    for redirect in command.redirects.iter().filter(|redirect| redirect.writes) {
        if is_block_device(command, &redirect.target, homes) {
            return Some(DISK);
        }
        if is_restart_switch(command, &redirect.target, homes) {
            return Some(RESTART);
        }
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
            .filter(|name| {
                hermes_shell::glob::matches(
                    command.name(),
                    name,
                    hermes_shell::glob::Case::Sensitive,
                )
            })
            .collect(),
        _ => vec![command.name()],
    };
    candidates
        .into_iter()
        .find_map(|name| named_hardline(name, command, homes))
}

const NAMES: &str =
    "rm mkfs dd kill shutdown reboot halt poweroff init telinit systemctl unlink shred";

fn named_hardline(name: &str, command: &Command, homes: &KnownHomes) -> Option<&'static str> {
    let first_operand = || command.texts().find(|text| !text.starts_with('-'));
    let irreplaceable = || {
        let mut files = file_operands(command.args());
        files.any(|word| is_irreplaceable(command, word, homes))
    };
    let onto_disk = || {
        let mut files = file_operands(command.args());
        files.any(|word| is_block_device(command, word, homes))
    };
    match name {
        "shred" | "blkdiscard" | "mke2fs" | "mkswap" | "wipefs" | "scrub" if onto_disk() => {
            let reads = name == "wipefs"
                && !command
                    .texts()
                    .any(|text| is_long(text, "--all", 3) || text.starts_with("-a"));
            (!reads).then_some(DISK)
        }
        "rm" | "grm" | "srm" | "unlink" | "shred" => irreplaceable().then_some(DELETION),
        "tee" | "sponge" if onto_disk() => Some(DISK),
        "tee" | "sponge" => file_operands(command.args())
            .any(|word| is_restart_switch(command, word, homes))
            .then_some(RESTART),
        "cp" | "mv" | "install" => file_operands(command.args())
            .skip(1)
            .last()
            .is_some_and(|word| is_block_device(command, word, homes))
            .then_some(DISK),
        "killall5" => Some("killing every process"),
        _ if name == "mkfs" || name.starts_with("mkfs.") => Some("formatting a filesystem"),
        "dd" | "gdd" | "dcfldd" => command
            .args()
            .iter()
            .filter_map(|word| {
                let text = word.text.strip_prefix("of=")?.to_owned();
                Some(Word {
                    text,
                    ..word.clone()
                })
            })
            .any(|target| is_block_device(command, &target, homes))
            .then_some(DISK),
        "kill" if kills_everything(command) => Some("killing every process"),
        "shutdown" | "reboot" | "halt" | "poweroff" => Some(RESTART),
        "init" | "telinit" => first_operand()
            .is_some_and(|level| matches!(level, "0" | "6"))
            .then_some(RESTART),
        "systemctl" | "loginctl" => {
            let mut operands = operands(
                command.texts(),
                "-t -p -n -o -H -M -s --type --state --property --lines --output --host --machine --signal --message --kill-whom --root --what",
            );
            let verb = operands.next().unwrap_or_default();
            let ends = is_one_of(verb, "poweroff reboot halt kexec soft-reboot")
                || is_one_of(verb, "start isolate restart") && operands.any(is_final_target);
            ends.then_some(RESTART)
        }
        // The same through the bus: `busctl call … Manager Reboot b 0`.
        "busctl" | "dbus-send" | "gdbus" | "qdbus" => {
            let called = |text: &str| {
                let method = text.rsplit('.').next().unwrap_or_default();
                is_one_of(
                    method,
                    "Reboot PowerOff Halt KExec RebootWithFlags PowerOffWithFlags SoftReboot",
                )
            };
            command.texts().any(called).then_some(RESTART)
        }
        _ => None,
    }
}

/// Units whose start is the end of the machine.
fn is_final_target(unit: &str) -> bool {
    is_one_of(
        unit.trim_end_matches(".target"),
        "reboot poweroff halt kexec shutdown soft-reboot ctrl-alt-del runlevel0 runlevel6 systemd-reboot.service systemd-poweroff.service",
    )
}

/// `find / -delete`, `find / -exec rm …`, `find / | xargs rm`, as long as nothing narrows what is found.
fn deletes_found(script: &Script, command: &Command, homes: &KnownHomes) -> Option<&'static str> {
    let everywhere = |find: &Command| {
        let starts = find.args().iter().take_while(|word| {
            let options = matches!(word.text.as_str(), "-H" | "-L" | "-P");
            options || !word.text.starts_with(['-', '(', '!'])
        });
        let narrows = "-name -iname -path -ipath -regex -iregex -newer -mtime -mmin -atime -ctime -size -empty -user -group -perm -samefile -inum -links -lname -maxdepth -wholename";
        !find.texts().any(|text| is_one_of(text, narrows))
            && starts
                .into_iter()
                .any(|word| is_irreplaceable(find, word, homes))
    };
    let is_find = |name: &str| matches!(name, "find" | "gfind");
    let deletes = |name: &str| matches!(name, "rm" | "unlink" | "shred");
    if is_find(command.name()) && everywhere(command) {
        let texts: Vec<&str> = command.texts().collect();
        let runs = texts.windows(2).any(|pair| {
            matches!(pair, [option, program] if is_one_of(option, "-exec -execdir -ok -okdir") && deletes(basename(program)))
        });
        return (runs || texts.contains(&"-delete")).then_some(DELETION);
    }
    let by_xargs = deletes(command.name()) && matches!(command.carrier, Some((_, Via::Xargs)));
    let upstream = if by_xargs {
        script.upstream(command)
    } else {
        Vec::new()
    };
    upstream
        .iter()
        .any(|source| is_find(source.name()) && everywhere(source))
        .then_some(DELETION)
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
    function.is_some_and(|function| !function.name.is_empty() && command.name() == function.name)
}
