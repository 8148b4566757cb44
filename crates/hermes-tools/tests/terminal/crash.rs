//! What is left when Hermes is killed.
//!
//! The Hermes that is killed is this test binary, started again with a variable that turns one test
//! into a program.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use pretty_assertions::assert_eq;
use serde_json::json;

use hermes_testkit::eventually;

use super::world::{World, is_alive};

const DIRECTORY: &str = "HERMES_TEST_CRASH_DIRECTORY";

/// Not a test by itself: without the variable it does nothing.
#[test]
fn program_that_is_killed() {
    let Some(directory) = std::env::var_os(DIRECTORY).map(PathBuf::from) else {
        return;
    };
    let world = World::new();
    let at = |name: &str| directory.join(name).display().to_string();
    world.call(json!({"command": "true"}));
    let job = format!(
        "echo $$ > {}; sleep 1; echo late > {}; exit 6",
        at("job"),
        at("late")
    );
    world.call(json!({"command": job, "background": true, "notify_on_complete": true}));
    std::fs::write(
        directory.join("home"),
        world.path("").as_os_str().as_encoded_bytes(),
    )
    .unwrap();
    let world = std::mem::ManuallyDrop::new(world);
    world.run(&format!(
        "echo $$ > {}; sleep 300 & echo $! > {}; setsid sh -c 'trap \"\" TERM; echo $$ > {}; while :; do sleep 1; done' & wait",
        at("shell"),
        at("child"),
        at("session"),
    ));
}

#[test]
fn foreground_dies_with_hermes_and_background_does_not() {
    // check 17, 25
    let dir = tempfile::tempdir().unwrap();
    let mut hermes = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "crash::program_that_is_killed"])
        .env(DIRECTORY, dir.path())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let path = |name: &str| dir.path().join(name);
    let names = ["shell", "child", "session", "job"];
    for name in names {
        eventually(name, || {
            std::fs::read_to_string(path(name)).is_ok_and(|text| text.ends_with('\n'))
        });
    }
    hermes.kill().unwrap();
    hermes.wait().unwrap();
    eventually("nothing of the foreground is left", || {
        ["shell", "child", "session"]
            .iter()
            .all(|name| !is_alive(&path(name)))
    });
    assert!(is_alive(&path("job")));
    // The next Hermes finds the job and tells its end.
    let home = PathBuf::from(std::fs::read_to_string(path("home")).unwrap());
    let world = World::over(&home);
    assert_eq!(world.terminal.processes().recover().unwrap(), 1);
    world.idle();
    let notices = world.notices();
    assert_eq!(notices.len(), 1);
    assert!(
        notices[0].message().contains("(exit code 6)"),
        "{notices:?}"
    );
    assert!(path("late").exists());
    std::fs::remove_dir_all(home).unwrap();
}
