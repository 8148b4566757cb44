//! The terminal as a whole: settings, sessions, and what ends with the process.

use std::ffi::OsString;
use std::io;
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::time::{Duration, SystemTime};

use hermes_proc::Wake;
use hermes_secret::Redactor;

use super::context::{SpawnRequest, ToolContext};
use super::prepared::PreparedShells;
use super::settings::TerminalSettings;
use super::shell::ShellFinder;
use crate::background::{Guard, Guarded, Registry};
use crate::output::remove_old_outputs;
use crate::remote::RemoteTerminal;
use crate::session::{Sessions, remove_leftover_snapshots};

/// The variable by which the processes of a command are found again.
pub(crate) const MARK: &str = "HERMES_EXEC_ID";

/// Runs commands on this machine, or elsewhere if told so. One per process; shared by all sessions.
pub struct Terminal {
    pub(crate) settings: TerminalSettings,
    pub(crate) shells: ShellFinder,
    pub(crate) redactor: Arc<Redactor>,
    pub(crate) sessions: Sessions,
    pub(crate) background: Registry,
    /// Raised once, when the process is about to end.
    pub(crate) shutdown: Wake,
    /// Where commands run if not here.
    pub(crate) remote: Option<Arc<RemoteTerminal>>,
    /// Shells that wait for a command.
    pub(crate) prepared: PreparedShells,
    guard: OnceLock<Option<Guard>>,
    running: Running,
}

/// How many foreground commands run.
#[derive(Default)]
struct Running {
    count: Mutex<usize>,
    changed: Condvar,
}

impl Terminal {
    /// A backend with these settings.
    pub fn new(
        settings: TerminalSettings,
        shells: ShellFinder,
        redactor: Arc<Redactor>,
    ) -> io::Result<Self> {
        let background = Registry::new(&settings.home, redactor.clone())?;
        Ok(Self {
            background,
            settings,
            shells,
            redactor,
            sessions: Sessions::default(),
            shutdown: Wake::new()?,
            remote: None,
            prepared: PreparedShells::default(),
            guard: OnceLock::new(),
            running: Running::default(),
        })
    }

    /// Runs all commands in another place, and none here. Sessions start where the place says.
    #[must_use]
    pub fn with_remote(mut self, remote: Arc<RemoteTerminal>) -> Self {
        self.settings.start_directory = remote.start_directory();
        self.remote = Some(remote);
        self
    }

    /// The place where commands run if not here.
    pub fn remote(&self) -> Option<&Arc<RemoteTerminal>> {
        self.remote.as_ref()
    }

    /// The settings.
    pub fn settings(&self) -> &TerminalSettings {
        &self.settings
    }

    /// The sessions.
    pub fn sessions(&self) -> &Sessions {
        &self.sessions
    }

    /// The background processes.
    pub fn background(&self) -> &Registry {
        &self.background
    }

    /// Removes what earlier programs left: session files in the temporary directory and outputs
    /// older than a day. Called once at start.
    pub fn clean_up(&self) {
        let now = SystemTime::now();
        let snapshots = remove_leftover_snapshots(&self.settings.temp_directory, now);
        let outputs = remove_old_outputs(&self.output_directory(), now);
        if snapshots + outputs > 0 {
            tracing::info!(snapshots, outputs, "old files removed");
        }
    }

    /// Kills all foreground commands and waits until they are gone; `false` if some are still
    /// there after `limit`. Called when the process is told to end.
    pub fn shut_down(&self, limit: Duration) -> bool {
        self.shutdown.raise();
        self.prepared.end_all();
        let count = self
            .running
            .count
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let (count, _) = self
            .running
            .changed
            .wait_timeout_while(count, limit, |count| *count > 0)
            .unwrap_or_else(PoisonError::into_inner);
        *count == 0
    }

    /// Counts a foreground command for as long as the value lives.
    pub(crate) fn count_in(&self) -> Counted<'_> {
        self.running.change(|count| count.saturating_add(1));
        Counted(&self.running)
    }

    /// Ends everything that carries this value of `HERMES_EXEC_ID` (16 hexadecimal digits) should we be
    /// killed, for as long as the answer lives. For programs that are not started as commands.
    pub fn guard_processes(&self, mark: &str) -> Option<Guarded<'_>> {
        self.guard()?.guard_processes(mark)
    }

    /// The process that ends our commands should we be killed. Without one they run all the same.
    pub(crate) fn guard(&self) -> Option<&Guard> {
        let start = || {
            Guard::start(&self.settings.supervisor)
                .inspect_err(|error| tracing::warn!(%error, "commands have no guard"))
                .ok()
        };
        self.guard.get_or_init(start).as_ref()
    }

    pub(crate) fn output_directory(&self) -> std::path::PathBuf {
        self.settings.home.join("cache").join("terminal")
    }

    /// The variables of a shell, always with the mark by which its processes are found again.
    pub(crate) fn variables(
        context: &ToolContext<'_>,
        request: SpawnRequest<'_>,
    ) -> Vec<(OsString, OsString)> {
        let mut variables = context.environment.variables(&request);
        variables.retain(|(name, _)| name != MARK && name != "PWD");
        variables.push((MARK.into(), request.exec_id.into()));
        variables
    }
}

impl Running {
    fn change(&self, change: impl FnOnce(usize) -> usize) {
        let mut count = self.count.lock().unwrap_or_else(PoisonError::into_inner);
        *count = change(*count);
        self.changed.notify_all();
    }
}

/// A running foreground command.
pub(crate) struct Counted<'a>(&'a Running);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.change(|count| count.saturating_sub(1));
    }
}
