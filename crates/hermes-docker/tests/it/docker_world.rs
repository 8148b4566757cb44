//! A home of its own, an engine, and as many processes' worth of hosts as a test wants.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use hermes_config::{Config, Environment, Sources};
use hermes_docker::{
    DockerError, DockerHost, DockerSandbox, DockerSettings, HostFacts, Observer, SandboxRequest,
    labels,
};
use hermes_terminal::environment::{EnvironmentFacts, LiveEnvironment};
use hermes_terminal::remote::Transport;
use hermes_testkit::{EngineCall, EngineImage, FakeEngine, RealEngine, RemoveContainers};
use serde_json::{Value, json};

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
    root: PathBuf,
    /// Removed at the end, by whoever made it.
    #[expect(dead_code, reason = "kept for its drop")]
    own: Option<tempfile::TempDir>,
    pub(crate) settings: DockerSettings,
    pub(crate) variables: Vec<(String, String)>,
    pub(crate) shown: Arc<Shown>,
    pub(crate) profile: String,
    pub(crate) is_container: bool,
    made: Option<RemoveContainers>,
}

impl DockerWorld {
    fn plain() -> Self {
        let own = tempfile::tempdir().unwrap();
        let root = own.path().canonicalize().unwrap();
        for name in ["hh", "user", "project"] {
            std::fs::create_dir(root.join(name)).unwrap();
        }
        Self {
            own: Some(own),
            ..Self::at_root(root)
        }
    }

    /// Over the directories of another world.
    pub(crate) fn at_root(root: PathBuf) -> Self {
        let home = root.join("user").display().to_string();
        let path = std::env::var("PATH").unwrap();
        let sources = sources(&root.join("hh"), Vec::new());
        Self {
            settings: DockerSettings::from_config(&Config::load_read_only(&sources)).unwrap(),
            root,
            own: None,
            variables: vec![("HOME".to_owned(), home), ("PATH".to_owned(), path)],
            shown: Arc::default(),
            profile: "custom".to_owned(),
            is_container: false,
            made: None,
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
        world.use_real_engine();
        let label = format!("{}={}", labels::HOME, labels::home_key(&world.home()));
        world.made = Some(RemoveContainers::of(RealEngine::Docker, label));
        world
    }

    /// With podman instead of docker.
    pub(crate) fn podman() -> Self {
        let mut world = Self::plain();
        let image = EngineImage::Shell.name_in(RealEngine::Podman);
        image.clone_into(&mut world.settings.image);
        world.settings.orphan_reaper = false;
        world.set("HERMES_DOCKER_BINARY", "podman");
        for (name, value) in RealEngine::Podman.variables() {
            world.set(name, &value.display().to_string());
        }
        let label = format!("{}={}", labels::HOME, labels::home_key(&world.home()));
        world.made = Some(RemoveContainers::of(RealEngine::Podman, label));
        world
    }

    pub(crate) fn use_real_engine(&mut self) {
        EngineImage::Shell
            .name()
            .clone_into(&mut self.settings.image);
        self.settings.orphan_reaper = false;
    }

    /// The directory of everything.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.variables.push((name.to_owned(), value.to_owned()));
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.root.join("hh")
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    pub(crate) fn try_host(&self) -> Result<Arc<DockerHost>, DockerError> {
        let environment = LiveEnvironment::new(
            sources(&self.home(), self.variables.clone()),
            EnvironmentFacts {
                root: self.home(),
                program: self.at("bin/hermes"),
                is_container: false,
                account_home: None,
                file_system_root: self.at("fs"),
            },
        );
        DockerHost::new(
            self.settings.clone(),
            Arc::new(environment),
            HostFacts {
                hermes_home: self.home(),
                profile: self.profile.clone(),
                user_home: self.at("user"),
                protected: hermes_policy::ProtectedHomes::default(),
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
        self.made.as_ref().unwrap().ids()
    }
}

fn sources(home: &Path, variables: Vec<(String, String)>) -> Sources {
    Sources {
        env: Environment::from_pairs(variables),
        home: home.to_owned(),
        managed_dir: None,
        tighten_dotenv: false,
    }
}

/// What `inspect` would say of a container that was made with these arguments.
#[expect(clippy::cast_possible_truncation, reason = "few cores")]
pub(crate) fn made_by(run: &EngineCall, id: &str, state: &str) -> Value {
    let values = |flag: &str| {
        let pairs = run.args.windows(2).filter(move |pair| pair[0] == flag);
        pairs.map(|pair| pair[1].clone()).collect::<Vec<_>>()
    };
    let first = |flag: &str| values(flag).first().cloned().unwrap_or_default();
    let labels: serde_json::Map<String, Value> = values("--label")
        .iter()
        .filter_map(|label| label.split_once('='))
        .map(|(name, value)| (name.to_owned(), json!(value)))
        .collect();
    let mounts: Vec<Value> = values("-v")
        .iter()
        .map(|volume| {
            let parts: Vec<&str> = volume.split(':').collect();
            json!({
                "Type": if parts[0].starts_with('/') { "bind" } else { "volume" },
                "Source": parts[0], "Destination": parts[1], "RW": parts.get(2) != Some(&"ro"),
            })
        })
        .collect();
    let no_network = run.args.iter().any(|arg| arg == "--network=none");
    let memory: i64 = first("--memory").trim_end_matches('m').parse().unwrap_or(0);
    let cpus: f64 = first("--cpus").parse().unwrap_or(0.0);
    json!({
        "Id": id,
        "Name": format!("/{}", first("--name")),
        "Created": "2026-01-01T00:00:00Z",
        "State": {"Status": state, "FinishedAt": "0001-01-01T00:00:00Z"},
        "Config": {
            "Image": run.args[run.args.len() - 3], "User": first("--user"),
            "Labels": labels, "Env": values("-e"),
        },
        "HostConfig": {
            "NetworkMode": if no_network { "none" } else { "default" },
            "CapAdd": values("--cap-add"),
            "NanoCpus": (cpus * 1000.0) as i64 * 1_000_000, "Memory": memory * 1024 * 1024,
            "PidsLimit": first("--pids-limit").parse::<i64>().unwrap_or(0),
        },
        "Mounts": mounts,
    })
}

impl FakeEngineExt for FakeEngine {
    fn have(&self, containers: &[Value]) {
        let lines: Vec<String> = containers
            .iter()
            .map(|one| {
                format!(
                    "{}\t{}\n",
                    short(one),
                    one["State"]["Status"].as_str().unwrap()
                )
            })
            .collect();
        self.print("ps", &lines.concat());
        self.print("inspect", &Value::from(containers.to_vec()).to_string());
    }
}

/// An engine with containers.
pub(crate) trait FakeEngineExt {
    /// Lists and shows these, whatever is asked.
    fn have(&self, containers: &[Value]);
}

fn short(container: &Value) -> String {
    container["Id"].as_str().unwrap().chars().take(12).collect()
}

/// A full id that begins with this digit.
pub(crate) fn full_id(digit: char) -> String {
    format!("{digit}{}", "0123456789abcdef".repeat(4).split_off(1))
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
