//! `docs/reference/` is what the program says about itself.

use std::process::Command;

use pretty_assertions::assert_eq;

use crate::read;

fn check(page: &str) {
    let home = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_hermes"))
        .args(["internal", "reference-page", page])
        .env_clear()
        .env("HOME", home.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(
        read(&format!("docs/reference/{page}.md")),
        said,
        "run `cargo xtask docs` and commit the result"
    );
}

#[test]
fn commands_are_up_to_date() {
    check("commands");
}

#[test]
fn settings_are_up_to_date() {
    check("settings");
}

#[test]
fn variables_are_up_to_date() {
    check("variables");
}
