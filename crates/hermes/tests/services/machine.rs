//! A machine that systemd has booted, in a container, with the program under test and a user.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use hermes_testkit::{EngineImage, RealEngine};

/// How long anything may take here.
const LIMIT: Duration = Duration::from_mins(1);

/// A booted machine; it goes with this value.
pub(crate) struct Machine {
    id: String,
}

/// What a command left.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Machine {
    /// Boots one. Its user is `joe`, whose systemd runs without a login.
    pub(crate) fn boot() -> Self {
        let program = format!("{}:/usr/local/bin/hermes:ro", env!("CARGO_BIN_EXE_hermes"));
        let image = EngineImage::DebianSystemd.name();
        let id = RealEngine::Docker.demand(&[
            "run",
            "--detach",
            "--cap-add=SYS_ADMIN",
            "--security-opt=seccomp=unconfined",
            "--security-opt=apparmor=unconfined",
            // The systemd of a user needs to see its own control group.
            "--cgroupns=host",
            control_groups(),
            "--tmpfs=/run",
            "--tmpfs=/run/lock",
            "--tmpfs=/tmp:exec",
            "--env=container=docker",
            "--volume",
            &program,
            image,
            "/lib/systemd/systemd",
        ]);
        let machine = Self { id };
        machine.wait_for("systemctl is-system-running | grep -E 'running|degraded'");
        machine.root("useradd --create-home --shell /bin/bash joe && loginctl enable-linger joe");
        machine.wait_for("test -S /run/user/1000/bus");
        machine
    }

    /// Runs a script as root, which must succeed; what it printed.
    #[track_caller]
    pub(crate) fn root(&self, script: &str) -> String {
        let ran = self.run("root", script);
        assert_eq!(ran.code, 0, "{script}: {ran:?}");
        ran.stdout
    }

    /// Runs a script as joe, which must succeed; what it printed.
    #[track_caller]
    pub(crate) fn joe(&self, script: &str) -> String {
        let ran = self.run("joe", script);
        assert_eq!(ran.code, 0, "{script}: {ran:?}");
        ran.stdout
    }

    /// Runs a script as a user, with nothing of a login but the home directory.
    pub(crate) fn run(&self, user: &str, script: &str) -> Ran {
        let home = if user == "root" { "/root" } else { "/home/joe" };
        let ran = Command::new("docker")
            .args(["exec", "--user", user, "--workdir", home])
            .args(["--env", &format!("HOME={home}")])
            .args([&self.id, "bash", "-c", script])
            .stdin(Stdio::null())
            .output()
            .unwrap();
        Ran {
            code: ran.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&ran.stdout).trim().to_owned(),
            stderr: String::from_utf8_lossy(&ran.stderr).trim().to_owned(),
        }
    }

    /// Waits until a script of root succeeds.
    #[track_caller]
    pub(crate) fn wait_for(&self, script: &str) {
        let deadline = Instant::now() + LIMIT;
        loop {
            let ran = self.run("root", script);
            if ran.code == 0 {
                return;
            }
            assert!(Instant::now() < deadline, "{script}: {ran:?}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        RealEngine::Docker.remove(&self.id);
    }
}

/// The control groups of the machine around it. In the older kind the directory of all hierarchies is
/// not for it to add to: others would take what it leaves there for theirs.
fn control_groups() -> &'static str {
    if std::path::Path::new("/sys/fs/cgroup/cgroup.controllers").exists() {
        "--volume=/sys/fs/cgroup:/sys/fs/cgroup:rw"
    } else {
        "--volume=/sys/fs/cgroup:/sys/fs/cgroup:ro"
    }
}

/// What a command printed as JSON.
#[track_caller]
pub(crate) fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}
