//! A machine that systemd has booted, in a container, with the program under test and a user.

use std::process::Command;

use hermes_testkit::{EngineImage, RealEngine};

use crate::executed::RunsScripts;

/// A booted machine; it goes with this value.
pub(crate) struct Machine {
    id: String,
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

    /// Runs a script as joe, which must succeed; what it printed.
    #[track_caller]
    pub(crate) fn joe(&self, script: &str) -> String {
        self.demand("joe", script)
    }
}

impl RunsScripts for Machine {
    /// With nothing of a login but the home directory.
    fn exec(&self, user: &str, script: &str) -> Command {
        let home = if user == "root" { "/root" } else { "/home/joe" };
        let mut command = Command::new("docker");
        command
            .args(["exec", "--user", user, "--workdir", home])
            .args(["--env", &format!("HOME={home}")])
            .args([&self.id, "bash", "-c", script]);
        command
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
