//! A home with a gateway.

use std::time::{Duration, Instant};

use hermes_testkit::{ProgramCall, Running, TestHome};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// Long enough for a busy machine.
const LONGEST_WAIT: Duration = Duration::from_mins(1);

pub(crate) struct Post {
    pub(crate) home: TestHome,
}

impl Post {
    /// A home whose gateways may be started as often as a test likes.
    pub(crate) fn new() -> Self {
        Self::with_program(env!("CARGO_BIN_EXE_hermes"))
    }

    /// The same, with another program.
    pub(crate) fn with_program(program: &str) -> Self {
        let post = Self {
            home: TestHome::new(program),
        };
        post.configure("");
        post
    }

    /// Writes `config.yaml`.
    pub(crate) fn configure(&self, yaml: &str) {
        let text = format!("gateway:\n  respawn_storm:\n    max_starts: 0\n{yaml}");
        self.home.put("config.yaml", text);
    }

    /// A call of `hermes gateway …`.
    pub(crate) fn call(&self, args: &[&str]) -> ProgramCall {
        self.home.hermes(["gateway"]).args(args)
    }

    /// A gateway that is ready.
    #[track_caller]
    pub(crate) fn gateway(&self, flags: &[&str]) -> Running {
        ready(self.call(&[&["run"], flags].concat()).start())
    }

    /// What the state file says.
    #[track_caller]
    pub(crate) fn state(&self) -> Value {
        serde_json::from_str(&self.home.read("gateway_state.json")).unwrap()
    }

    /// The pid that `gateway.pid` names.
    pub(crate) fn recorded(&self) -> Option<u64> {
        let text = std::fs::read_to_string(self.home.path("gateway.pid")).ok()?;
        serde_json::from_str::<Value>(&text).ok()?["pid"].as_u64()
    }

    /// Waits until the state file has something.
    #[track_caller]
    pub(crate) fn until_state(&self, what: &str, holds: impl Fn(&Value) -> bool) {
        until(what, || {
            let text = std::fs::read_to_string(self.home.path("gateway_state.json")).ok()?;
            let state: Value = serde_json::from_str(&text).ok()?;
            holds(&state).then_some(())
        });
    }

    /// Waits until the log of the gateway has this text.
    #[track_caller]
    pub(crate) fn until_logged(&self, text: &str) {
        until(text, || self.log().contains(text).then_some(()));
    }

    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.home.path("logs/gateway.log")).unwrap_or_default()
    }
}

impl Drop for Post {
    fn drop(&mut self) {
        // What `gateway start` has left in the background.
        if let Some(pid) = hermes_home::gateway_pid(&self.home.root()) {
            kill(pid, Signal::KILL);
        }
    }
}

/// Waits until a gateway has said that it is ready.
#[track_caller]
pub(crate) fn ready(gateway: Running) -> Running {
    while let Some(line) = gateway.next_line() {
        if line.starts_with("Ready (PID ") {
            return gateway;
        }
    }
    panic!("the gateway ended: {:?}", gateway.errors());
}

pub(crate) fn kill(pid: u32, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    // It may have ended.
    kill_process(pid, signal).ok();
}

/// Sends a signal and waits for the end; gives the exit code.
pub(crate) fn end(gateway: &mut Running, signal: Signal) -> Option<i32> {
    kill(gateway.pid(), signal);
    gateway.wait().code()
}

/// Waits for something; gives it.
#[track_caller]
pub(crate) fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begin = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begin.elapsed() < LONGEST_WAIT, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
