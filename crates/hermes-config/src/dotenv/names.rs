//! Names that may stand in `.env`: those we know, and those nobody may write there.

/// Variables that both programs know, sorted by name. Columns: name, category,
/// secret or plain, and `python` for what only that runtime uses.
const TABLE: &str = include_str!("known_names.tsv");

/// Names whose value would change how every child program starts, or which home is used.
const DENIED: [&str; 26] = [
    "LD_PRELOAD",
    "LD_LIBRARY_PATH",
    "LD_AUDIT",
    "LD_DEBUG",
    "PYTHONPATH",
    "PYTHONHOME",
    "PYTHONSTARTUP",
    "PYTHONUSERBASE",
    "PYTHONEXECUTABLE",
    "PYTHONNOUSERSITE",
    "NODE_OPTIONS",
    "NODE_PATH",
    "PATH",
    "SHELL",
    "BROWSER",
    "EDITOR",
    "VISUAL",
    "PAGER",
    "GIT_SSH_COMMAND",
    "GIT_EXEC_PATH",
    "GIT_SHELL",
    "HERMES_HOME",
    "HERMES_PROFILE",
    "HERMES_CONFIG",
    "HERMES_ENV",
    "DYLD_",
];

/// Ends of the names whose values are sent as headers, which are ASCII.
const CREDENTIAL_ENDS: [&str; 4] = ["_API_KEY", "_TOKEN", "_SECRET", "_KEY"];

/// A variable that may stand in `.env`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownName {
    pub name: &'static str,
    /// What it belongs to: `provider`, `tool`, `messaging`, `setting`, `skill` or `other`.
    pub category: &'static str,
    pub secret: bool,
    /// Whether only the Python runtime uses it.
    pub python: bool,
}

/// All known names, sorted.
pub fn known_names() -> impl Iterator<Item = KnownName> {
    TABLE.lines().filter_map(|line| {
        let mut columns = line.split('\t');
        Some(KnownName {
            name: columns.next()?,
            category: columns.next()?,
            secret: columns.next()? == "secret",
            python: columns.next() == Some("python"),
        })
    })
}

/// Whether a name is one of [`known_names`].
pub fn is_known_name(name: &str) -> bool {
    known_names().any(|known| known.name == name)
}

/// Whether the value of a variable is sent as a header.
pub(super) fn is_credential(name: &str) -> bool {
    CREDENTIAL_ENDS.iter().any(|end| name.ends_with(end))
}

/// Whether the writer refuses this name.
pub fn is_denied_name(name: &str) -> bool {
    DENIED.iter().any(|denied| {
        if denied.ends_with('_') {
            name.starts_with(denied)
        } else {
            *denied == name
        }
    })
}

/// `^[A-Za-z_][A-Za-z0-9_]*$`
pub fn is_valid_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Whether `config set NAME` without a dot means a line of `.env` and not a setting.
pub fn belongs_in_dotenv(key: &str) -> bool {
    let upper = key.to_ascii_uppercase();
    let shouted = key.starts_with(|c: char| c.is_ascii_uppercase())
        && key
            .chars()
            .all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
    !key.contains('.')
        && (shouted
            || upper.ends_with("_API_KEY")
            || upper.ends_with("_TOKEN")
            || upper.starts_with("TERMINAL_SSH")
            || is_known_name(&upper))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_complete() {
        let names: Vec<_> = known_names().map(|known| known.name).collect();
        assert!(names.is_sorted() && names.len() > 300, "{}", names.len());
        assert_eq!(names.len(), TABLE.lines().count());
        assert!(is_known_name("OPENROUTER_API_KEY"));
    }

    #[test]
    fn routing_and_denial() {
        assert!(belongs_in_dotenv("openrouter_api_key"));
        assert!(belongs_in_dotenv("MY_OWN"));
        assert!(belongs_in_dotenv("PATH"));
        assert!(!belongs_in_dotenv("timezone"));
        assert!(!belongs_in_dotenv("model.api_key"));
        assert!(is_denied_name("DYLD_INSERT_LIBRARIES"));
        assert!(is_denied_name("PATH"));
        assert!(!is_denied_name("PATHS"));
    }
}
