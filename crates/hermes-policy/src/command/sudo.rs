//! Real uses of `sudo`: where they stand, with which flags, and the text with a password from
//! standard input asked for.

use std::ops::Range;

use super::keys::{self, Key};
use hermes_shell::{Analysis, Command, SUDO_VALUES, Script, behind_options, is_long};

/// A `sudo` in the command line itself.
pub(crate) struct SudoUse {
    /// Bytes of its command word.
    word: Range<usize>,
    /// Its standard input is a pipe, a file or a text of the command line, not that of the shell.
    pub(crate) has_own_input: bool,
}

/// A command line made to take passwords from standard input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SudoRewrite {
    pub command: String,
    /// Password lines it needs, one per `sudo`.
    pub password_lines: usize,
}

/// Every `sudo` of the command line, in order. Those in payloads of other commands are not ours to
/// rewrite.
pub(crate) fn uses(analysis: &Analysis<'_>) -> Vec<SudoUse> {
    let mut found: Vec<SudoUse> = analysis
        .script
        .commands
        .iter()
        .filter(|command| command.name() == "sudo" && !command.lexical)
        .filter_map(|command| {
            Some(SudoUse {
                word: command.words.first()?.span.clone()?,
                has_own_input: has_own_input(&analysis.script, command),
            })
        })
        .collect();
    found.sort_by_key(|found| found.word.start);
    found.dedup_by_key(|found| found.word.start);
    found
}

/// The command with `-S -p ''` behind each `sudo` that reads what the shell reads; `None` if there is
/// none. In `cat list | sudo tee file` a password from standard input would be the first line of the
/// list.
pub fn with_password_from_stdin(command: &str) -> Option<SudoRewrite> {
    // Most commands have nothing to do with it and need not be taken apart for that.
    if !command.contains("sudo") {
        return None;
    }
    let analysis = Analysis::of(command);
    let mut uses = uses(&analysis);
    uses.retain(|found| !found.has_own_input);
    if uses.is_empty() {
        return None;
    }
    let text: &str = &analysis.raw;
    let mut out = String::with_capacity(text.len() + uses.len() * 9);
    let mut done = 0;
    for found in &uses {
        out.push_str(text.get(done..found.word.end)?);
        out.push_str(" -S -p ''");
        done = found.word.end;
    }
    out.push_str(text.get(done..)?);
    Some(SudoRewrite {
        command: out,
        password_lines: uses.len(),
    })
}

fn has_own_input(script: &Script, command: &Command) -> bool {
    command.stdin.is_some()
        || command.redirects.iter().any(|redirect| !redirect.writes)
        || script.is_fed_by_a_pipe(command)
}

/// Whether the text itself feeds `sudo` from standard input, anywhere.
pub(crate) fn writes_password(analysis: &Analysis<'_>) -> bool {
    analysis
        .script
        .certain()
        .any(|(_, command)| command.name() == "sudo" && reads_stdin(command))
}

/// Options of `sudo` in front of its command.
fn options(command: &Command) -> impl Iterator<Item = &str> {
    let args = command.args();
    let before = args.len() - behind_options(args, SUDO_VALUES, 0).len();
    let options = args.iter().take(before).map(|word| word.text.as_str());
    options.filter(|text| text.starts_with('-') && *text != "--")
}

/// Letters of a cluster up to one that takes the rest as its value.
fn letters(option: &str) -> &str {
    let letters = option.strip_prefix('-').unwrap_or_default();
    if letters.starts_with('-') {
        return "";
    }
    letters
        .split(['u', 'g', 'h', 'p', 'C', 'r', 't', 'T', 'U', 'D', 'R'])
        .next()
        .unwrap_or_default()
}

fn reads_stdin(command: &Command) -> bool {
    options(command).any(|option| letters(option).contains('S') || is_long(option, "--stdin", 3))
}

/// The keys for flags with which `sudo` needs no terminal or gives a shell.
pub(crate) fn privilege_keys(command: &Command) -> Vec<Key> {
    const LONG: [&str; 5] = ["--stdin", "--askpass", "--shell", "--login", "--list"];
    let mut found = Vec::new();
    for option in options(command) {
        let letters = letters(option);
        let privileged = letters.contains(['S', 'A', 's', 'i', 'l']);
        let is_long = LONG.iter().any(|long| is_long(option, long, 3));
        if is_long || (privileged && letters.len() == 1) {
            // In front: of the keys of one group the first counts.
            found.insert(0, keys::SUDO_FLAG);
        } else if privileged {
            found.push(keys::SUDO_COMBINED);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn every_sudo_of_the_command_line_is_rewritten() {
        for (command, expected, lines) in [
            (
                "sudo true && sudo true",
                "sudo -S -p '' true && sudo -S -p '' true",
                2,
            ),
            ("env A=1 sudo id", "env A=1 sudo -S -p '' id", 1),
            ("/usr/bin/sudo id", "/usr/bin/sudo -S -p '' id", 1),
            ("echo $(sudo id)", "echo $(sudo -S -p '' id)", 1),
            (
                "(sudo id; echo 'sudo x')",
                "(sudo -S -p '' id; echo 'sudo x')",
                1,
            ),
            ("time sudo -n id", "time sudo -S -p '' -n id", 1),
            (
                "sudo cat list | sudo tee file > copy",
                "sudo -S -p '' cat list | sudo tee file > copy",
                1,
            ),
        ] {
            let rewrite = with_password_from_stdin(command).unwrap();
            assert_eq!(rewrite.command, expected);
            assert_eq!(rewrite.password_lines, lines);
        }
    }

    #[test]
    fn mere_mentions_of_sudo_are_not_rewritten() {
        for command in [
            "echo sudo",
            "# sudo x",
            "git commit -m 'sudo x'",
            "apt install sudo",
            "bash -c 'sudo id'",
            "cat <<E\nsudo x\nE",
            // These read something else than the shell does.
            "cat list | sudo tee file",
            "cat list | { true; sudo tee file; }",
            "sudo tee file < list",
            "sudo tee file <<E\nx\nE",
            "sudo tee file <<< x",
        ] {
            assert_eq!(with_password_from_stdin(command), None, "{command}");
        }
    }

    #[test]
    fn sudo_stdin_option_is_detected() {
        for (command, expected) in [
            ("echo x | sudo -S id", true),
            ("sudo -nS id", true),
            ("sudo --stdin id", true),
            ("sudo -u root -S id", true),
            ("bash -c 'sudo -S id'", true),
            ("sudo id -S", false),
            ("sudo -u S id", false),
            ("sudo -n id", false),
            ("echo sudo -S", false),
        ] {
            assert_eq!(
                writes_password(&Analysis::of(command)),
                expected,
                "{command}"
            );
        }
    }
}
