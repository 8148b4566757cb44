//! The container engines that tests can have, behind one set of calls.
//!
//! Podman gets settings of its own, so that it also runs where it may not raise limits, and its
//! images from Docker.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Podman wants higher limits than a process in a container may set.
const PODMAN_SETTINGS: &str =
    "[containers]\ndefault_ulimits = [\"nofile=1024:1024\", \"nproc=1000:1000\"]\n";

/// An engine that runs containers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RealEngine {
    /// Docker; its daemon must be up.
    Docker,
    /// Podman, as the user who runs the test.
    Podman,
}

impl RealEngine {
    /// Name of its program.
    pub fn program(self) -> &'static str {
        match self {
            Self::Docker => "docker",
            Self::Podman => "podman",
        }
    }

    /// Variables its program needs here.
    pub fn variables(self) -> Vec<(&'static str, PathBuf)> {
        match self {
            Self::Docker => Vec::new(),
            Self::Podman => vec![("CONTAINERS_CONF", podman_settings())],
        }
    }

    /// Calls it: whether that succeeded, and what it printed.
    pub fn ask(self, args: &[&str]) -> (bool, String) {
        let output = self.command(args).stdin(Stdio::null()).output();
        let output = output.unwrap_or_else(|error| {
            panic!("these tests need {}: {error}", self.program());
        });
        let words = String::from_utf8_lossy(&output.stderr);
        assert!(
            !words.contains("Cannot connect to the Docker daemon"),
            "these tests need a running container engine: {words}"
        );
        let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        (output.status.success(), text)
    }

    /// What a call that must succeed prints.
    #[track_caller]
    pub fn demand(self, args: &[&str]) -> String {
        let (is_fine, text) = self.ask(args);
        assert!(is_fine, "{} {} failed", self.program(), args.join(" "));
        text
    }

    /// Removes a container at once; gone already is as good.
    pub fn remove(self, id: &str) {
        match self {
            Self::Docker => self.ask(&["rm", "-f", id]),
            // Asked politely it waits ten seconds.
            Self::Podman => self.ask(&["rm", "-f", "-t", "0", id]),
        };
    }

    /// Gives podman an image that docker has.
    pub(crate) fn copy_from_docker(self, name: &str) {
        let saved = Command::new("docker").args(["save", name]).output();
        let saved = saved.unwrap();
        assert!(saved.status.success(), "docker save {name}");
        let mut child = self
            .command(&["load"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        child
            .stdin
            .take()
            .unwrap()
            .write_all(&saved.stdout)
            .unwrap();
        assert!(child.wait().unwrap().success(), "podman load {name}");
    }

    fn command(self, args: &[&str]) -> Command {
        let mut command = Command::new(self.program());
        command.args(args).envs(self.variables());
        command
    }
}

fn podman_settings() -> PathBuf {
    let path = of_this_user("podman.conf");
    // Another version of these tests may have left another text.
    if std::fs::read_to_string(&path).ok().as_deref() != Some(PODMAN_SETTINGS) {
        // Whoever else is just writing it writes the same.
        let staged = tempfile::NamedTempFile::new_in(std::env::temp_dir()).unwrap();
        std::fs::write(staged.path(), PODMAN_SETTINGS).unwrap();
        staged.persist(&path).unwrap();
    }
    path
}

/// A file that all tests of this user share; one of another user could not be written or read.
pub(crate) fn of_this_user(name: &str) -> PathBuf {
    let uid = rustix::process::geteuid().as_raw();
    std::env::temp_dir().join(format!("hermes-test-{uid}-{name}"))
}

/// Removes the containers with a label when a test ends, however it ends.
#[derive(Debug)]
pub struct RemoveContainers {
    engine: RealEngine,
    label: String,
}

impl RemoveContainers {
    /// Those of an engine with `name=value`.
    pub fn of(engine: RealEngine, label: impl Into<String>) -> Self {
        Self {
            engine,
            label: label.into(),
        }
    }

    /// Their full ids.
    pub fn ids(&self) -> Vec<String> {
        let filter = format!("label={}", self.label);
        let args = ["ps", "-aq", "--no-trunc", "--filter", &filter];
        let ids = self.engine.demand(&args);
        ids.lines().map(str::to_owned).collect()
    }
}

impl Drop for RemoveContainers {
    fn drop(&mut self) {
        for id in self.ids() {
            self.engine.remove(&id);
        }
    }
}
