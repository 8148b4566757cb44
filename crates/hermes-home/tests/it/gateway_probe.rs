//! Whether a gateway runs.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use hermes_fs::{FileLock, LockOptions};
use hermes_home::{gateway_pid, recorded_gateway};
use hermes_proc::start_time_of;
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::test_root::{TestRoot, set_mode, tree, write};

/// A process that looks like Hermes from outside and waits to be stopped.
pub(crate) struct FakeHermes {
    child: Child,
}

impl FakeHermes {
    /// Starts `hermes <words>` with `HERMES_HOME` set to `home`.
    pub(crate) fn start(test: &TestRoot, words: &[&str], home: &Path) -> Self {
        Self::start_as("hermes", test, words, home)
    }

    /// The same with a program of this name.
    fn start_as(name: &str, test: &TestRoot, words: &[&str], home: &Path) -> Self {
        let program = test.path("fake").join(name);
        if !program.exists() {
            write(&program, "#!/bin/sh\necho ready\nread line\n");
            set_mode(&program, 0o755);
        }
        let mut child = Command::new(&program)
            .args(words)
            .env_clear()
            .env("HOME", test.user_home())
            .env("HERMES_HOME", home)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap())
            .read_line(&mut line)
            .unwrap();
        assert_eq!(line, "ready\n");
        Self { child }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn start_time(&self) -> u64 {
        start_time_of(self.pid()).unwrap()
    }

    /// Holds the gateway lock of a home in the name of this process, with a record in the pid file.
    pub(crate) fn take_lock(&self, home: &Path) -> FileLock {
        let lock = hold(home);
        let record = json!({"pid": self.pid(), "start_time": self.start_time()});
        std::fs::write(home.join("gateway.pid"), record.to_string()).unwrap();
        lock
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }
}

impl Drop for FakeHermes {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

fn hold(home: &Path) -> FileLock {
    std::fs::create_dir_all(home).unwrap();
    FileLock::acquire(&home.join("gateway.lock"), &LockOptions::new("the gateway")).unwrap()
}

#[test]
fn a_held_lock_and_a_matching_process_make_a_gateway() {
    let test = TestRoot::new();
    let home = test.root();
    let gateway = FakeHermes::start(&test, &["gateway", "run"], &home);
    assert_eq!(gateway_pid(&home), None);
    let lock = gateway.take_lock(&home);
    assert_eq!(gateway_pid(&home), Some(gateway.pid()));
    // A bare number will do, and the lock file may hold the record.
    write(&home.join("gateway.pid"), &gateway.pid().to_string());
    assert_eq!(gateway_pid(&home), Some(gateway.pid()));
    std::fs::remove_file(home.join("gateway.pid")).unwrap();
    let record = json!({"pid": gateway.pid(), "start_time": gateway.start_time()});
    std::fs::write(home.join("gateway.lock"), record.to_string()).unwrap();
    assert_eq!(gateway_pid(&home), Some(gateway.pid()));
    drop(lock);
    assert_eq!(gateway_pid(&home), None);
}

#[test]
fn records_of_someone_else_do_not_count() {
    let test = TestRoot::new();
    let home = test.root();
    let gateway = FakeHermes::start(&test, &["gateway", "run"], &home);
    let status = FakeHermes::start(&test, &["gateway", "status"], &home);
    let _lock = hold(&home);
    let (pid, start) = (gateway.pid(), gateway.start_time());
    for record in [
        json!({"pid": pid, "start_time": start + 1}).to_string(),
        json!({"pid": status.pid(), "start_time": status.start_time()}).to_string(),
        json!({"pid": std::process::id()}).to_string(),
        json!({"pid": 4_194_305}).to_string(),
        json!({"pid": -1}).to_string(),
        json!({"pid": 0}).to_string(),
        json!({"start_time": start}).to_string(),
        "{".to_owned(),
        String::new(),
        "99999999999999999999".to_owned(),
    ] {
        write(&home.join("gateway.pid"), &record);
        assert_eq!(gateway_pid(&home), None, "{record}");
    }
}

#[test]
fn a_gateway_is_known_by_an_exact_record_whatever_its_program_is_called() {
    let test = TestRoot::new();
    let home = test.root();
    let gateway = FakeHermes::start_as("agent-host", &test, &["gateway", "run"], &home);
    let (pid, start) = (gateway.pid(), gateway.start_time());
    let exact = json!({
        "pid": pid, "start_time": start, "kind": "hermes-gateway", "gateway_state": "running",
    });
    let vague = json!({"pid": pid, "start_time": start, "gateway_state": "running"});
    // By the lock and the pid file, by the pid file alone, and by the state file.
    let lock = hold(&home);
    for (record, found) in [(&exact, Some(pid)), (&vague, None)] {
        write(&home.join("gateway.pid"), &record.to_string());
        assert_eq!(gateway_pid(&home), found, "{record}");
        assert_eq!(recorded_gateway(&home), found, "{record}");
    }
    drop(lock);
    std::fs::remove_file(home.join("gateway.lock")).unwrap();
    std::fs::remove_file(home.join("gateway.pid")).unwrap();
    for (record, found) in [(&exact, Some(pid)), (&vague, None)] {
        write(&home.join("gateway_state.json"), &record.to_string());
        assert_eq!(gateway_pid(&home), found, "{record}");
        assert_eq!(recorded_gateway(&home), found, "{record}");
    }
    // The state of another home that was copied.
    let copy = test.profile("coder");
    std::fs::create_dir_all(&copy).unwrap();
    write(&copy.join("gateway_state.json"), &exact.to_string());
    assert_eq!(gateway_pid(&copy), None);
}

#[test]
fn a_zombie_is_no_gateway() {
    let test = TestRoot::new();
    let home = test.root();
    let mut gateway = FakeHermes::start(&test, &["gateway", "run"], &home);
    let _lock = gateway.take_lock(&home);
    let identity = hermes_proc::identity_of(gateway.pid()).unwrap();
    let handle = hermes_proc::ProcessHandle::open(&identity)
        .unwrap()
        .unwrap();
    handle.stop(std::time::Duration::from_secs(10)).unwrap();
    assert!(hermes_proc::is_zombie(gateway.pid()));
    assert_eq!(gateway_pid(&home), None);
    assert!(gateway.has_ended());
}

#[test]
fn without_a_lock_file_the_state_file_and_the_process_decide() {
    let test = TestRoot::new();
    let home = test.profile("coder");
    std::fs::create_dir_all(&home).unwrap();
    let gateway = FakeHermes::start(&test, &["gateway", "run"], &home);
    let other = FakeHermes::start(&test, &["gateway", "run"], &test.root());
    let state = |gateway: &FakeHermes, state: &str| {
        let record = json!({
            "pid": gateway.pid(), "start_time": gateway.start_time(), "gateway_state": state,
            "updated_at": 1,
        });
        std::fs::write(home.join("gateway_state.json"), record.to_string()).unwrap();
        gateway_pid(&home)
    };
    assert_eq!(state(&gateway, "running"), Some(gateway.pid()));
    assert_eq!(state(&gateway, "draining"), Some(gateway.pid()));
    assert_eq!(state(&gateway, "stopped"), None);
    assert_eq!(state(&gateway, "startup_failed"), None);
    assert_eq!(state(&other, "running"), None);
    // A lock file that nobody holds settles it.
    assert_eq!(state(&gateway, "running"), Some(gateway.pid()));
    write(&home.join("gateway.lock"), "");
    assert_eq!(gateway_pid(&home), None);
}

#[test]
fn a_probe_leaves_no_trace() {
    let test = TestRoot::new();
    assert_eq!(gateway_pid(&test.root()), None);
    assert!(!test.root().exists());
    write(&test.root().join("gateway.lock"), "123");
    write(&test.root().join("gateway.pid"), "123");
    let before = tree(&test.root());
    assert_eq!(gateway_pid(&test.root()), None);
    assert_eq!(tree(&test.root()), before);
}
