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

/// Somebody besides the user's commands who hears of events: a plugin.
pub trait HookListener: Send + Sync {
    /// Its name, for messages.
    fn name(&self) -> &str;

    /// Whether it wants to hear of an event.
    fn hears(&self, event: HookEvent) -> bool;

    /// Tells of an event and waits for the answer, no longer than the listener's own limit. The error
    /// says why there is no answer.
    fn ask(
        &self,
        event: HookEvent,
        payload: &str,
        interrupt: Option<&Arc<Wake>>,
    ) -> Result<HookReply, String>;

    /// Whether a call must not be made when the listener does not answer.
    fn fails_closed(&self) -> bool;
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
    pub name: String,
    pub events: Vec<HookEvent>,
    /// The program and its arguments.
    pub command: Arc<dyn ListenerCommand>,
    /// The directory of the plugin, in which it is started.
    pub directory: PathBuf,
    /// Variables that its environment has besides those of a user's script.
    pub env_passthrough: Vec<String>,
    pub timeout: Duration,
    pub fails_closed: bool,
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
    fn name(&self) -> &str {
        &self.name
    }

    fn hears(&self, event: HookEvent) -> bool {
        self.events.contains(&event)
    }

    fn ask(
        &self,
        event: HookEvent,
        payload: &str,
        interrupt: Option<&Arc<Wake>>,
    ) -> Result<HookReply, String> {
        let words = self.words()?;
        let spec = HookSpec::of_words(event, &words, self.timeout, &self.env_passthrough);
        let run = run_hook(&spec, payload, &*self.host, &self.directory, interrupt);
        match run.problem {
            Some(problem) => Err(problem),
            None => Ok(run.reply),
        }
    }

    fn fails_closed(&self) -> bool {
        self.fails_closed
    }
}

#[cfg(test)]
#[path = "listener_tests.rs"]
mod tests;
