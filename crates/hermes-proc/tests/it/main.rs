//! `hermes-proc` against real processes.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests access files directly"
)]

mod captured;
mod daemons;
mod end_signals;
mod env_on_every_path;
mod git;
mod lookup;
mod marks;
mod piped;
mod sandbox;
mod session;
mod signals;
mod streamed;
mod tailed;

use std::path::{Path, PathBuf};

use hermes_proc::{ChildSpec, EnvPlan, EnvPolicy, EnvRequest, SpawnClass};

/// A shell script as a child with nothing but a PATH.
fn shell(script: &str) -> ChildSpec {
    ChildSpec::new("/bin/sh", ["-c", script], plan(&[]))
}

/// A helper's environment with these variables and what every helper gets.
fn plan(base: &[(&str, &str)]) -> EnvPlan {
    let base: Vec<_> = base
        .iter()
        .map(|(name, value)| (name.into(), value.into()))
        .collect();
    let policy = EnvPolicy {
        hermes_home: PathBuf::from("/nonexistent/home"),
        hermes_program: PathBuf::from("/nonexistent/hermes"),
        ..EnvPolicy::default()
    };
    EnvPlan::build(&EnvRequest::new(SpawnClass::Helper, &base, &policy))
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
