//! Plugins that hear of events.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use hermes_proc::Wake;

use crate::event::HookEvent;
use crate::host::HookHost;
use crate::reply::HookReply;
use crate::run::run_hook;
use crate::spec::HookSpec;

/// What every listener says of itself.
#[derive(Debug, Clone)]
pub struct ListenerProfile {
    /// For messages.
    pub name: String,
    /// What it wants to hear of.
    pub events: Vec<HookEvent>,
    /// Longest wait for its answer.
    pub timeout: Duration,
    /// Whether a call must not be made when it does not answer.
    pub fails_closed: bool,
}

/// Somebody besides the user's commands who hears of events: a plugin.
pub trait HookListener: Send + Sync {
    /// Who it is.
    fn profile(&self) -> &ListenerProfile;

    /// Tells of an event and waits for the answer, no longer than the listener's own limit. The error
    /// says why there is no answer.
    fn ask(
        &self,
        event: HookEvent,
        payload: &str,
        interrupt: Option<&Arc<Wake>>,
    ) -> Result<HookReply, String>;

    /// Its name, for messages.
    fn name(&self) -> &str {
        &self.profile().name
    }

    /// Whether it wants to hear of an event.
    fn hears(&self, event: HookEvent) -> bool {
        self.profile().events.contains(&event)
    }
}

/// The command of a plugin that is started for each event.
pub trait ListenerCommand: Send + Sync {
    /// The program and its arguments; the error says why there is none now.
    fn words(&self) -> Result<Vec<String>, String>;
}

impl ListenerCommand for Vec<String> {
    fn words(&self) -> Result<Vec<String>, String> {
        Ok(self.clone())
    }
}

/// A plugin that is started for each event, as a shell hook is.
pub struct ExecListener {
    pub profile: ListenerProfile,
    /// The program and its arguments.
    pub command: Arc<dyn ListenerCommand>,
    /// The directory of the plugin, in which it is started.
    pub directory: PathBuf,
    /// Variables that its environment has besides those of a user's script.
    pub env_passthrough: Vec<String>,
    pub host: Arc<dyn HookHost>,
}

impl ExecListener {
    /// The words of the command; a program with a relative path is one of the plugin.
    fn words(&self) -> Result<Vec<String>, String> {
        let mut words = self.command.words()?;
        if let Some(program) = words.first_mut()
            && program.contains('/')
            && !program.starts_with(['/', '~'])
        {
            let path = hermes_fs::without_dots(&self.directory.join(&*program));
            *program = path.to_string_lossy().into_owned();
        }
        Ok(words)
    }
}

impl HookListener for ExecListener {
    fn profile(&self) -> &ListenerProfile {
        &self.profile
    }

    fn ask(
        &self,
        event: HookEvent,
        payload: &str,
        interrupt: Option<&Arc<Wake>>,
    ) -> Result<HookReply, String> {
        let words = self.words()?;
        let spec = HookSpec::of_words(event, &words, self.profile.timeout, &self.env_passthrough);
        let run = run_hook(&spec, payload, &*self.host, &self.directory, interrupt);
        match run.problem {
            Some(problem) => Err(problem),
            None => Ok(run.reply),
        }
    }
}

#[cfg(test)]
#[path = "listener_tests.rs"]
mod tests;
