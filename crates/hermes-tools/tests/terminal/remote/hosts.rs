//! Places to run commands in.

use hermes_testkit::EngineImage;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use hermes_secret::SecretString;
use hermes_terminal::remote::{
    Launch, RemoteBackend, RemoteSettings, SessionVariable, Transport, TransportError, Trouble,
};

use crate::world::World;

/// How shells are started, and what is counted about it.
pub(crate) struct TestHost {
    pub(crate) kind: Kind,
    pub(crate) home: tempfile::TempDir,
    pub(crate) launches: AtomicUsize,
    pub(crate) ensured: AtomicUsize,
    pub(crate) variables: Vec<(&'static str, &'static str)>,
    pub(crate) hurdle: Hurdle,
}

/// What goes wrong with the channels of commands; control is spared.
pub(crate) enum Hurdle {
    None,
    /// The first so many clients say that they are busy.
    Busy(AtomicUsize),
    /// No client is ever given.
    Refused,
    /// Clients never greet.
    Deaf,
    /// Something writes what looks like records between the real ones.
    Garbage,
}

pub(crate) enum Kind {
    /// A child of this machine.
    Child,
    /// The same, with nothing but busybox on its path.
    Busybox(tempfile::TempDir),
    /// A child of this machine that sees no process table.
    NoProc,
    /// A container.
    Docker(Container),
}

impl Transport for TestHost {
    fn ensure(&self) -> Result<(), TransportError> {
        self.ensured.fetch_add(1, Ordering::SeqCst);
        if let Kind::Docker(container) = &self.kind {
            container.ensure();
        }
        Ok(())
    }

    fn launch(&self, argv: &[&str]) -> Result<Launch, TransportError> {
        self.launches.fetch_add(1, Ordering::SeqCst);
        let is_command = argv.iter().any(|text| text.contains("hello"));
        let script = match &self.hurdle {
            _ if !is_command => None,
            Hurdle::None => None,
            Hurdle::Busy(left) => {
                let takes_one = |left: usize| left.checked_sub(1);
                let is_busy = left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, takes_one);
                is_busy
                    .is_ok()
                    .then_some("echo the host is busy >&2; exit 1")
            }
            Hurdle::Refused => return Err(refused("the host is closed")),
            Hurdle::Deaf => Some("exec sleep 300"),
            Hurdle::Garbage => Some(
                "(while sleep 0.01; do printf 'x\\0nabc\\0end\\0001\\0\\0nabc\\0start\\0' >&2; done) & exec \"$@\"",
            ),
        };
        if let Some(script) = script {
            let mut args: Vec<OsString> = ["-c", script, "sh"].map(OsString::from).into();
            args.extend(argv.iter().map(OsString::from));
            return Ok(Launch {
                program: "/bin/sh".into(),
                args,
                variables: vec![
                    ("PATH".into(), "/usr/bin:/bin".into()),
                    ("HOME".into(), self.home.path().into()),
                ],
            });
        }
        let mut args: Vec<OsString> = Vec::new();
        let (program, path): (PathBuf, OsString) = match &self.kind {
            Kind::Child => {
                args.extend(["-c", "exec \"$@\"", "sh"].map(OsString::from));
                ("/bin/sh".into(), "/usr/local/bin:/usr/bin:/bin".into())
            }
            Kind::NoProc => {
                let hide = "mount -t tmpfs none /proc && exec \"$@\"";
                // Only root may mount without a namespace of users, and may not be allowed one.
                let is_root = rustix::process::geteuid().is_root();
                args.extend((!is_root).then(|| OsString::from("--map-root-user")));
                args.extend(["-m", "sh", "-c", hide, "sh"].map(OsString::from));
                ("/usr/bin/unshare".into(), "/usr/bin:/bin".into())
            }
            Kind::Busybox(applets) => {
                args.extend(["sh", "-c", "exec \"$@\"", "sh"].map(OsString::from));
                ("/usr/bin/busybox".into(), applets.path().into())
            }
            Kind::Docker(container) => {
                args.extend(["exec", "-i", &container.name].map(OsString::from));
                ("/usr/bin/docker".into(), "/usr/bin:/bin".into())
            }
        };
        args.extend(argv.iter().map(OsString::from));
        Ok(Launch {
            program,
            args,
            variables: vec![
                ("PATH".into(), path),
                ("HOME".into(), self.home.path().into()),
                ("LANG".into(), "C.UTF-8".into()),
            ],
        })
    }

    fn diagnose(&self, exit_code: Option<i32>, stderr: &str) -> Trouble {
        if stderr.contains("No such container") || stderr.contains("is not running") {
            return Trouble::Gone;
        }
        if stderr.contains("busy") {
            return Trouble::Passing(refused(stderr.trim()));
        }
        let said = stderr.trim();
        Trouble::Final(refused(&format!(
            "the client ended with {exit_code:?}: {said}"
        )))
    }

    fn before_command(&self) -> Result<(), TransportError> {
        Ok(())
    }

    fn session_variables(&self) -> Vec<SessionVariable> {
        self.variables
            .iter()
            .map(|(name, value)| SessionVariable {
                name: (*name).to_owned(),
                value: SecretString::from((*value).to_owned()),
            })
            .collect()
    }

    fn start_directory(&self) -> PathBuf {
        "~".into()
    }

    fn describe(&self) -> String {
        match &self.kind {
            Kind::Child | Kind::NoProc | Kind::Busybox(_) => "user@here".to_owned(),
            Kind::Docker(container) => format!("container {}", container.name),
        }
    }
}

fn refused(message: &str) -> TransportError {
    TransportError {
        message: message.to_owned(),
        hint: Some("open it".to_owned()),
        is_missing_part: true,
    }
}

/// A container.
pub(crate) struct Container {
    pub(crate) name: String,
    pub(crate) options: Vec<String>,
}

impl Container {
    pub(crate) fn run(options: &[&str]) -> Self {
        let name = format!(
            "hermes-test-{}-{}",
            std::process::id(),
            COUNT.fetch_add(1, Ordering::SeqCst)
        );
        let container = Self {
            name,
            options: options.iter().map(|option| (*option).to_owned()).collect(),
        };
        container.create();
        container
    }

    /// Makes it again if someone removed it.
    fn ensure(&self) {
        let state = Command::new("docker")
            .args(["inspect", "-f", "{{.State.Running}}", &self.name])
            .output()
            .unwrap();
        if !state.status.success() {
            self.create();
        }
    }

    fn create(&self) {
        let output = Command::new("docker")
            .args(["run", "-d", "--init", "--name", &self.name])
            .args(&self.options)
            .args([EngineImage::Debian.name(), "sleep", "infinity"])
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "no container: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }

    /// What a program prints in it.
    pub(crate) fn output(&self, argv: &[&str]) -> String {
        let output = Command::new("docker")
            .args(["exec", &self.name])
            .args(argv)
            .output()
            .unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

static COUNT: AtomicUsize = AtomicUsize::new(0);

/// By hand: a thread that asks for news may hold the host a moment longer than the test lasts.
impl Drop for RemoteWorld {
    fn drop(&mut self) {
        if let Kind::Docker(container) = &self.transport.kind {
            container.remove();
        }
    }
}

impl Container {
    fn remove(&self) {
        drop(
            Command::new("docker")
                .args(["rm", "-f", &self.name])
                .output(),
        );
    }
}

/// A Hermes and the host its commands run in.
pub(crate) struct RemoteWorld {
    pub(crate) world: World,
    pub(crate) remote: Arc<RemoteBackend>,
    pub(crate) transport: Arc<TestHost>,
    /// A directory there for the test to write to.
    pub(crate) scratch: String,
}

impl RemoteWorld {
    pub(crate) fn new(kind: Kind) -> Self {
        Self::with(kind, RemoteSettings::default(), &[])
    }

    pub(crate) fn behind(hurdle: Hurdle, settings: RemoteSettings) -> Self {
        Self::build(Kind::Child, settings, &[], hurdle)
    }

    pub(crate) fn with(
        kind: Kind,
        settings: RemoteSettings,
        variables: &[(&'static str, &'static str)],
    ) -> Self {
        Self::build(kind, settings, variables, Hurdle::None)
    }

    fn build(
        kind: Kind,
        settings: RemoteSettings,
        variables: &[(&'static str, &'static str)],
        hurdle: Hurdle,
    ) -> Self {
        let host = Arc::new(TestHost {
            kind,
            home: tempfile::tempdir().unwrap(),
            launches: AtomicUsize::new(0),
            ensured: AtomicUsize::new(0),
            variables: variables.to_vec(),
            hurdle,
        });
        let remote = Arc::new(RemoteBackend::new(host.clone(), settings));
        let world = World::remote(Arc::clone(&remote));
        let scratch = match &host.kind {
            Kind::Child | Kind::NoProc | Kind::Busybox(_) => {
                host.home.path().canonicalize().unwrap()
            }
            Kind::Docker(_) => PathBuf::from("/root"),
        };
        Self {
            world,
            remote,
            scratch: scratch.to_str().unwrap().to_owned(),
            transport: host,
        }
    }

    /// The text of a file there; empty if it is not there.
    pub(crate) fn file(&self, path: &str) -> String {
        match &self.transport.kind {
            Kind::Child | Kind::NoProc | Kind::Busybox(_) => {
                std::fs::read_to_string(path).unwrap_or_default()
            }
            Kind::Docker(container) => container.output(&["cat", path]),
        }
    }

    /// Whether a process with this text in its command line runs there.
    pub(crate) fn is_running(&self, text: &str) -> bool {
        let list = match &self.transport.kind {
            Kind::Child | Kind::NoProc | Kind::Busybox(_) => {
                let output = Command::new("ps")
                    .args(["-eo", "stat,args"])
                    .output()
                    .unwrap();
                String::from_utf8_lossy(&output.stdout).into_owned()
            }
            Kind::Docker(container) => {
                let output = Command::new("docker")
                    .args(["top", &container.name, "-eo", "pid,stat,args"])
                    .output()
                    .unwrap();
                String::from_utf8_lossy(&output.stdout).into_owned()
            }
        };
        list.lines().any(|line| {
            line.contains(text) && !line.contains("defunct") && !line.trim_start().starts_with('Z')
        })
    }

    pub(crate) fn launches(&self) -> usize {
        self.transport.launches.load(Ordering::SeqCst)
    }

    pub(crate) fn container(&self) -> &Container {
        let Kind::Docker(container) = &self.transport.kind else {
            unreachable!("not a container")
        };
        container
    }
}

/// Bash, as a child of this machine.
pub(crate) fn bash() -> RemoteWorld {
    RemoteWorld::new(Kind::Child)
}

/// Bash in a container.
pub(crate) fn docker() -> RemoteWorld {
    RemoteWorld::new(Kind::Docker(Container::run(&[])))
}

/// Busybox and nothing else.
pub(crate) fn busybox() -> RemoteWorld {
    RemoteWorld::new(Kind::Busybox(applets(&[])))
}

/// A directory with the programs of busybox, without some.
pub(crate) fn applets(without: &[&str]) -> tempfile::TempDir {
    let applets = tempfile::tempdir().unwrap();
    let installed = Command::new("/usr/bin/busybox")
        .args([Path::new("--install"), Path::new("-s"), applets.path()])
        .status()
        .unwrap();
    assert!(installed.success());
    for name in without {
        std::fs::remove_file(applets.path().join(name)).unwrap();
    }
    applets
}
