//! A user with a home and an engine, and what the engine has of theirs.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use hermes_docker::labels;
use hermes_testkit::{
    EngineImage, ProgramCall, ProgramOutput, RealEngine, RemoveContainers, Running, TestHome,
};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::recorder::Recorder;
use crate::talk::Talk;

/// Long enough for a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// A home whose commands run anywhere but on this machine.
pub(crate) trait Somewhere {
    /// Changes settings of `terminal`; those not named are as in a new place.
    fn configure(&self, settings: Value);

    /// A call of the program.
    fn hermes(&self, args: &[&str]) -> ProgramCall;

    /// Where commands are checked before they run, they may not be longer than can be checked.
    fn longest_word(&self) -> usize {
        300 * 1024
    }

    /// A conversation with `hermes tools call --stdin`.
    fn talk(&self) -> Talk {
        Talk::new(self.hermes(&["tools", "call", "--stdin"]).start())
    }
}

impl Somewhere for Place {
    fn configure(&self, settings: Value) {
        Self::configure(self, settings);
    }

    fn hermes(&self, args: &[&str]) -> ProgramCall {
        Self::hermes(self, args)
    }
}

/// A home whose commands run in containers of a real engine.
pub(crate) struct Place {
    pub(crate) home: TestHome,
    pub(crate) engine: RealEngine,
    env: Vec<(String, OsString)>,
    containers: RemoveContainers,
}

impl Place {
    /// With the small image that has a bash.
    pub(crate) fn on(engine: RealEngine) -> Self {
        Self::with(engine, json!({}))
    }

    /// With more settings of `terminal`.
    pub(crate) fn with(engine: RealEngine, settings: Value) -> Self {
        let home = new_home();
        let label = format!("{}={}", labels::HOME, labels::home_key(&home.root()));
        let mut env = Vec::new();
        for (name, value) in engine.variables() {
            env.push((name.to_owned(), value.into_os_string()));
        }
        if engine == RealEngine::Podman {
            env.push(("HERMES_DOCKER_BINARY".to_owned(), "podman".into()));
        }
        let place = Self {
            home,
            engine,
            env,
            containers: RemoveContainers::of(engine, label),
        };
        place.configure(settings);
        place
    }

    /// Changes settings of `terminal`; those not named are the defaults.
    pub(crate) fn configure(&self, settings: Value) {
        let image = EngineImage::Shell.name_in(self.engine);
        let mut terminal = json!({"backend": "docker", "docker_image": image});
        merge(&mut terminal, settings);
        put_config(&self.home, &terminal);
    }

    /// Sets a variable of the program.
    pub(crate) fn env(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.env.push((name.to_owned(), value.into()));
        self
    }

    /// A call of the program as on a machine that is no container.
    pub(crate) fn hermes<S: AsRef<str>>(&self, args: &[S]) -> ProgramCall {
        let args = args.iter().map(AsRef::as_ref);
        let run = on_host(self.home.hermes(args)).in_directory(&self.home.outside("work"));
        self.env
            .iter()
            .fold(run, |run, (name, value)| run.env(name, value))
    }

    /// The same with every call of the engine noted.
    pub(crate) fn recorded<S: AsRef<str>>(&self, recorder: &Recorder, args: &[S]) -> ProgramCall {
        self.hermes(args)
            .env("HERMES_DOCKER_BINARY", recorder.program())
    }

    /// `hermes exec` to its end.
    pub(crate) fn exec(&self, command: &str) -> ProgramOutput {
        self.hermes(&["exec", "--", command]).run()
    }

    /// What a command that must succeed prints, without the last line end.
    #[track_caller]
    pub(crate) fn output(&self, command: &str) -> String {
        let outcome = self.exec(command);
        outcome.succeeds();
        outcome.stdout.trim_end_matches('\n').to_owned()
    }

    /// A conversation with `hermes tools call --stdin`.
    pub(crate) fn talk(&self) -> Talk {
        Talk::new(self.hermes(&["tools", "call", "--stdin"]).start())
    }

    /// Full ids of all containers of this home.
    pub(crate) fn ids(&self) -> Vec<String> {
        self.containers.ids()
    }

    /// Id of the only container of this home.
    #[track_caller]
    pub(crate) fn only_id(&self) -> String {
        let ids = self.ids();
        assert_eq!(ids.len(), 1, "{ids:?}");
        ids[0].clone()
    }

    /// A field of a container, by a template of the engine.
    #[track_caller]
    pub(crate) fn look(&self, id: &str, template: &str) -> String {
        self.engine.demand(&["inspect", "--format", template, id])
    }

    /// Command lines of all processes in a container that runs. Read from the kernel: Podman refuses
    /// its list when a process ends while it looks.
    #[track_caller]
    pub(crate) fn processes(&self, id: &str) -> Vec<String> {
        let first = self.look(id, "{{.State.Pid}}");
        let namespace = |pid: &str| std::fs::read_link(format!("/proc/{pid}/ns/pid")).ok();
        let inside = namespace(&first);
        assert!(inside.is_some(), "{id} does not run");
        std::fs::read_dir("/proc")
            .unwrap()
            .filter_map(|entry| entry.unwrap().file_name().into_string().ok())
            .filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()))
            .filter(|pid| namespace(pid) == inside)
            // What has ended and was not yet waited for has no command line.
            .filter_map(|pid| std::fs::read(format!("/proc/{pid}/cmdline")).ok())
            .filter(|line| !line.is_empty())
            .map(|line| String::from_utf8_lossy(&line).replace('\0', " "))
            .collect()
    }

    /// Whether a process with this in its command line runs in a container.
    #[track_caller]
    pub(crate) fn runs(&self, id: &str, part: &str) -> bool {
        self.processes(id).iter().any(|line| line.contains(part))
    }

    /// Whether a process of ours is connected with a container, by whatever way.
    #[track_caller]
    pub(crate) fn is_attached(&self, id: &str) -> bool {
        self.runs(id, "_h_k")
    }

    /// What `hermes sandbox list` says about the containers of this home.
    #[track_caller]
    pub(crate) fn listed(&self) -> Vec<Value> {
        let outcome = self.hermes(&["sandbox", "list", "--json"]).run();
        let listed = outcome.succeeds().json();
        let rows = listed["sandboxes"].as_array().unwrap().iter();
        rows.filter(|row| row["home"] == "this").cloned().collect()
    }

    /// A path in the directory of the shared sandbox.
    pub(crate) fn sandbox(&self, name: &str) -> PathBuf {
        self.home.path("sandboxes/docker/default").join(name)
    }

    /// All that was logged.
    pub(crate) fn log(&self) -> String {
        log_of(&self.home.root())
    }
}

/// A user's home with a directory to work in.
pub(crate) fn new_home() -> TestHome {
    let home = TestHome::new(env!("CARGO_BIN_EXE_hermes"));
    std::fs::create_dir(home.outside("work")).unwrap();
    home
}

/// Writes the settings of a home; JSON is YAML.
pub(crate) fn put_config(home: &TestHome, terminal: &Value) {
    home.put("config.yaml", json!({ "terminal": terminal }).to_string());
}

/// Tests run in containers, too, and mean to show what happens elsewhere. Debug builds only.
pub(crate) fn on_host(run: ProgramCall) -> ProgramCall {
    if cfg!(debug_assertions) {
        run.on_host()
    } else {
        run
    }
}

pub(crate) fn log_of(root: &Path) -> String {
    std::fs::read_to_string(root.join("logs/agent.log")).unwrap_or_default()
}

pub(crate) fn merge(into: &mut Value, more: Value) {
    if let (Value::Object(into), Value::Object(more)) = (into, more) {
        into.extend(more);
    }
}

/// Looks again until it is so, with a deadline.
#[track_caller]
pub(crate) fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < deadline, "never came true: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Text of a field.
#[track_caller]
pub(crate) fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field]
        .as_str()
        .unwrap_or_else(|| panic!("no text {field}: {value}"))
}

/// Processes that a program has started and that run.
pub(crate) fn clients_of(program: &Running) -> Vec<u32> {
    let is_child = |pid: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // The name before it is in brackets and may hold anything.
        let mut fields = stat
            .rsplit_once(") ")
            .map_or("", |(_, rest)| rest)
            .split(' ');
        let state = fields.next();
        state != Some("Z") && fields.next() == Some(&program.pid().to_string())
    };
    let processes = std::fs::read_dir("/proc").unwrap();
    let pids = processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    pids.filter(is_child).collect()
}

/// Sends a signal to the program.
pub(crate) fn signal(program: &Running, signal: Signal) {
    let pid = Pid::from_raw(program.pid().try_into().unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}
