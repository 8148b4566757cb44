//! What a turn has changed of a program, and whether a check has passed since.

use std::path::Path;

use serde_json::Value;

/// Endings of files that hold nothing to try.
const PROSE: [&str; 12] = [
    "md", "markdown", "mdx", "rst", "txt", "text", "adoc", "asciidoc", "org", "log", "csv", "tsv",
];
/// Names of such files without an ending.
const PROSE_NAMES: [&str; 7] = [
    "license",
    "licence",
    "notice",
    "authors",
    "contributors",
    "changelog",
    "codeowners",
];
/// Words of commands that check something.
const CHECKS: [&str; 18] = [
    "test",
    "check",
    "lint",
    "build",
    "clippy",
    "pytest",
    "tox",
    "tsc",
    "ruff",
    "mypy",
    "vet",
    "verify",
    "eslint",
    "make",
    "compile",
    "spec",
    "cargo run",
    "python",
];

/// What is known about changes of code in a turn.
#[derive(Debug, Default)]
pub(super) struct CodeChanges {
    /// Changed since the last check that passed.
    pub(super) unchecked: Vec<String>,
    /// How often the model was sent back.
    pub(super) reminders: u32,
}

impl CodeChanges {
    /// A file was written.
    pub(super) fn changed(&mut self, path: &str) {
        if !is_prose(path) && !self.unchecked.iter().any(|known| known == path) {
            self.unchecked.push(path.to_owned());
        }
    }

    /// A command ended.
    pub(super) fn ran(&mut self, command: &str, result: &Value) {
        let command = command.to_ascii_lowercase();
        if result["exit_code"] == 0 && CHECKS.iter().any(|word| command.contains(word)) {
            self.unchecked.clear();
        }
    }
}

fn is_prose(path: &str) -> bool {
    let path = Path::new(path);
    let lower = |text: Option<&std::ffi::OsStr>| {
        text.map(|text| text.to_string_lossy().to_ascii_lowercase())
    };
    match lower(path.extension()) {
        Some(ending) => PROSE.contains(&ending.as_str()),
        None => lower(path.file_name()).is_some_and(|name| PROSE_NAMES.contains(&name.as_str())),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn passed_check_settles_changes_and_prose_needs_none() {
        let mut changes = CodeChanges::default();
        changes.changed("README.md");
        changes.changed("LICENSE");
        assert!(changes.unchecked.is_empty());
        changes.changed("src/a.rs");
        changes.changed("src/a.rs");
        assert_eq!(changes.unchecked.len(), 1);
        changes.ran("cargo test", &json!({"exit_code": 101}));
        changes.ran("ls", &json!({"exit_code": 0}));
        assert_eq!(changes.unchecked.len(), 1);
        changes.ran("cargo test", &json!({"exit_code": 0}));
        assert!(changes.unchecked.is_empty());
    }
}
