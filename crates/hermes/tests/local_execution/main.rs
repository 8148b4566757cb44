//! Commands, background processes and scripts through `hermes exec`, `hermes tools call` and
//! `hermes doctor`: the real binary, in a home of its own.
//!
//! `// check N` names the acceptance check of the chapter on local execution that a test shows.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "tests look at files and processes from outside"
)]

mod asking;
mod background;
mod bad_input;
mod canaries;
mod daemons;
mod ending;
mod environment;
mod guards;
mod killing;
mod output;
mod scripts;
mod sessions;
mod settings;
mod spawn_paths;
mod storm;
mod sudo;
mod talk;

use std::ffi::OsString;
use std::path::PathBuf;

use hermes_testkit::{ProgramCall, TestHome};
use serde_json::Value;

use self::talk::Talk;

/// A user, a directory to work in and a temporary directory nobody else writes to.
struct Place {
    home: TestHome,
    env: Vec<(String, OsString)>,
}

impl Place {
    fn new() -> Self {
        let home = TestHome::new(env!("CARGO_BIN_EXE_hermes"));
        std::fs::create_dir(home.outside("work")).unwrap();
        std::fs::create_dir(home.outside("tmp")).unwrap();
        home.put("config.yaml", "");
        let temp = home.outside("tmp").into_os_string();
        Self {
            home,
            // What the guards do where the kernel does not decide; `tests/sandbox` is about that.
            env: vec![
                ("TMPDIR".to_owned(), temp),
                ("HERMES_TERMINAL_SANDBOX".to_owned(), "off".into()),
            ],
        }
    }

    fn with_config(config: &str) -> Self {
        let place = Self::new();
        place.home.put("config.yaml", config);
        place
    }

    /// With scripts and flagged commands allowed although nobody can be asked.
    fn that_approves() -> Self {
        Self::with_config("approvals:\n  noninteractive_mode: approve\n")
    }

    fn env(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.env.push((name.to_owned(), value.into()));
        self
    }

    /// A path in the directory where commands start.
    fn work(&self, name: &str) -> PathBuf {
        self.home.outside("work").canonicalize().unwrap().join(name)
    }

    fn hermes(&self, args: &[&str]) -> ProgramCall {
        let run = self.home.hermes(args).in_directory(&self.work(""));
        self.env
            .iter()
            .fold(run, |run, (name, value)| run.env(name, value))
    }

    /// A conversation with `hermes tools call --stdin`.
    fn talk(&self) -> Talk {
        Talk::new(self.hermes(&["tools", "call", "--stdin"]).start())
    }

    /// The same as on a machine that is no container.
    #[cfg(debug_assertions)]
    fn talk_on_host(&self) -> Talk {
        Talk::new(self.hermes(&["tools", "call", "--stdin"]).on_host().start())
    }

    /// A conversation in which nothing runs and the guards say what they think.
    fn ask_guards(&self) -> Talk {
        Talk::new(
            self.hermes(&["tools", "call", "--stdin", "--check"])
                .start(),
        )
    }

    /// Output of one command that must succeed.
    #[track_caller]
    fn output(&self, command: &str) -> String {
        self.talk().output(command)
    }

    /// All that was logged.
    fn log(&self) -> String {
        std::fs::read_to_string(self.home.path("logs/agent.log")).unwrap_or_default()
    }
}

/// Text of a field.
#[track_caller]
fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field]
        .as_str()
        .unwrap_or_else(|| panic!("no text {field}: {value}"))
}

/// Looks again until it is so, with a deadline.
#[track_caller]
/// Whether a process runs: there, and not merely unburied.
fn is_alive(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
    stat.is_ok_and(|stat| {
        let state = stat.rsplit_once(") ").map(|(_, rest)| rest.chars().next());
        !matches!(state, Some(Some('Z' | 'X')))
    })
}

/// Whether a variable is in the output of `env`.
fn has_variable(output: &str, name: &str) -> bool {
    let start = format!("{name}=");
    output.lines().any(|line| line.starts_with(&start))
}
