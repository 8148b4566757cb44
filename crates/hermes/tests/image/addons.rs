//! Add-ons in the image: installed on the volume by the runtime user, never into the installation.

use std::process::Command;

use pretty_assertions::assert_eq;

use crate::container::{Container, Volume, json, run};

/// A hash over every file of the installation, with owners and modes.
const INSTALLATION: &str = "cd /opt/hermes && \
    { find . -printf '%p %U %G %m\\n' | sort; find . -type f -exec sha256sum {} + | sort; } | sha256sum";

/// The wheel that the catalog pins, as the package index has it.
fn wheels() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let fetched = Command::new("python3")
        .args(["-m", "pip", "download", "--quiet", "--no-deps", "--dest"])
        .arg(directory.path())
        .arg("isodate==0.7.2")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&fetched.stderr);
    assert!(fetched.status.success(), "fetch a wheel from PyPI: {said}");
    directory
}

// check 34, and part 4: the image's variables and the boot agree
#[test]
fn an_add_on_outlives_its_container_and_leaves_the_installation_alone() {
    let (volume, wheels) = (Volume::new(), wheels());
    let (data, mount) = (
        volume.mounted(),
        format!("--volume={}:/wheels:ro", wheels.path().display()),
    );
    let permissions = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(wheels.path(), permissions).unwrap();
    let before = {
        let container = Container::boot(&[&data, &mount], &["sleep", "infinity"]);
        assert_eq!(container.must("id -u"), "10000");
        assert_eq!(
            container.must("echo $HERMES_DISABLE_LAZY_INSTALLS $HERMES_LAZY_INSTALL_TARGET"),
            "1 /opt/data/lazy-packages"
        );
        assert_eq!(
            container.must("stat -c '%U %a' /opt/data/lazy-packages"),
            "hermes 700"
        );
        let before = container.must(INSTALLATION);
        container.must("hermes addons install debug.selftest --wheelhouse /wheels");
        assert_eq!(container.must(INSTALLATION), before);
        before
    };
    let container = Container::boot(&[&data], &["sleep", "infinity"]);
    let list = json(&container.must("hermes addons list --all --json"));
    assert_eq!(list["addons"][0]["feature"], "debug.selftest");
    assert_eq!(list["addons"][0]["state"], "installed");
    let call = "hermes addons call debug.selftest debug.duration '{\"text\": \"PT2S\"}'";
    assert_eq!(json(&container.must(call))["result"]["seconds"], 2.0);
    container.must("hermes addons verify");
    container.must("hermes addons doctor");
    assert_eq!(container.must(INSTALLATION), before);
}

#[test]
fn without_the_target_the_seal_holds() {
    let sealed = run(
        &["--env=HERMES_LAZY_INSTALL_TARGET="],
        &["hermes", "addons", "install", "debug.selftest", "--json"],
    );
    assert_eq!(sealed.code, 3, "{sealed:?}");
    assert!(sealed.stdout.contains("disabled_env"), "{sealed:?}");
}
