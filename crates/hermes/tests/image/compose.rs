//! `docker/compose.yaml`, as operators start it.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::container::{Container, Ran, image, json};

/// The services of the file, with a directory of their own; they go with this value.
struct Composed {
    project: String,
    data: tempfile::TempDir,
}

impl Composed {
    fn new() -> Self {
        Self {
            project: format!("hermes-test-{}", std::process::id()),
            data: tempfile::tempdir().unwrap(),
        }
    }

    fn call(&self, words: &[&str]) -> Ran {
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2);
        let file = workspace.unwrap().join("docker/compose.yaml");
        Command::new("docker-compose")
            .arg("--file")
            .arg(file)
            .args(["--project-name", &self.project])
            .args(words)
            .env("HERMES_IMAGE", image())
            .env("HERMES_DATA", self.data.path())
            .env("HERMES_UID", "4321")
            .env("HERMES_GID", "4322")
            .stdin(Stdio::null())
            .output()
            .unwrap()
            .into()
    }

    #[track_caller]
    fn must(&self, words: &[&str]) -> String {
        let ran = self.call(words);
        assert_eq!(ran.code, 0, "{words:?}: {ran:?}");
        ran.stdout
    }
}

impl Drop for Composed {
    fn drop(&mut self) {
        self.call(&["down", "--volumes", "--timeout", "5"]);
    }
}

#[test]
fn one_service_with_a_gateway_that_stays() {
    let composed = Composed::new();
    assert_eq!(composed.must(&["config", "--services"]), "hermes");
    composed.must(&["up", "--detach"]);
    let container = Container {
        id: composed.must(&["ps", "--quiet"]),
    };
    container.wait_until_ready(1);
    container.wait_for("hermes gateway status >/dev/null");
    let shown = crate::container::docker(&["inspect", &container.id]);
    let shown = &json(&shown.stdout)[0]["HostConfig"];
    assert_eq!(shown["RestartPolicy"]["Name"], "unless-stopped");
    // Nothing is open to other machines.
    for port in ["8642/tcp", "9119/tcp"] {
        assert_eq!(shown["PortBindings"][port][0]["HostIp"], "127.0.0.1");
    }
    // The directory of the host belongs to whom the file says.
    let owner = container.must("stat -c %u:%g /opt/data/config.yaml");
    assert_eq!(owner, "4321:4322");

    // Made anew, as after an upgrade, the gateway is there again.
    composed.must(&["up", "--detach", "--force-recreate"]);
    let again = Container {
        id: composed.must(&["ps", "--quiet"]),
    };
    assert_ne!(again.id, container.id);
    again.wait_for("hermes gateway status >/dev/null");
}
