//! What a session on a remote host begins with: the state of a login shell there, and the variables
//! that are set or forwarded.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::sync::Arc;

use hermes_proc::Wake;

use super::error::RemoteError;
use super::exchange::Over;
use super::host::RemoteHost;
use super::request::{Directory, Execution, Verb};
use crate::shell::{Session, ShellState, StateDelta};

impl RemoteHost {
    /// Runs the login shell, once per session, and takes over what it set up. A session whose login
    /// shell fails goes on without.
    pub(super) fn ensure_login(
        self: &Arc<Self>,
        session: &Session,
        interrupt: &Wake,
        shutdown: &Wake,
    ) -> Result<(), RemoteError> {
        let mut failure = Ok(());
        session.login_once(|| match self.run_login_shell(interrupt, shutdown) {
            Ok(delta) => {
                if delta.is_none() {
                    tracing::warn!(
                        session = %session.key(),
                        host = self.transport.describe(),
                        "the login shell failed; the session runs without its state"
                    );
                }
                let mut delta = delta.unwrap_or_default();
                for variable in self.transport.session_variables() {
                    let value = OsString::from_vec(variable.value.expose().as_bytes().to_vec());
                    delta.variables.insert(variable.name.into(), Some(value));
                }
                session.update(|state| state.apply_login(delta));
                true
            }
            Err(error) => {
                failure = Err(error);
                false
            }
        });
        failure
    }

    fn run_login_shell(
        self: &Arc<Self>,
        interrupt: &Wake,
        shutdown: &Wake,
    ) -> Result<Option<StateDelta>, RemoteError> {
        let start = self.transport.start_directory();
        let execution = Execution {
            verb: Verb::Login,
            state: &ShellState::new(start.clone()),
            directory: Directory::Nearest(&start),
            command: b":",
            joins_errors: false,
            reports: true,
            input: b"",
            limit: self.settings.login_limit,
            interrupts: &[interrupt, shutdown],
            shutdown: Some(shutdown),
            revives: true,
        };
        // What start-up files print is not part of any command's output.
        let executed = match self.execute(&execution, &mut |_| {}) {
            Ok(executed) => executed,
            // Start-up files may replace the shell or end it before it could say anything.
            Err(RemoteError::LostBeforeStart { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        match (executed.over, executed.known.status) {
            (Over::Interrupted, _) => Err(RemoteError::Interrupted),
            (Over::Ended, Some(0)) => {
                let base: Vec<_> = executed.hello.exports.clone().into_iter().collect();
                let report = executed.report();
                Ok(report.map(|report| report.login_changes(&base)))
            }
            _ => Ok(None),
        }
    }
}
