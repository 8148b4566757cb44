//! What a session elsewhere begins with: the state of a login shell there, and the variables that
//! are set or forwarded.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use super::error::RemoteError;
use super::exchange::Over;
use super::request::{Directory, Request, Verb};
use super::site::Execution;
use super::terminal::{RemoteTerminal, patience};
use crate::local::ToolContext;
use crate::local::report::Report;
use crate::session::{
    Definitions, Session, ShellState, StateDelta, changed_definitions, difference,
};

impl RemoteTerminal {
    /// Asks the login shell, once per session. A session whose shell does not answer goes on
    /// without what it would have said.
    pub(super) fn ensure_login(
        &self,
        session: &Session,
        context: &ToolContext<'_>,
    ) -> Result<(), RemoteError> {
        let mut failure = Ok(());
        session.login_once(|| match self.ask_login_shell(context) {
            Ok(delta) => {
                if delta.is_none() {
                    tracing::warn!(
                        session = %session.key(),
                        place = self.describe(),
                        "the login shell failed; the session runs without its state"
                    );
                }
                let mut delta = delta.unwrap_or_default();
                for variable in self.site.transport.session_variables() {
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

    fn ask_login_shell(
        &self,
        context: &ToolContext<'_>,
    ) -> Result<Option<StateDelta>, RemoteError> {
        let start = self.start_directory();
        let state = ShellState::new(start.clone());
        let shutdown = &context.terminal.shutdown;
        let execution = Execution {
            request: &|hello, nonces| {
                Request {
                    verb: Verb::Login,
                    state: &state,
                    directory: Directory::Nearest(&start),
                    command: b":",
                    joins_errors: false,
                    reports: true,
                    has_input: false,
                    loop_nonce: &nonces.of_loop,
                    nonce: &nonces.of_shell,
                }
                .bytes(hello)
            },
            input: None,
            limit: self.site.settings.login_limit,
            interrupts: &[context.interrupt, shutdown],
            on_progress: context.on_progress,
            patience: &|| patience(Some(shutdown)),
            revives: true,
        };
        // What start-up files print is not part of any command's output.
        let executed = match self.site.execute(&execution, &mut |_| {}) {
            Ok(executed) => executed,
            // Start-up files may replace the shell or end it before it could say anything.
            Err(RemoteError::LostBeforeStart { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        match (executed.over, executed.known.status) {
            (Over::Interrupted, _) => Err(RemoteError::Interrupted),
            (Over::Ended, Some(0)) => {
                let report = Report::parse(&executed.known.report, &executed.nonces.of_shell);
                Ok(report.map(|report| {
                    let base: Vec<_> = executed.hello.exports.clone().into_iter().collect();
                    let nothing = Definitions::new();
                    StateDelta {
                        cwd: None,
                        variables: difference(&base, &report.exports),
                        functions: changed_definitions(
                            &nothing,
                            report.functions.unwrap_or_default(),
                        ),
                        aliases: changed_definitions(&nothing, report.aliases),
                    }
                }))
            }
            _ => Ok(None),
        }
    }
}
