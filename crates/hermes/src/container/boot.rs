//! The boot hook, in two processes: root's half here, the runtime user's in one that has given root up.

use std::ffi::OsString;
use std::process::ExitCode;

use hermes_boot::RuntimeUser;
use hermes_proc::stages::become_user;
use hermes_proc::{ChildSpec, Group, Streams};

use super::{Role, STAGE, own_program, variables};
use crate::error::{CommandError, Result};

/// The last line of the boot hook.
const DONE: &str = "Setup complete; starting user services";

impl Role<'_> {
    /// Prepares accounts, ownership and home. Only a user that cannot run here stops the start.
    pub(super) fn boot(&self) -> Result<RuntimeUser> {
        let mut lines = Vec::new();
        let mut log = |line: &str| {
            self.say(line);
            lines.push(line.to_owned());
        };
        let user = self.machine().prepare(&mut log);
        let user =
            user.map_err(|error| CommandError::user(error.to_string()).hint(error.hint()))?;
        if self.uid == 0 {
            if let Err(error) = self.seed_as_user(&lines) {
                self.say(&format!(
                    "warning: the home was not prepared: {}",
                    error.message
                ));
            }
        } else {
            self.seed_and_record(lines);
        }
        Ok(user)
    }

    fn seed_as_user(&self, lines: &[String]) -> Result<()> {
        let words = ["internal", "seed"].map(OsString::from);
        let args = words.into_iter().chain(lines.iter().map(OsString::from));
        let child = ChildSpec {
            streams: Streams::Inherited,
            group: Group::Shared,
            ..ChildSpec::new(own_program()?, args, variables(self.env))
        };
        let ended = child.spawn().and_then(|mut child| child.wait());
        let ended = ended.map_err(|error| CommandError::environment(error.to_string()))?;
        if ended.success() {
            return Ok(());
        }
        Err(CommandError::environment(format!(
            "its process ended with {ended}"
        )))
    }

    /// The runtime user's half, as a process that root has started; it is told what root's half had to
    /// say.
    pub(super) fn seed(&self, lines: &[OsString]) -> Result<ExitCode> {
        if self.uid == 0 {
            let user = self.runtime_user()?;
            become_user(user.uid, user.gid, &user.groups).map_err(|error| {
                CommandError::environment(format!("could not become hermes: {error}"))
            })?;
        }
        let lines = lines.iter().map(|line| line.to_string_lossy().into_owned());
        self.seed_and_record(lines.collect());
        Ok(ExitCode::SUCCESS)
    }

    fn seed_and_record(&self, mut lines: Vec<String>) {
        let machine = self.machine();
        machine.seed(&mut |line| {
            self.say(line);
            lines.push(line.to_owned());
        });
        self.say(DONE);
        lines.push(DONE.to_owned());
        let lines: Vec<String> = lines.iter().map(|line| format!("{STAGE} {line}")).collect();
        let now = hermes_time::now().strftime("%Y-%m-%dT%H:%M:%S%z");
        if let Err(error) = machine.audit(&lines, &now.to_string()) {
            self.say(&format!("warning: {error}"));
        }
    }

    pub(super) fn runtime_user(&self) -> Result<RuntimeUser> {
        self.machine()
            .runtime_user()
            .map_err(|error| CommandError::user(error.to_string()).hint(error.hint()))
    }
}
