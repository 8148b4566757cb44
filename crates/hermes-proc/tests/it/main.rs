//! `hermes-proc` against real processes.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests look at files directly"
)]

mod captured;
mod lookup;
mod session;
mod signals;

use std::path::{Path, PathBuf};

use hermes_proc::{ChildEnv, ChildSpec};

/// A shell script as a child with nothing but a PATH.
fn shell(script: &str) -> ChildSpec {
    ChildSpec {
        program: PathBuf::from("/bin/sh"),
        args: vec!["-c".into(), script.into()],
        cwd: None,
        env: ChildEnv::default().with("PATH", "/usr/bin:/bin"),
    }
}

/// Polls for a condition with a deadline.
fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
    while !condition() {
        assert!(
            std::time::Instant::now() < deadline,
            "never came true: {what}"
        );
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

fn read_pid(path: &Path) -> Option<u32> {
    std::fs::read_to_string(path).ok()?.trim().parse().ok()
}
