//! Text that is typed into a program: whether the program runs it, and when a line of it is whole.

use crate::analysis::Analysis;
use crate::model::Command;
use crate::programs::{ShellInput, is_shell, shell_text};

/// Whether a program that was started by this command line runs what is typed into it: a shell, here,
/// in a container or on another machine.
pub fn runs_typed_text(command: &str) -> bool {
    let analysis = Analysis::of(command);
    analysis
        .script
        .certain()
        .any(|(_, command)| is_open(command))
}

fn is_open(command: &Command) -> bool {
    let name = command.name();
    match shell_text(command) {
        Some(ShellInput::Stdin) => true,
        // `bash --rcfile x -i`, `bash -ic …` goes on after its text only with more words.
        Some(ShellInput::File(_)) => is_shell(name) && has_letter(command, 'i'),
        Some(_) => false,
        // `ssh host`, `su`, `sudo -s` and the like give a shell when they are given no command.
        None => match name {
            "ssh" | "su" | "runuser" | "newgrp" | "machinectl" | "script" | "screen" | "tmux" => {
                true
            }
            "sudo" | "doas" => has_letter(command, 's') || has_letter(command, 'i'),
            _ => false,
        },
    }
}

fn has_letter(command: &Command, letter: char) -> bool {
    command.texts().any(|text| {
        let letters = text.strip_prefix('-').unwrap_or_default();
        !letters.starts_with('-') && letters.contains(letter)
    })
}

/// Whether a shell would wait for more before it runs this text: an open quote, a line that goes on.
pub fn is_unfinished(text: &str) -> bool {
    let text = text.trim_end_matches(['\n', '\r']);
    text.ends_with('\\') || Analysis::of(text).script.incomplete
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shells_run_what_is_typed_and_other_programs_do_not() {
        for command in [
            "bash",
            "bash -i",
            "/bin/sh",
            "env A=1 zsh -l",
            "cd x && exec bash",
            "docker exec -it web sh",
            "ssh host",
            "su - me",
            "sudo -s",
            "sudo -i -u me",
            "script -q log",
        ] {
            assert!(runs_typed_text(command), "{command}");
        }
        for command in [
            "python3",
            "vim x",
            "bash x.sh",
            "bash -c 'read x; echo $x'",
            "npm create vite",
            "ssh host uptime",
            "sudo apt install x",
            "cat",
            "psql",
        ] {
            assert!(!runs_typed_text(command), "{command}");
        }
    }

    #[test]
    fn open_lines_are_unfinished() {
        for text in [
            "rm -rf \\\n",
            "echo 'a\n",
            "for i in 1; do\n",
            "if x; then\n",
        ] {
            assert!(is_unfinished(text), "{text:?}");
        }
        for text in ["ls\n", "echo 'a'\n", "", "for i in 1; do ls; done\r"] {
            assert!(!is_unfinished(text), "{text:?}");
        }
    }
}
