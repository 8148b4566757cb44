//! A user with a home and an engine that notes its calls, fails on demand, and runs commands of
//! "containers" on this machine.

use std::ffi::OsString;

use hermes_testkit::{FakeEngine, ProgramCall, ProgramOutput, TestHome};
use serde_json::{Value, json};

use crate::place::{log_of, merge, new_home, on_host, put_config};
use crate::talk::Talk;

/// What `exec` does: flags and the container's id aside, the rest is a program.
const RUN_HERE: &str = "shift\nwhile [[ $1 == -* ]]; do shift; done\nshift\nexec \"$@\"";

pub(crate) struct FakePlace {
    pub(crate) home: TestHome,
    pub(crate) engine: FakeEngine,
    env: Vec<(String, OsString)>,
}

impl FakePlace {
    pub(crate) fn new() -> Self {
        Self::with(json!({}))
    }

    /// With more settings of `terminal`.
    pub(crate) fn with(settings: Value) -> Self {
        let engine = FakeEngine::new();
        engine.answer("exec", RUN_HERE);
        let program = engine.program().into_os_string();
        let place = Self {
            home: new_home(),
            engine,
            env: vec![("HERMES_DOCKER_BINARY".to_owned(), program)],
        };
        place.configure(settings);
        place
    }

    pub(crate) fn configure(&self, settings: Value) {
        // Where commands may go on this machine, whoever runs the tests.
        let mut terminal = json!({
            "backend": "docker",
            "docker_image": "some:image",
            "cwd": "/tmp",
            "docker_orphan_reaper": false,
        });
        merge(&mut terminal, settings);
        put_config(&self.home, &terminal);
    }

    /// Sets a variable of the program.
    pub(crate) fn env(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.env.push((name.to_owned(), value.into()));
        self
    }

    pub(crate) fn hermes(&self, args: &[&str]) -> ProgramCall {
        let run = on_host(self.home.hermes(args)).in_directory(&self.home.outside("work"));
        self.env
            .iter()
            .fold(run, |run, (name, value)| run.env(name, value))
    }

    pub(crate) fn exec(&self, command: &str) -> ProgramOutput {
        self.hermes(&["exec", "--", command]).run()
    }

    pub(crate) fn talk(&self) -> Talk {
        Talk::new(self.hermes(&["tools", "call", "--stdin"]).start())
    }

    /// All that was logged.
    pub(crate) fn log(&self) -> String {
        log_of(&self.home.root())
    }
}
