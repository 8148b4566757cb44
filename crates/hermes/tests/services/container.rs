//! A container that s6 supervises, with the program under test and the user `hermes`, whom gateways
//! run as.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use hermes_testkit::{EngineImage, RealEngine};
use tempfile::TempDir;

use crate::executed::{Ran, RunsScripts};

/// What the first process does before it becomes `s6-svscan`.
const BEGIN: &str = r#"
set -e
id hermes >/dev/null 2>&1 || useradd --uid 10000 --home-dir /opt/data --no-create-home hermes
install -d -o hermes -g hermes -m 700 /opt/data
mkdir -p /run/s6/basedir /run/s6/container_environment
printf /opt/data > /run/s6/container_environment/HERMES_HOME
printf /root > /run/s6/container_environment/HOME
printf %s "$PATH" > /run/s6/container_environment/PATH
for name in API_SERVER_KEY API_SERVER_PORT; do
  eval "value=\${$name-}"
  [ -z "$value" ] || printf %s "$value" > /run/s6/container_environment/$name
done
export HERMES_HOME=/opt/data
"#;

/// Slots are root's, and a registrar adds them.
const SEALED: &str = r"
mkdir -p /run/service/registrar
cat > /run/service/registrar/run <<'END'
#!/bin/sh
exec 2>&1
HERMES_HOME=/opt/data exec hermes internal registrar --ready-fd 3
END
chmod 755 /run/service/registrar/run
echo 3 > /run/service/registrar/notification-fd
hermes internal reconcile >&2
";

/// Slots are the user's, who adds them.
const OPEN: &str = r"
install -d -o hermes -g hermes /run/service /run/service/.s6-svscan
s6-setuidgid hermes hermes internal reconcile >&2
";

/// Whose the slots are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    /// Root's.
    Sealed,
    /// The user's.
    Open,
}

pub(crate) const LAYOUTS: [Layout; 2] = [Layout::Sealed, Layout::Open];

/// A running container; it goes with this value.
pub(crate) struct Container {
    pub(crate) id: String,
    /// What root puts before the programs of the machine.
    pub(crate) command: PathBuf,
    _directory: TempDir,
}

impl Container {
    /// Boots one.
    pub(crate) fn boot(layout: Layout) -> Self {
        Self::boot_with(layout, &[])
    }

    /// Boots one with these variables.
    pub(crate) fn boot_with(layout: Layout, variables: &[&str]) -> Self {
        let directory = TempDir::with_prefix("hermes-test-").unwrap();
        let command = directory.path().join("command");
        std::fs::create_dir(&command).unwrap();
        let program = format!("{}:/usr/local/bin/hermes:ro", env!("CARGO_BIN_EXE_hermes"));
        let commands = format!("{}:/command:ro", command.display());
        let image = EngineImage::DebianS6.name();
        let steps = match layout {
            Layout::Sealed => SEALED,
            Layout::Open => OPEN,
        };
        let script = format!("{BEGIN}{steps}exec s6-svscan /run/service\n");
        let mut args = vec![
            "run", "--detach", "--volume", &program, "--volume", &commands,
        ];
        for variable in variables {
            args.extend(["--env", variable]);
        }
        args.extend([image, "bash", "-c", &script]);
        let container = Self {
            id: RealEngine::Docker.demand(&args),
            command,
            _directory: directory,
        };
        container.wait_until_scanned(layout);
        container
    }

    /// Stops it and starts it again.
    pub(crate) fn restart(&self, layout: Layout) {
        // At once: `s6-svscan` as it is here takes the signal for nothing.
        RealEngine::Docker.demand(&["restart", "--time", "0", &self.id]);
        self.wait_until_scanned(layout);
    }

    fn wait_until_scanned(&self, layout: Layout) {
        self.wait_for("grep -qx s6-svscan /proc/1/comm && s6-svok /run/service/gateway-default");
        if layout == Layout::Sealed {
            self.wait_for("test -S /run/hermes/registrar.sock");
        }
    }

    /// Runs a script as the user, which must succeed; what it printed.
    #[track_caller]
    pub(crate) fn hermes(&self, script: &str) -> String {
        self.demand("hermes", script)
    }

    /// Starts a script as the user that goes on.
    pub(crate) fn start(&self, script: &str) -> Child {
        self.exec("hermes", script)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// What `s6-svstat` tells the user of a profile's slot: up, wanted up, pid.
    #[track_caller]
    pub(crate) fn slot(&self, profile: &str) -> (bool, bool, i64) {
        let said = self.hermes(&format!(
            "s6-svstat -o up,wantedup,pid /run/service/gateway-{profile}"
        ));
        let fields: Vec<&str> = said.split_whitespace().collect();
        (
            fields[0] == "true",
            fields[1] == "true",
            fields[2].parse().unwrap(),
        )
    }

    /// Waits until the slot of a profile is up and ready with another process than the last one; its pid.
    #[track_caller]
    pub(crate) fn next_ready(&self, profile: &str, last: i64) -> i64 {
        // Asked at once: right after a kill the supervisor still tells of the process that was killed.
        self.wait_for(&format!(
            "set -- $(s6-svstat -o up,ready,pid /run/service/gateway-{profile}); \
             test \"$1 $2\" = 'true true' && test $3 != {last}"
        ));
        self.slot(profile).2
    }

    /// Puts a program before that of the machine.
    pub(crate) fn put_before(&self, name: &str, script: &str) {
        use std::os::unix::fs::PermissionsExt;
        let path = self.command.join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    }
}

impl RunsScripts for Container {
    fn exec(&self, user: &str, script: &str) -> Command {
        let mut command = Command::new("docker");
        command
            .args(["exec", "--user", user, "--workdir", "/"])
            .args(["--env", "HERMES_HOME=/opt/data", "--env", "HOME=/opt/data"])
            .args([&self.id, "bash", "-c", script]);
        command
    }

    /// What the container has printed, both streams.
    fn output(&self) -> String {
        let logs = Ran::of(Command::new("docker").args(["logs", &self.id]));
        format!("{}\n{}", logs.stdout, logs.stderr)
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        RealEngine::Docker.remove(&self.id);
    }
}
