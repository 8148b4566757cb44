//! Commands inside a container, and what they leave.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How long anything may take here.
const LIMIT: Duration = Duration::from_mins(1);

/// What a command left.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    /// Runs a command to its end, with nothing to read.
    pub(crate) fn of(command: &mut Command) -> Self {
        let ran = command.stdin(Stdio::null()).output().unwrap();
        Self {
            code: ran.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&ran.stdout).trim().to_owned(),
            stderr: String::from_utf8_lossy(&ran.stderr).trim().to_owned(),
        }
    }
}

/// A container in which scripts are run.
pub(crate) trait RunsScripts {
    /// The command that runs a script as a user.
    fn exec(&self, user: &str, script: &str) -> Command;

    /// What is told beside a failure.
    fn output(&self) -> String {
        String::new()
    }

    /// Runs a script as a user.
    fn run(&self, user: &str, script: &str) -> Ran {
        Ran::of(&mut self.exec(user, script))
    }

    /// Runs a script as a user, which must succeed; what it printed.
    #[track_caller]
    fn demand(&self, user: &str, script: &str) -> String {
        let ran = self.run(user, script);
        assert_eq!(ran.code, 0, "{script}: {ran:?}");
        ran.stdout
    }

    /// The same as root.
    #[track_caller]
    fn root(&self, script: &str) -> String {
        self.demand("root", script)
    }

    /// Waits until a script of root succeeds.
    #[track_caller]
    fn wait_for(&self, script: &str) {
        let deadline = Instant::now() + LIMIT;
        loop {
            let ran = self.run("root", script);
            if ran.code == 0 {
                return;
            }
            assert!(
                Instant::now() < deadline,
                "{script}: {ran:?}\n{}",
                self.output()
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

/// What a command printed as JSON.
#[track_caller]
pub(crate) fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}
