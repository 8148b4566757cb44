//! A temporary home whose model plays a script.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use hermes_config::Environment;
use hermes_home::{SystemFacts, select};
use hermes_proc::Wake;
use hermes_runtime::{Context, ConversationRequest, Person, Program, Runtime};
use tempfile::TempDir;

pub(crate) struct World {
    directory: TempDir,
    variables: Vec<(String, String)>,
}

impl World {
    /// A home with this replay script.
    pub(crate) fn playing(script: &str) -> Self {
        let world = Self {
            directory: tempfile::tempdir().unwrap(),
            variables: Vec::new(),
        };
        std::fs::create_dir_all(world.home()).unwrap();
        std::fs::create_dir_all(world.work()).unwrap();
        std::fs::write(world.home().join("script.yaml"), script).unwrap();
        world.configure("");
        world
    }

    /// Writes the settings anew, with these lines after the model.
    pub(crate) fn configure(&self, more: &str) {
        let settings = format!("model: {{provider: replay, script: script.yaml}}\n{more}\n");
        std::fs::write(self.home().join("config.yaml"), settings).unwrap();
    }

    /// Adds a variable to the environment.
    pub(crate) fn set(&mut self, name: &str, value: impl ToString) {
        self.variables.push((name.to_owned(), value.to_string()));
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.directory.path().join(".hermes")
    }

    /// The directory that conversations work in.
    pub(crate) fn work(&self) -> PathBuf {
        self.directory.path().join("work")
    }

    pub(crate) fn context(&self) -> Context {
        let path = |path: &Path| path.display().to_string();
        let mut variables = vec![
            ("HOME".to_owned(), path(self.directory.path())),
            ("HERMES_HOME".to_owned(), path(&self.home())),
            ("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned()),
        ];
        variables.extend(self.variables.iter().cloned());
        let env = Environment::from_pairs(variables);
        let system = SystemFacts::of_process();
        let selection = select(&[], &env, &system).unwrap();
        let context = Context::new(&env, system, &selection, Program::named("hermes"));
        context.in_directory(&self.work())
    }

    pub(crate) fn runtime(&self) -> Runtime {
        Runtime::new(self.context())
    }
}

/// A request for a new session.
pub(crate) fn request() -> ConversationRequest {
    ConversationRequest::new("test", Arc::new(Wake::new().unwrap()))
}

/// Keeps what it is shown.
#[derive(Default)]
pub(crate) struct Listener {
    pub(crate) shown: Mutex<Vec<String>>,
}

impl Person for Listener {
    fn warn(&self, message: &str, _: Option<&str>) {
        self.shown
            .lock()
            .unwrap()
            .push(format!("warning: {message}"));
    }

    fn notify(&self, message: &str) {
        self.shown.lock().unwrap().push(message.to_owned());
    }
}
