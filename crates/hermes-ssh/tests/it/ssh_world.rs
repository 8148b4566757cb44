//! A home here, a server there, and hosts between them.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use hermes_proc::home::ChildHome;
use hermes_proc::{EnvPlan, EnvPolicy, EnvRequest, SpawnClass};
use hermes_ssh::{SshHost, SshSettings, SshSurroundings, SshTiming};
use hermes_terminal::carried_files::CarriedRequest;
use hermes_terminal::remote::{Launch, Transport};
use hermes_testkit::SshServer;

pub(crate) struct SshWorld {
    pub(crate) server: SshServer,
    place: tempfile::TempDir,
}

/// What a program there left.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl SshWorld {
    pub(crate) fn new() -> Self {
        let world = Self {
            server: SshServer::start(),
            place: tempfile::Builder::new().prefix("h").tempdir().unwrap(),
        };
        for name in ["home", "tmp"] {
            std::fs::create_dir(world.path(name)).unwrap();
        }
        world
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    /// Writes a file of the Hermes home.
    pub(crate) fn put(&self, name: &str, text: &str) {
        write(&self.path("home").join(name), text);
    }

    pub(crate) fn text(&self, name: &str) -> String {
        read(&self.path("home").join(name))
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.path("home").join(name).exists()
    }

    /// A path below `~/.hermes` there.
    pub(crate) fn there(&self, name: &str) -> PathBuf {
        self.server.remote_home().join(".hermes").join(name)
    }

    pub(crate) fn settings(&self) -> SshSettings {
        SshSettings {
            host: self.server.host().to_owned(),
            user: self.server.user().to_owned(),
            port: self.server.port(),
            key: Some(self.server.key()),
            persistent_shell: true,
            start_directory: "~".into(),
        }
    }

    pub(crate) fn surroundings(&self) -> SshSurroundings {
        let policy = EnvPolicy::new(
            self.path("home"),
            "/nonexistent/hermes".into(),
            ChildHome::default(),
        );
        let base: Vec<(OsString, OsString)> = [
            ("PATH", self.server.path_value()),
            ("HOME", self.place.path().into()),
            ("OPENAI_API_KEY", "sk-canary".into()),
        ]
        .map(|(name, value)| (name.into(), value))
        .into();
        SshSurroundings {
            environment: EnvPlan::build(&EnvRequest::new(SpawnClass::Helper, &base, &policy)),
            temp_directory: self.path("tmp"),
            carried: CarriedRequest {
                hermes_home: self.path("home"),
                ..CarriedRequest::default()
            },
            force_sync: false,
            timing: SshTiming {
                // A busy machine takes its time.
                connect: Duration::from_mins(1),
                question: Duration::from_mins(1),
                push_interval: Duration::from_hours(1),
                pull_pauses: vec![Duration::from_millis(50); 2],
                ..SshTiming::default()
            },
        }
    }

    pub(crate) fn host(&self) -> SshHost {
        SshHost::new(self.settings(), self.surroundings())
    }

    pub(crate) fn host_with(
        &self,
        change: impl FnOnce(&mut SshSettings, &mut SshSurroundings),
    ) -> SshHost {
        let (mut settings, mut surroundings) = (self.settings(), self.surroundings());
        change(&mut settings, &mut surroundings);
        SshHost::new(settings, surroundings)
    }

    pub(crate) fn connected(&self) -> SshHost {
        let host = self.host();
        host.ensure().unwrap();
        host
    }

    /// The files of the shared connection.
    pub(crate) fn control_files(&self) -> Vec<String> {
        let uid = rustix::process::geteuid().as_raw();
        let directory = self.path("tmp").join(format!("hermes-ssh-{uid}"));
        let Ok(entries) = std::fs::read_dir(directory) else {
            return Vec::new();
        };
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    pub(crate) fn socket_exists(&self) -> bool {
        let names = self.control_files();
        names.iter().any(|name| name.contains(".sock"))
    }

    /// How many archives have been sent there so far.
    pub(crate) fn uploads(&self) -> usize {
        let calls = self.server.client_calls();
        let line = calls.iter().filter_map(|call| call.last());
        line.filter(|line| line.contains("tar -x")).count()
    }
}

/// A child that is killed and waited for, however the test ends.
pub(crate) struct Ending(pub(crate) Child);

impl Drop for Ending {
    fn drop(&mut self) {
        // Ended already is as good.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// The client as a child, not waited for.
pub(crate) fn start(launch: Launch) -> Child {
    Command::new(launch.program)
        .args(launch.args)
        .env_clear()
        .envs(launch.variables)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Runs words there to their end.
pub(crate) fn run(host: &SshHost, argv: &[&str]) -> Ran {
    let output = start(host.launch(argv).unwrap())
        .wait_with_output()
        .unwrap();
    Ran {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Says a line to a program that answers with it.
pub(crate) fn echo(program: &mut Child, line: &str) -> String {
    let input = program.stdin.as_mut().unwrap();
    input.write_all(line.as_bytes()).unwrap();
    let mut answer = vec![0; line.len()];
    let output = program.stdout.as_mut().unwrap();
    output.read_exact(&mut answer).unwrap();
    String::from_utf8(answer).unwrap()
}

pub(crate) fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

#[track_caller]
pub(crate) fn read(path: &Path) -> String {
    let text = std::fs::read_to_string(path);
    assert!(text.is_ok(), "{}: {text:?}", path.display());
    text.unwrap()
}
