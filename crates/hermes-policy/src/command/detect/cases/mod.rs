//! Commands by the key that they must be met with, and near ones that must not be.

#[path = "code_tests.rs"]
mod code;
#[path = "files_tests.rs"]
mod files;
#[path = "kept_data_tests.rs"]
mod kept_data;
#[path = "machine_tests.rs"]
mod machine;
#[path = "processes_tests.rs"]
mod processes;

use crate::command::keys::Key;

/// A key, commands that it is found for, and near ones that it is not found for.
pub(super) struct Case {
    pub(super) key: &'static str,
    pub(super) met: &'static [&'static str],
    pub(super) near: &'static [&'static str],
}

const fn case(key: Key, met: &'static [&'static str], near: &'static [&'static str]) -> Case {
    Case {
        key: key.text,
        met,
        near,
    }
}

/// All of them.
pub(super) fn all() -> impl Iterator<Item = &'static Case> {
    [
        code::CASES,
        files::CASES,
        kept_data::CASES,
        machine::CASES,
        processes::CASES,
    ]
    .into_iter()
    .flatten()
}
