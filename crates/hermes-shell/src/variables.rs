//! Commands whose output is made of variables and their values.

use crate::analysis::Analysis;

/// Whether a command prints variables with their values, or names a file of them.
pub fn lists_variables(command: &str) -> bool {
    const LISTERS: [&str; 5] = ["env", "printenv", "set", "export", "declare"];
    let mut names = command.split(|c: char| !(c.is_alphanumeric() || "._-".contains(c)));
    if names.any(hermes_secret::is_variables_file) {
        return true;
    }
    // Parsing is only worth it if one of the names occurs at all.
    LISTERS.iter().any(|lister| command.contains(lister))
        && Analysis::of(command)
            .script
            .certain()
            .any(|(_, command)| LISTERS.contains(&command.name()))
}
