//! A process that looks like a running gateway from outside.

use std::path::Path;

use hermes_fs::{FileLock, LockOptions};
use hermes_testkit::{Running, TestHome};
use serde_json::json;

/// Holds the lock of a home in the name of a process called `hermes gateway run`.
pub(crate) struct Gateway {
    pub(crate) process: Running,
    _lock: FileLock,
}

impl Gateway {
    pub(crate) fn start(home: &TestHome, of: &Path) -> Self {
        let program = home.put_outside(
            "stand-in/hermes",
            "#!/bin/sh\necho ready\nread line\n",
            0o755,
        );
        let process = home
            .hermes(["gateway", "run"])
            .program(program)
            .env("HERMES_HOME", of)
            .start();
        assert_eq!(process.next_line().as_deref(), Some("ready"));
        let options = LockOptions::new("the gateway");
        let lock = FileLock::acquire(&of.join("gateway.lock"), &options).unwrap();
        let started = hermes_proc::start_time_of(process.pid()).unwrap();
        let record = json!({
            "pid": process.pid(),
            "kind": "hermes-gateway",
            "argv": ["hermes", "gateway", "run"],
            "start_time": started,
        });
        std::fs::write(of.join("gateway.pid"), record.to_string()).unwrap();
        Self {
            process,
            _lock: lock,
        }
    }
}
