//! Whether `sudo` asks for a password at all, found out by calling it.

use std::ffi::OsStr;
use std::sync::Arc;
use std::time::Duration;

use hermes_proc::{ChildSpec, find_on_path};

use crate::environment::LiveEnvironment;

/// How long the question may take.
const LIMIT: Duration = Duration::from_secs(3);

/// What `sudo` wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SudoNeeds {
    /// It works as it is: no password is asked for here, or one was given a moment ago.
    Nothing,
    Password,
    /// There is no `sudo`; the shell will say so.
    Sudo,
}

/// Finds out what `sudo` wants.
pub trait Probe: Send + Sync {
    /// Looks now: the answer changes with time.
    fn look(&self) -> SudoNeeds;
}

/// Asks the `sudo` of this machine.
#[derive(Debug)]
pub struct LocalProbe {
    environment: Arc<LiveEnvironment>,
}

impl LocalProbe {
    /// With the variables helpers get.
    pub fn new(environment: Arc<LiveEnvironment>) -> Self {
        Self { environment }
    }
}

impl Probe for LocalProbe {
    fn look(&self) -> SudoNeeds {
        let env = self.environment.current().helper_plan();
        let Some(program) = find_on_path(OsStr::new("sudo"), env.get("PATH")) else {
            return SudoNeeds::Sudo;
        };
        let probe = ChildSpec {
            cwd: Some("/".into()),
            ..ChildSpec::new(program, ["-n", "true"], env)
        };
        match probe.run_captured(LIMIT, 4096) {
            Ok(answer) if answer.status.success() => SudoNeeds::Nothing,
            Ok(_) => SudoNeeds::Password,
            Err(error) => {
                tracing::debug!(%error, "sudo could not be run");
                SudoNeeds::Password
            }
        }
    }
}
