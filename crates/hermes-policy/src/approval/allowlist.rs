//! `command_allowlist`: commands and patterns that run without a question.

use hermes_shell::glob::{Case, is_glob, matches};

/// Whether an entry is this very command or a pattern of it. What could carry a second command never
/// matches, wherever in the text it stands.
pub(super) fn allows(entries: &[String], command: &str) -> bool {
    let command = command.trim();
    if command.is_empty() || has_operator(command) {
        return false;
    }
    entries.iter().map(|entry| entry.trim()).any(|entry| {
        entry == command || (is_glob(entry) && matches(entry, command, Case::Sensitive))
    })
}

fn has_operator(command: &str) -> bool {
    command.contains(['\n', '\r', ';', '&', '|', '<', '>', '`']) || command.contains("$(")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allowlist_entries_match_whole_commands_only() {
        let entries: Vec<String> = ["rm -rf ./x", "git push -f *", " docker stop [ab] ", "*"]
            .iter()
            .map(|&e| e.to_owned())
            .collect();
        let (all, three) = (&entries[..], &entries[..3]);
        assert!(allows(three, " rm -rf ./x "));
        assert!(allows(three, "git push -f origin"));
        assert!(allows(three, "docker stop a"));
        for command in [
            "rm -rf ./xy",
            "RM -rf ./x",
            "docker stop c",
            "git push -f",
            "",
        ] {
            assert!(!allows(three, command), "{command}");
        }
        for command in [
            "rm -rf ./x; id",
            "rm -rf ./x && id",
            "rm -rf ./x | id",
            "rm -rf ./x &",
            "rm -rf ./x > f",
            "rm -rf ./x < f",
            "rm -rf ./x\nid",
            "rm -rf `id`",
            "rm -rf $(id)",
            "echo 'a;b'",
        ] {
            assert!(!allows(all, command), "{command}");
        }
    }
}
