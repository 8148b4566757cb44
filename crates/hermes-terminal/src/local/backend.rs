//! The backend for this machine, with what its commands share.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use super::prepared::PreparedShells;
use super::sandbox::LocalSandbox;
use crate::backend::{
    Backend, BackendCommand, BackendError, BackendOutcome, BackendProcess, Confinement,
};
use hermes_proc::sandbox::Sandbox;

use crate::background::{CrashGuard, Guarded, StartError, StartedProcess};
use crate::environment::{ShellEnvRequest, ShellEnvironment};
use crate::settings::TerminalSettings;
use crate::shell::{Session, ShellFinder};

/// The variable by which the processes of a command are found again.
pub(super) const MARK: &str = "HERMES_EXEC_ID";

pub(super) const NO_SANDBOX: &str = "this terminal has no sandbox";

/// Runs commands on this machine.
pub struct LocalBackend {
    pub(super) settings: TerminalSettings,
    pub(super) shells: ShellFinder,
    pub(super) environment: Arc<dyn ShellEnvironment>,
    pub(super) prepared: PreparedShells,
    pub(super) sandbox: Option<Arc<LocalSandbox>>,
    /// How commands of a session usually run, and so its first shell.
    pub(super) usual: Confinement,
    guard: OnceLock<Option<CrashGuard>>,
}

impl LocalBackend {
    /// A backend with these settings, shells and variables. Starts nothing.
    pub fn new(
        settings: TerminalSettings,
        shells: ShellFinder,
        environment: Arc<dyn ShellEnvironment>,
    ) -> Self {
        Self {
            settings,
            shells,
            environment,
            prepared: PreparedShells::default(),
            sandbox: None,
            usual: Confinement::None,
            guard: OnceLock::new(),
        }
    }

    /// The same with a sandbox, in which commands usually run or not.
    #[must_use]
    pub fn with_sandbox(mut self, sandbox: Arc<LocalSandbox>, usual: Confinement) -> Self {
        self.sandbox = Some(sandbox);
        self.usual = usual;
        self
    }

    /// What confines a command; the error is why nothing can.
    pub(super) fn confinement(&self, wanted: Confinement) -> Result<Option<Arc<Sandbox>>, String> {
        match (wanted, &self.sandbox) {
            (Confinement::None, _) => Ok(None),
            (Confinement::Sandbox, Some(sandbox)) => sandbox.prepared().map(Some),
            (Confinement::Sandbox, None) => Err(NO_SANDBOX.to_owned()),
        }
    }

    /// The process that ends our commands should Hermes be killed. Without one they run all the
    /// same.
    pub(super) fn guard(&self) -> Option<&CrashGuard> {
        let start = || {
            CrashGuard::start(&self.settings.supervisor)
                .inspect_err(|error| tracing::warn!(%error, "commands are not checked"))
                .ok()
        };
        self.guard.get_or_init(start).as_ref()
    }

    /// The variables of a shell, always with the mark by which its processes are found again.
    pub(super) fn variables(
        &self,
        request: &ShellEnvRequest<'_>,
        wanted: Confinement,
    ) -> Vec<(OsString, OsString)> {
        let mut variables = self.environment.variables(request);
        if wanted == Confinement::Sandbox
            && let Some(sandbox) = &self.sandbox
        {
            let own = sandbox.variables();
            variables.retain(|(name, _)| !own.iter().any(|(known, _)| known == name));
            variables.extend(own);
        }
        variables.retain(|(name, _)| name != MARK && name != "PWD");
        variables.push((MARK.into(), request.exec_id.into()));
        variables
    }
}

impl Backend for LocalBackend {
    fn describe(&self) -> String {
        "this machine".to_owned()
    }

    fn start_directory(&self) -> PathBuf {
        self.settings.start_directory.clone()
    }

    fn run(
        &self,
        command: &BackendCommand<'_>,
        sink: &mut dyn FnMut(&[u8]),
    ) -> Result<BackendOutcome, BackendError> {
        self.run_command(command, sink)
    }

    fn start(&self, process: &BackendProcess<'_>) -> Result<StartedProcess, StartError> {
        self.start_process(process)
    }

    fn variable(&self, session: &Session, name: &str) -> Option<OsString> {
        self.environment.variable(name, &session.snapshot().overlay)
    }

    fn guard_processes(&self, mark: &str) -> Option<Guarded<'_>> {
        self.guard()?.guard_processes(mark)
    }

    fn shut_down(&self) {
        self.prepared.end_all();
    }
}
