//! `approvals.deny`: patterns of commands that never run here.

use crate::command::glob::{Case, matches};
use crate::command::normalise::KnownHomes;
use crate::command::syntax::Analysis;

/// The first pattern that meets the command as a whole or any command in it, by its name with or
/// without a directory.
pub(super) fn denied_by<'p>(
    analysis: &Analysis<'_>,
    patterns: &'p [String],
    homes: &KnownHomes,
) -> Option<&'p str> {
    if patterns.is_empty() {
        return None;
    }
    let mut subjects: Vec<String> = Vec::new();
    let mut add = |text: String| {
        let folded = homes.fold_text(&text).into_owned();
        if folded != text {
            subjects.push(folded);
        }
        subjects.push(text);
    };
    add(analysis.raw.trim().to_owned());
    if analysis.normalised != analysis.raw {
        add(analysis.normalised.trim().to_owned());
    }
    for command in &analysis.script.commands {
        if command.words.is_empty() {
            continue;
        }
        let full = command.render(false);
        let short = command.render(true);
        if short != full {
            add(short);
        }
        add(full);
    }
    patterns
        .iter()
        .map(|pattern| pattern.trim())
        .filter(|pattern| !pattern.is_empty())
        .find(|pattern| {
            subjects
                .iter()
                .any(|subject| matches(pattern, subject, Case::Insensitive))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn denied(command: &str, patterns: &[&str]) -> bool {
        let patterns: Vec<String> = patterns.iter().map(|&p| p.to_owned()).collect();
        let homes = KnownHomes::new(["/home/u"], ["/home/u/.hermes"]);
        denied_by(&Analysis::of(command), &patterns, &homes).is_some()
    }

    #[test]
    fn deny_patterns_see_through_spellings() {
        for command in [
            "sudo id",
            "SUDO id",
            "/usr/bin/sudo id",
            "bash -c \"sudo id\"",
            "echo a; sudo id",
            "(sudo id)",
            "s\\udo id",
            "su''do   id",
            "$(echo sudo) id",
            "env A=1 sudo id",
            "echo id | xargs sudo",
            "A=1 sudo id",
            "x=sudo; $x id",
            "\u{1b}[0msudo id",
        ] {
            assert!(denied(command, &["sudo *"]), "{command:?} escaped");
        }
        assert!(denied("cat ~/.hermes/.env", &["cat *.env"]));
        assert!(denied("cat /home/u/.hermes/.env", &["cat ~/.hermes/*"]));
    }

    #[test]
    fn deny_patterns_ignore_mere_mentions() {
        for command in [
            "echo 'sudo id'",
            "grep sudo f",
            "sudoku",
            "sudo",
            "man sudo",
        ] {
            assert!(!denied(command, &["sudo *"]), "{command:?}");
        }
        assert!(!denied("ls", &["", "  "]));
    }
}
