//! Where acceptance checks run: as the terminal of the card's assignee would, so that they see what
//! its worker saw.

use std::ffi::OsStr;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hermes_board::WorkerVariables;
use hermes_board::boards::Board;
use hermes_board::completion::{CheckBackend, ConfinedCheck, RemoteChecks, RemoteResult};
use hermes_board::model::Task;
use hermes_config::vars;
use hermes_home::ProfileName;
use hermes_home::profiles::existing;
use hermes_proc::Wake;
use hermes_terminal::SessionKey;
use hermes_terminal::backend::{Backend, BackendCommand, BackendError, CommandEnd, Confinement};
use hermes_terminal::shell::Sessions;

use super::sandbox::confine_check;
use crate::backend::{BackendKind, BackendRequest, RemoteLease, live_environment};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::person::{Nobody, Person};

/// Bytes of the end of a check's output that are kept while it runs.
const KEPT_OUTPUT: usize = 64 * 1024;

/// The acceptance checks of cards, by the settings of their assignees.
pub struct AssigneeChecks {
    context: Context,
    /// Where this process itself works on its card, if not on this machine.
    own: Option<Arc<RemoteLease>>,
}

impl AssigneeChecks {
    /// Those that a command runs.
    pub fn new(context: &Context) -> Self {
        Self {
            context: context.clone(),
            own: None,
        }
    }

    /// Those that a worker runs: on its own card where it has worked on it.
    pub(super) fn of_worker(context: &Context, remote: Option<&Arc<RemoteLease>>) -> Self {
        Self {
            own: remote.cloned(),
            ..Self::new(context)
        }
    }

    fn is_own_card(&self, task: &Task) -> bool {
        let worker = WorkerVariables::read(&self.context.env);
        worker.is_some_and(|worker| worker.task == task.id)
    }
}

impl fmt::Debug for AssigneeChecks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AssigneeChecks")
            .field("home", &self.context.location.home)
            .finish_non_exhaustive()
    }
}

/// The backend on which the checks of a card run, unless they ask for this machine.
pub fn check_backend_of(context: &Context, task: &Task) -> Result<BackendKind> {
    BackendKind::choose(&of_assignee(context, task), None)
}

/// The context of the card's assignee; that of this process if the assignee is no profile.
fn of_assignee(context: &Context, task: &Task) -> Context {
    let name = task.assignee.as_deref();
    let name = name.and_then(|name| ProfileName::parse(name).ok());
    let name = name.filter(|name| existing(&context.location, name).is_ok());
    let Some(name) = name else {
        return context.clone();
    };
    let mut context = context.in_home(&context.location.profile_home(&name));
    context.current = Some(name);
    context
}

/// The same, as if it were the card's worker.
fn of_worker(context: &Context, board: &Board, task: &Task, workspace: &Path) -> Context {
    let context = of_assignee(context, task);
    let env = context
        .env
        .with(&vars::HERMES_KANBAN_TASK, OsStr::new(task.id.as_str()))
        .with(&vars::HERMES_KANBAN_WORKSPACE, workspace.as_os_str())
        .with(&vars::HERMES_KANBAN_BOARD, OsStr::new(board.slug.as_str()))
        .with(&vars::HERMES_KANBAN_DB, board.database.as_os_str())
        .with(
            &vars::HERMES_KANBAN_ATTACHMENTS_ROOT,
            board.attachments.as_os_str(),
        )
        .with(&vars::TERMINAL_CWD, workspace.as_os_str());
    context.with_env(env)
}

impl CheckBackend for AssigneeChecks {
    fn remote(
        &self,
        board: &Board,
        task: &Task,
        workspace: &Path,
    ) -> std::result::Result<Option<Box<dyn RemoteChecks>>, String> {
        let own = self.own.clone().filter(|_| self.is_own_card(task));
        let lease = match own {
            Some(own) => Some(own),
            None => {
                let context = of_worker(&self.context, board, task, workspace);
                lease(&context, task).map_err(|error| told(&error))?
            }
        };
        let checks = lease.map(|lease| -> Box<dyn RemoteChecks> { Box::new(LeasedChecks(lease)) });
        Ok(checks)
    }

    fn confine(
        &self,
        board: &Board,
        task: &Task,
        workspace: &Path,
    ) -> std::result::Result<Option<ConfinedCheck>, String> {
        let context = of_worker(&self.context, board, task, workspace);
        confine_check(&context, task, workspace)
    }
}

/// The remote backend of a card's assignee; `None` for this machine.
fn lease(context: &Context, task: &Task) -> Result<Option<Arc<RemoteLease>>> {
    let request = BackendRequest {
        kind: BackendKind::choose(context, None)?,
        task: None,
        session: task.id.as_str(),
        credential_files: &[],
    };
    let person: Arc<dyn Person> = Arc::new(Nobody);
    let lease = RemoteLease::prepare(context, &live_environment(context), request, &person)?;
    Ok(lease.map(Arc::new))
}

fn told(error: &Error) -> String {
    match error.hint() {
        Some(hint) => format!("{error}; {hint}"),
        None => error.to_string(),
    }
}

/// Checks on a remote backend, each in a session of its own.
struct LeasedChecks(Arc<RemoteLease>);

impl RemoteChecks for LeasedChecks {
    fn run(
        &self,
        command: &str,
        timeout: Duration,
        interrupt: &Wake,
    ) -> std::result::Result<RemoteResult, String> {
        let backend = &self.0.backend;
        let key = SessionKey::new("acceptance-checks");
        let session = Sessions::default().get(&key, &backend.start_directory());
        let workspace = self
            .0
            .card
            .workspace
            .as_ref()
            .map(|path| path.to_string_lossy());
        let shutdown = Wake::new().map_err(|error| error.to_string())?;
        let mut output: Vec<u8> = Vec::new();
        let outcome = backend.run(
            &BackendCommand {
                session: &session,
                command,
                workdir: workspace.as_deref(),
                timeout,
                input: b"",
                confinement: Confinement::None,
                interrupt,
                shutdown: &shutdown,
            },
            &mut |bytes| {
                output.extend_from_slice(bytes);
                let surplus = output.len().saturating_sub(KEPT_OUTPUT);
                output.drain(..surplus);
            },
        );
        let outcome = outcome.map_err(|error| match error {
            BackendError::Workdir(error) => error.to_string(),
            BackendError::Interrupted => "interrupted".to_owned(),
            BackendError::NoSandbox(message) | BackendError::NotStarted { message, .. } => message,
        })?;
        if let Some(error) = outcome.error {
            tracing::warn!(%error, "an acceptance check ran into trouble");
        }
        Ok(RemoteResult {
            exit_code: match outcome.end {
                // A negative one is that of a signal.
                CommandEnd::Exited(code) => (code >= 0).then_some(code),
                CommandEnd::TimedOut | CommandEnd::Interrupted | CommandEnd::Lost => None,
            },
            timed_out: outcome.end == CommandEnd::TimedOut,
            output,
        })
    }
}
