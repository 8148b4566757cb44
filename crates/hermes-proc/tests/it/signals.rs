//! Signals and waiting through descriptors.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use hermes_proc::{
    ProcessHandle, ProcessIdentity, Stopped, identity_of, is_same_live_process, is_zombie,
};
use pretty_assertions::assert_eq;

fn start(script: &str) -> (Child, ProcessIdentity) {
    let child = Command::new("/bin/sh")
        .args(["-c", script])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let identity = identity_of(child.id()).unwrap();
    (child, identity)
}

/// Waits until the child has said something, so that its traps are set.
fn await_word(child: &mut Child) {
    use std::io::Read;
    let mut byte = [0];
    child
        .stdout
        .as_mut()
        .unwrap()
        .read_exact(&mut byte)
        .unwrap();
}

#[test]
fn term_is_enough_for_a_polite_process() {
    let (mut child, identity) = start("exec sleep 300");
    let handle = ProcessHandle::open(&identity).unwrap().unwrap();
    assert_eq!(handle.pid(), child.id());
    assert_eq!(
        handle.stop(Duration::from_secs(10)).unwrap(),
        Stopped::Gracefully
    );
    // Not reaped yet: a zombie is not a live process.
    assert!(is_zombie(identity.pid));
    assert!(!is_same_live_process(&identity));
    assert!(ProcessHandle::open(&identity).unwrap().is_none());
    // And a signal to the dead is no error.
    handle.terminate().unwrap();
    child.wait().unwrap();
    handle.kill().unwrap();
}

#[test]
fn kill_follows_where_term_is_ignored() {
    let (mut child, identity) = start("trap '' TERM; echo ready; while :; do sleep 0.1; done");
    await_word(&mut child);
    let handle = ProcessHandle::open(&identity).unwrap().unwrap();
    assert_eq!(
        handle.stop(Duration::from_millis(200)).unwrap(),
        Stopped::Killed
    );
    child.wait().unwrap();
}

#[test]
fn a_recycled_pid_is_not_opened() {
    let (mut child, identity) = start("exec sleep 300");
    let yesterday = ProcessIdentity {
        start_time: identity.start_time - 1,
        ..identity
    };
    assert!(ProcessHandle::open(&yesterday).unwrap().is_none());
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn waiting_ends_at_the_deadline() {
    let (mut child, identity) = start("exec sleep 300");
    let handle = ProcessHandle::open(&identity).unwrap().unwrap();
    assert!(!handle.wait_for_exit(Duration::from_millis(20)).unwrap());
    assert!(!handle.wait_for_exit(Duration::ZERO).unwrap());
    child.kill().unwrap();
    assert!(handle.wait_for_exit(Duration::from_secs(10)).unwrap());
    child.wait().unwrap();
}

#[test]
fn command_line_and_environment_of_another_process() {
    let mut child = Command::new("/bin/sleep")
        .arg("300")
        .env_clear()
        .env("HERMES_HOME", "/x/profiles/p")
        .spawn()
        .unwrap();
    // A process in the middle of its `exec` shows nothing yet.
    crate::eventually("the new program is visible", || {
        hermes_proc::command_line(child.id()).is_some()
    });
    assert_eq!(
        hermes_proc::command_line(child.id()).unwrap(),
        ["/bin/sleep", "300"]
    );
    assert_eq!(
        hermes_proc::environment_of(child.id()).unwrap(),
        [("HERMES_HOME".into(), "/x/profiles/p".into())]
    );
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(hermes_proc::environment_of(child.id()), None);
}
