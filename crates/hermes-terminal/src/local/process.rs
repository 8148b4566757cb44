//! Starting a background process on this machine, under a supervisor of its own.

use hermes_fs::random_hex;

use super::backend::{LocalBackend, NO_SANDBOX};
use crate::backend::{BackendProcess, Confinement};
use crate::background::{PtyState, StartError, StartSpec, StartedProcess, start_supervised};
use crate::environment::ShellEnvRequest;
use crate::shell::script::Script;

impl LocalBackend {
    pub(super) fn start_process(
        &self,
        process: &BackendProcess<'_>,
    ) -> Result<StartedProcess, StartError> {
        let session = process.session;
        let sandbox = match (process.confinement, &self.sandbox) {
            (Confinement::None, _) => Vec::new(),
            (Confinement::Sandbox, Some(sandbox)) => {
                sandbox.request().map_err(StartError::NoSandbox)?
            }
            (Confinement::Sandbox, None) => {
                return Err(StartError::NoSandbox(NO_SANDBOX.to_owned()));
            }
        };
        self.ensure_login(session, process.interrupt, process.shutdown);
        let (cwd, cwd_note) = self.run_directory(session, process.workdir)?;
        // `gh` reads the token until the end of its input, which a terminal does not have.
        let reads_token =
            process.command.contains("gh auth login") && process.command.contains("--with-token");
        let pty = process.pty && !reads_token;
        let state = if process.confinement == self.usual || !sandbox.is_empty() {
            session.snapshot()
        } else {
            session.as_logged_in()
        };
        let mark = random_hex(16);
        let variables = self.variables(
            &ShellEnvRequest {
                session: session.key(),
                overlay: &state.overlay,
                background: true,
                pty,
                exec_id: &mark,
            },
            process.confinement,
        );
        let shell = self.shells.find();
        let script = Script {
            state: &state,
            command: process.command.as_bytes(),
            nonce: "",
        };
        let spec = StartSpec {
            id: process.id.to_owned(),
            directory: self.settings.process_directory(),
            script: script.text(shell.kind, None),
            shell: shell.path,
            kind: shell.kind,
            cwd,
            pty,
            sandbox,
            variables,
        };
        let mut started = start_supervised(spec, mark, &self.settings.supervisor)?;
        started.cwd_note = cwd_note;
        if process.pty && reads_token {
            started.pty = PtyState::RefusedForToken;
        }
        Ok(started)
    }
}
