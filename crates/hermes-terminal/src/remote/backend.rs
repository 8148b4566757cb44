//! A remote host as the terminal and the file tools see it.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::error::RemoteError;
use super::host::RemoteHost;
use super::script_run::{ScriptOutcome, ScriptRequest, ScriptRunner};
use super::settings::RemoteSettings;
use super::transport::Transport;
use crate::backend::{Backend, BackendCommand, BackendError, BackendOutcome, BackendProcess};
use crate::background::{Guarded, StartError, StartedProcess};
use crate::shell::Session;

/// Runs commands in a container or on another machine. One per host; shared by all sessions. When the
/// last user is dropped its channels are closed; background processes there go on.
pub struct RemoteBackend {
    pub(super) host: Arc<RemoteHost>,
}

impl RemoteBackend {
    /// The host that is reached through `transport`. Nothing is started before the first command.
    pub fn new(transport: Arc<dyn Transport>, settings: RemoteSettings) -> Self {
        Self {
            host: Arc::new(RemoteHost::new(transport, settings)),
        }
    }

    /// Whether background processes of ours run there.
    pub fn has_live_background(&self) -> bool {
        self.host.background.load(Ordering::Acquire) > 0
    }

    /// Whether a command is under way.
    pub fn is_busy(&self) -> bool {
        self.host.is_busy()
    }

    /// How long nothing of ours has run there; `None` while something runs.
    pub fn idle_for(&self) -> Option<Duration> {
        let is_idle = !self.is_busy() && !self.has_live_background();
        is_idle.then(|| self.host.last_activity().elapsed())
    }

    /// Closes all channels; what runs in the background goes on. The next command opens new ones;
    /// sessions keep their state.
    pub fn detach(&self) {
        self.host.detach();
    }
}

impl Backend for RemoteBackend {
    fn describe(&self) -> String {
        self.host.transport.describe()
    }

    fn start_directory(&self) -> PathBuf {
        self.host.transport.start_directory()
    }

    fn run(
        &self,
        command: &BackendCommand<'_>,
        sink: &mut dyn FnMut(&[u8]),
    ) -> Result<BackendOutcome, BackendError> {
        self.host.run_command(command, sink)
    }

    fn start(&self, process: &BackendProcess<'_>) -> Result<StartedProcess, StartError> {
        self.host.start_process(process)
    }

    /// The variables shells there begin with are known there; here is known what has changed since.
    fn variable(&self, session: &Session, name: &str) -> Option<OsString> {
        let overlay = session.snapshot().overlay;
        let changed = overlay.session.get(OsStr::new(name));
        changed
            .or_else(|| overlay.login.get(OsStr::new(name)))?
            .clone()
    }

    /// The control channel ends what runs there should Hermes be killed.
    fn guard_processes(&self, _: &str) -> Option<Guarded<'_>> {
        None
    }

    fn shut_down(&self) {}
}

impl ScriptRunner for RemoteBackend {
    fn describe(&self) -> String {
        self.host.transport.describe()
    }

    fn run_script(&self, request: &ScriptRequest<'_>) -> Result<ScriptOutcome, RemoteError> {
        let _active = self.host.count_in();
        self.host.prepare();
        self.host.run_script(request, true)
    }
}
