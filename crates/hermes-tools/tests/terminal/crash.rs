//! What is left when Hermes is killed.

use std::path::PathBuf;
use std::process::Command;

use pretty_assertions::assert_eq;

use hermes_testkit::eventually;

use super::world::{World, is_alive};

#[test]
fn foreground_dies_with_hermes_and_background_does_not() {
    // check 17, 25
    let dir = tempfile::tempdir().unwrap();
    let mut hermes = Command::new(hermes_testkit::helper_program("tools-test-process"))
        .arg("here")
        .arg(dir.path())
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
