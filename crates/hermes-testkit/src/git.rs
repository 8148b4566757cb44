//! Git as every machine has it: without the settings, hooks and variables of whoever runs the tests.

use std::path::Path;
use std::process::Command;

/// Runs git in a directory and gives what it printed, without the last line end. Panics if it fails.
pub fn git(directory: &Path, words: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=Tester", "-c", "user.email=t@example.org"])
        .args(["-c", "init.defaultBranch=main"])
        .args(words)
        .current_dir(directory)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", "/nonexistent")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .output()
        .unwrap();
    assert!(output.status.success(), "git {words:?}: {output:?}");
    let said = String::from_utf8(output.stdout).unwrap();
    said.trim_end().to_owned()
}
