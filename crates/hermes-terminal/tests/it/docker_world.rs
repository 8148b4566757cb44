//! A home of its own, an engine, and as many processes' worth of hosts as a test wants.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use hermes_config::{Environment, Sources};
use hermes_terminal::docker::{
    DockerError, DockerHost, DockerSandbox, DockerSettings, HostFacts, Observer, SandboxRequest,
    labels,
};
use hermes_terminal::environment::{EnvironmentFacts, LiveEnvironment};
use hermes_terminal::remote::Transport;
use hermes_testkit::{EngineImage, FakeEngine, RemoveContainers};

/// Keeps what people would be shown.
#[derive(Debug, Default)]
pub(crate) struct Shown {
    pub(crate) lines: Mutex<Vec<String>>,
}

impl Shown {
    pub(crate) fn all(&self) -> Vec<String> {
        self.lines.lock().unwrap().clone()
    }
}

impl Observer for Shown {
    fn progress(&self, line: &str) {
        self.lines.lock().unwrap().push(format!("progress: {line}"));
    }

    fn notice(&self, text: &str) {
        self.lines.lock().unwrap().push(text.to_owned());
    }
}

/// A user with a home, and an engine.
pub(crate) struct DockerWorld {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) settings: DockerSettings,
    pub(crate) variables: Vec<(String, String)>,
    pub(crate) shown: Arc<Shown>,
    pub(crate) profile: String,
    pub(crate) is_container: bool,
    _containers: Option<RemoveContainers>,
}

impl DockerWorld {
    fn plain() -> Self {
        let dir = tempfile::tempdir().unwrap();
        for name in ["hh", "user", "project"] {
            std::fs::create_dir(dir.path().join(name)).unwrap();
        }
        let settings = DockerSettings::defaults(&dir.path().join("hh"));
        let home = dir.path().join("user").display().to_string();
        let path = std::env::var("PATH").unwrap();
        Self {
            dir,
            settings,
            variables: vec![("HOME".to_owned(), home), ("PATH".to_owned(), path)],
            shown: Arc::default(),
            profile: "custom".to_owned(),
            is_container: false,
            _containers: None,
        }
    }

    /// With an engine that only notes its calls.
    pub(crate) fn faked(engine: &FakeEngine) -> Self {
        let mut world = Self::plain();
        // The sweep runs beside the test and would add calls of its own.
        world.settings.orphan_reaper = false;
        let program = engine.program().display().to_string();
        world.set("HERMES_DOCKER_BINARY", &program);
        world
    }

    /// With the real engine and a small image.
    pub(crate) fn real() -> Self {
        let mut world = Self::plain();
        world.settings.image = EngineImage::Shell.name().to_owned();
        world.settings.orphan_reaper = false;
        let label = format!("{}={}", labels::HOME, labels::home_key(&world.home()));
        world._containers = Some(RemoveContainers::with_label(label));
        world
    }

    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.variables.push((name.to_owned(), value.to_owned()));
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.dir.path().join("hh")
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn try_host(&self) -> Result<Arc<DockerHost>, DockerError> {
        let environment = LiveEnvironment::new(
            Sources {
                env: Environment::from_pairs(self.variables.clone()),
                home: self.home(),
                managed_dir: None,
                tighten_dotenv: false,
            },
            EnvironmentFacts {
                root: self.home(),
                program: self.at("bin/hermes"),
                is_container: false,
                account_home: None,
                file_system_root: self.at("fs"),
            },
        );
        DockerHost::with_settings(
            self.settings.clone(),
            Arc::new(environment),
            HostFacts {
                hermes_home: self.home(),
                profile: self.profile.clone(),
                user_home: self.at("user"),
                start_directory: Some(self.at("project")),
                is_container: self.is_container,
                file_system_root: self.at("fs"),
            },
            self.shown.clone(),
        )
    }

    /// What a process shares; a second one stands for a second process.
    pub(crate) fn host(&self) -> Arc<DockerHost> {
        self.try_host().unwrap()
    }

    pub(crate) fn sandbox(&self) -> DockerSandbox {
        self.sandbox_of("default")
    }

    pub(crate) fn sandbox_of(&self, task: &str) -> DockerSandbox {
        DockerSandbox::new(self.host(), SandboxRequest::of(task))
    }

    /// The containers of this home that the real engine has.
    pub(crate) fn containers(&self) -> Vec<String> {
        self._containers.as_ref().unwrap().ids()
    }
}

/// Runs a command line in a sandbox and gives its exit code and both outputs.
pub(crate) fn run_in(sandbox: &DockerSandbox, line: &str) -> (i32, String) {
    sandbox.ensure().unwrap();
    let launch = sandbox.launch(&["sh", "-c", line]).unwrap();
    let output = std::process::Command::new(launch.program)
        .args(launch.args)
        .env_clear()
        .envs(launch.variables)
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).trim().to_owned();
    (output.status.code().unwrap_or(-1), text)
}

pub(crate) fn id_of(sandbox: &DockerSandbox) -> String {
    sandbox.container().unwrap().id
}
