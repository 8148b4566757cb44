//! The variables of a session's shells on this machine, from the plan of class A.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::Instant;

use hermes_proc::{EnvPlan, EnvRequest, SpawnClass};

use super::builder::EnvironmentBuilder;
use super::live::LiveEnvironment;
use crate::shell::{Overlay, SessionKey};

/// A shell about to be started.
#[derive(Debug, Clone, Copy)]
pub struct ShellEnvRequest<'a> {
    pub session: &'a SessionKey,
    pub overlay: &'a Overlay,
    pub background: bool,
    pub pty: bool,
    /// Value of `HERMES_EXEC_ID`.
    pub exec_id: &'a str,
}

/// Decides about the variables of shells.
pub trait ShellEnvironment: Send + Sync {
    /// All variables of the shell.
    fn variables(&self, request: &ShellEnvRequest<'_>) -> Vec<(OsString, OsString)>;
    /// One variable of a shell with this overlay. Unlike [`ShellEnvironment::variables`] this makes
    /// nothing ready on disk.
    fn variable(&self, name: &str, overlay: &Overlay) -> Option<OsString>;
    /// The home directory of the shell, for `~`.
    fn child_home(&self) -> PathBuf;
}

/// The files as they are, with everything ready on disk that shells rely on.
impl ShellEnvironment for LiveEnvironment {
    fn variables(&self, request: &ShellEnvRequest<'_>) -> Vec<(OsString, OsString)> {
        let granted = self.granted(request.session.as_str());
        self.ready(Instant::now())
            .shell_variables(request, &granted)
    }

    fn variable(&self, name: &str, overlay: &Overlay) -> Option<OsString> {
        self.current().variable(name, overlay)
    }

    fn child_home(&self) -> PathBuf {
        self.current().child_home()
    }
}

/// One reading of the settings. Makes nothing ready: for shells that only tell about themselves.
impl ShellEnvironment for EnvironmentBuilder {
    fn variables(&self, request: &ShellEnvRequest<'_>) -> Vec<(OsString, OsString)> {
        self.shell_variables(request, &BTreeSet::new())
    }

    fn variable(&self, name: &str, overlay: &Overlay) -> Option<OsString> {
        if *overlay == Overlay::default() {
            return self.untouched_shell().get(name).map(OsStr::to_owned);
        }
        let plan = EnvPlan::build(&EnvRequest {
            overlay: Some(overlay),
            ..self.request(SpawnClass::ToolShell)
        });
        plan.get(name).map(OsStr::to_owned)
    }

    fn child_home(&self) -> PathBuf {
        let home = &self.policy().child_home;
        home.effective()
            .unwrap_or_else(|| home.real_home())
            .to_owned()
    }
}

impl EnvironmentBuilder {
    /// All variables of a shell, with those that skills of its session asked for.
    fn shell_variables(
        &self,
        request: &ShellEnvRequest<'_>,
        granted: &BTreeSet<String>,
    ) -> Vec<(OsString, OsString)> {
        let key = request.session.as_str().to_owned();
        let session = [
            ("HERMES_SESSION_KEY".to_owned(), Some(key.clone())),
            ("HERMES_SESSION_ID".to_owned(), Some(key)),
        ];
        let plan = EnvPlan::build(&EnvRequest {
            skill_passthrough: Some(granted),
            overlay: Some(request.overlay),
            session: &session,
            background: request.background,
            pty: request.pty,
            exec_id: Some(request.exec_id),
            ..self.request(SpawnClass::ToolShell)
        });
        plan.into_variables().into_iter().collect()
    }
}
