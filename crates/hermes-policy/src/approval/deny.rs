//! `approvals.deny`: patterns of commands that never run here.

use std::borrow::Cow;

use crate::command::known_homes::KnownHomes;
use hermes_shell::Analysis;
use hermes_shell::glob::{Case, Pattern};

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
    let mut subjects = vec![Cow::Borrowed(analysis.raw.trim())];
    if analysis.normalised != analysis.raw {
        subjects.push(Cow::Borrowed(analysis.normalised.trim()));
    }
    for command in &analysis.script.commands {
        if command.words.is_empty() {
            continue;
        }
        if command.is_named_by_path() {
            subjects.push(Cow::Owned(command.render(true)));
        }
        subjects.push(Cow::Owned(command.render(false)));
    }
    let folded = subjects
        .iter()
        .filter_map(|text| match homes.fold_text(text) {
            Cow::Owned(folded) => Some(Cow::Owned(folded)),
            Cow::Borrowed(_) => None,
        });
    let folded: Vec<Cow<'_, str>> = folded.collect();
    subjects.extend(folded);
    patterns
        .iter()
        .map(|pattern| pattern.trim())
        .filter(|pattern| !pattern.is_empty())
        .find(|pattern| {
            let pattern = Pattern::new(pattern, Case::Insensitive);
            subjects.iter().any(|subject| pattern.matches(subject))
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
