//! Containers of the image, and volumes for them.

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use hermes_testkit::RealEngine;

/// How long anything may take here.
const LIMIT: Duration = Duration::from_mins(1);

/// What a command left.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
        }
    }
}

/// The name of the image, built by whichever test comes first for this program and these files.
pub(crate) fn image() -> &'static str {
    static NAME: OnceLock<String> = OnceLock::new();
    NAME.get_or_init(|| {
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR"))
            .ancestors()
            .nth(2)
            .unwrap();
        let program = Path::new(env!("CARGO_BIN_EXE_hermes"));
        let name = format!("hermes-test-image:{:016x}", made_from(workspace, program));
        let lock = fs::File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(std::env::temp_dir().join("hermes-test-image.lock"))
            .unwrap();
        lock.lock().unwrap();
        if RealEngine::Docker.ask(&["image", "inspect", &name]).0 {
            return name;
        }
        // Of other programs; those in use stay.
        let others = RealEngine::Docker.demand(&["images", "--quiet", "hermes-test-image"]);
        for other in others.lines() {
            RealEngine::Docker.ask(&["rmi", other]);
        }
        let built = Command::new(workspace.join("scripts/image"))
            .args(["--tag", &name, "--binary"])
            .arg(program)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let built = Ran::from(built);
        assert_eq!(built.code, 0, "{built:?}");
        name
    })
}

/// Another program or another file of the image is another image.
fn made_from(workspace: &Path, program: &Path) -> u64 {
    let mut hasher = DefaultHasher::new();
    let meta = fs::metadata(program).unwrap();
    (program, meta.len(), meta.modified().unwrap()).hash(&mut hasher);
    let mut pending = vec![workspace.join("docker"), workspace.join("scripts/image")];
    while let Some(path) = pending.pop() {
        if path.is_dir() {
            let mut entries: Vec<_> = fs::read_dir(&path)
                .unwrap()
                .map(|e| e.unwrap().path())
                .collect();
            entries.sort();
            pending.extend(entries);
        } else {
            (&path, fs::read(&path).unwrap()).hash(&mut hasher);
        }
    }
    hasher.finish()
}

/// A volume; it goes with this value.
pub(crate) struct Volume {
    name: String,
}

impl Volume {
    pub(crate) fn new() -> Self {
        Self::with_options(&[])
    }

    /// A volume with options of its driver.
    pub(crate) fn with_options(options: &[&str]) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::SeqCst);
        let name = format!("hermes-test-{}-{count}", std::process::id());
        let mut args = vec!["volume", "create"];
        for option in options {
            args.extend(["--opt", option]);
        }
        args.push(&name);
        RealEngine::Docker.demand(&args);
        Self { name }
    }

    /// The argument that mounts it where the image keeps its data.
    pub(crate) fn mounted(&self) -> String {
        format!("--volume={}:/opt/data", self.name)
    }

    /// The same, not to be written.
    pub(crate) fn mounted_read_only(&self) -> String {
        format!("--volume={}:/opt/data:ro", self.name)
    }

    /// Runs a script on it as root, without anything of the image but its tools.
    #[track_caller]
    pub(crate) fn root(&self, script: &str) -> String {
        let mount = self.mounted();
        let ran = docker(&[
            "run",
            "--rm",
            &mount,
            "--entrypoint=bash",
            image(),
            "-c",
            script,
        ]);
        assert_eq!(ran.code, 0, "{script}: {ran:?}");
        ran.stdout
    }
}

impl Drop for Volume {
    fn drop(&mut self) {
        RealEngine::Docker.ask(&["volume", "rm", "-f", &self.name]);
    }
}

/// Calls the engine.
pub(crate) fn docker(args: &[&str]) -> Ran {
    docker_with_input(args, "")
}

/// Calls the engine with something to read.
pub(crate) fn docker_with_input(args: &[&str], input: &str) -> Ran {
    let mut child = Command::new("docker")
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A container that does not read is no failure of the test.
    drop(child.stdin.take().unwrap().write_all(input.as_bytes()));
    child.wait_with_output().unwrap().into()
}

/// Runs the image until its command has ended.
pub(crate) fn run(options: &[&str], command: &[&str]) -> Ran {
    let mut args = vec!["run", "--rm"];
    args.extend(options);
    args.push(image());
    args.extend(command);
    docker(&args)
}

/// A container in the background; it goes with this value.
pub(crate) struct Container {
    pub(crate) id: String,
}

impl Container {
    /// Starts one.
    pub(crate) fn start(options: &[&str], command: &[&str]) -> Self {
        let mut args = vec!["run", "--detach"];
        args.extend(options);
        args.push(image());
        args.extend(command);
        let id = RealEngine::Docker.demand(&args);
        Self { id }
    }

    /// Starts one and waits for the line that says that its boot is done.
    pub(crate) fn boot(options: &[&str], command: &[&str]) -> Self {
        let container = Self::start(options, command);
        container.wait_until_ready(1);
        container
    }

    /// Waits for the `n`-th boot.
    #[track_caller]
    pub(crate) fn wait_until_ready(&self, boots: usize) {
        self.wait_until("the boot is done", || {
            self.logs().matches("profile=default ").count() >= boots
                && self.as_root("test -p /run/service/.s6-svscan/control").code == 0
        });
    }

    /// Everything it has printed, both streams.
    pub(crate) fn logs(&self) -> String {
        let ran = docker(&["logs", &self.id]);
        format!("{}\n{}", ran.stdout, ran.stderr)
    }

    /// Runs a script as the runtime user.
    pub(crate) fn exec(&self, script: &str) -> Ran {
        docker(&["exec", "--user", "hermes", &self.id, "bash", "-c", script])
    }

    /// The same, which must succeed; what it printed.
    #[track_caller]
    pub(crate) fn must(&self, script: &str) -> String {
        let ran = self.exec(script);
        assert_eq!(ran.code, 0, "{script}: {ran:?}");
        ran.stdout
    }

    /// Runs a script as root, for tests about root.
    pub(crate) fn as_root(&self, script: &str) -> Ran {
        docker(&["exec", "--user", "0", &self.id, "bash", "-c", script])
    }

    /// Waits until something holds.
    #[track_caller]
    pub(crate) fn wait_until(&self, what: &str, holds: impl Fn() -> bool) {
        let deadline = Instant::now() + LIMIT;
        while !holds() {
            assert!(Instant::now() < deadline, "{what}: {}", self.logs());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Waits until a script of the runtime user succeeds.
    #[track_caller]
    pub(crate) fn wait_for(&self, script: &str) {
        self.wait_until(script, || self.exec(script).code == 0);
    }

    /// Stops it; how long that took.
    pub(crate) fn stop(&self) -> Duration {
        let began = Instant::now();
        RealEngine::Docker.demand(&["stop", "--time=30", &self.id]);
        began.elapsed()
    }

    pub(crate) fn restart(&self) {
        RealEngine::Docker.demand(&["restart", "--time=30", &self.id]);
    }

    /// Waits for its end; its exit code.
    pub(crate) fn wait(&self) -> i32 {
        RealEngine::Docker
            .demand(&["wait", &self.id])
            .parse()
            .unwrap()
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        RealEngine::Docker.ask(&["rm", "--force", "--volumes", &self.id]);
    }
}

/// What a command printed as JSON.
#[track_caller]
pub(crate) fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}
