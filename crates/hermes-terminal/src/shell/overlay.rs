//! What a command changed about the variables of its session.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use hermes_proc::agent_shell;
use hermes_proc::env::VariableChanges;

/// Variables that describe the one shell they are in; carried over, they would be wrong.
const OF_ONE_SHELL: &[&str] = &["_", "SHLVL", "PWD", "HERMES_EXEC_ID", agent_shell::MARK];

/// What changed between the variables a shell was started with and those it reported at its end.
pub(super) fn difference(
    before: &[(OsString, OsString)],
    after: &BTreeMap<OsString, OsString>,
) -> VariableChanges {
    let before: BTreeMap<&OsStr, &OsStr> = before
        .iter()
        .map(|(name, value)| (name.as_os_str(), value.as_os_str()))
        .collect();
    let mut delta = VariableChanges::new();
    for (name, value) in after {
        if is_carried(name) && before.get(name.as_os_str()) != Some(&value.as_os_str()) {
            delta.insert(name.clone(), Some(value.clone()));
        }
    }
    for name in before.keys() {
        // A shell does not show a variable whose name it could not have set.
        if is_carried(name) && is_identifier(name) && !after.contains_key(*name) {
            delta.insert((*name).to_owned(), None);
        }
    }
    delta
}

fn is_carried(name: &OsStr) -> bool {
    !OF_ONE_SHELL.iter().any(|own| name == *own)
}

pub(crate) fn is_identifier(name: &OsStr) -> bool {
    let bytes = name.as_bytes();
    bytes.first().is_some_and(|byte| !byte.is_ascii_digit())
        && bytes
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn pairs(list: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
        list.iter().map(|(n, v)| (n.into(), v.into())).collect()
    }

    #[test]
    fn added_changed_and_unset_are_told_apart_and_the_rest_is_not_carried() {
        let before = pairs(&[
            ("KEEP", "1"),
            ("CHANGE", "1"),
            ("DROP", "1"),
            ("odd.name", "1"),
            ("BASH_FUNC_f%%", "() { :; }"),
            ("SHLVL", "1"),
            ("PWD", "/a"),
        ]);
        let after = pairs(&[
            ("KEEP", "1"),
            ("CHANGE", "2"),
            ("ADD", ""),
            ("SHLVL", "2"),
            ("_", "x"),
        ])
        .into_iter()
        .collect();
        let expected: VariableChanges = [
            ("ADD".into(), Some("".into())),
            ("CHANGE".into(), Some("2".into())),
            ("DROP".into(), None),
        ]
        .into();
        assert_eq!(difference(&before, &after), expected);
    }
}
