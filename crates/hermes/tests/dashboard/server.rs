//! A dashboard in a home of its own.

use std::time::{Duration, Instant};

use hermes_testkit::{ProgramCall, Running, TestHome};
use serde_json::{Value, json};

use super::client::{Answer, Request};

/// A fixed token, so that a test knows it.
pub(crate) const TOKEN: &str = "token-of-the-dashboard-tests-0123456789";
/// What nobody may ever see.
pub(crate) const CANARY: &str = "canary-secret-value-0123456789abcdef";

pub(crate) fn home() -> TestHome {
    TestHome::new(env!("CARGO_BIN_EXE_hermes"))
}

pub(crate) fn dashboard(home: &TestHome) -> ProgramCall {
    home.hermes(["dashboard", "--no-open", "--port", "0"])
        .env("HERMES_DASHBOARD_SESSION_TOKEN", TOKEN)
}

/// A dashboard that runs.
pub(crate) struct Server {
    pub(crate) port: u16,
    pub(crate) process: Running,
}

impl Server {
    /// Starts one on this machine.
    pub(crate) fn local(home: &TestHome) -> Self {
        Self::start(dashboard(home))
    }

    /// Starts one that others can reach, with a login by password.
    pub(crate) fn gated(home: &TestHome) -> Self {
        Self::start(with_password(dashboard(home).args(["--host", "0.0.0.0"])))
    }

    pub(crate) fn start(call: ProgramCall) -> Self {
        let process = call.start();
        let line = process.next_line();
        let line = line.unwrap_or_else(|| panic!("no ready line: {:?}", process.errors()));
        let port = line.strip_prefix("HERMES_DASHBOARD_READY port=");
        let port = port.and_then(|port| port.parse().ok());
        let port = port.unwrap_or_else(|| panic!("{line}"));
        Self { port, process }
    }

    pub(crate) fn request(&self, method: &str, path: &str) -> Request {
        Request::new(self.port, method, path)
    }

    /// A request with the token of the page.
    pub(crate) fn with_token(&self, method: &str, path: &str) -> Request {
        self.request(method, path)
            .header("X-Hermes-Session-Token", TOKEN)
    }

    pub(crate) fn get(&self, path: &str) -> Value {
        self.with_token("GET", path).send().expect(200)
    }

    pub(crate) fn call(&self, method: &str, path: &str, body: &Value) -> Answer {
        self.with_token(method, path).json(body).send()
    }

    /// Logs in and returns the cookies.
    pub(crate) fn log_in(&self) -> String {
        let login = json!({"username": "ada", "password": "correct horse"});
        let answer = self
            .request("POST", "/auth/password-login")
            .json(&login)
            .send();
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.cookies()
    }

    /// Asks it to end; returns how long that took.
    pub(crate) fn terminate(mut self) -> (Duration, i32) {
        let begun = Instant::now();
        let pid = rustix::process::Pid::from_raw(i32::try_from(self.process.pid()).unwrap());
        rustix::process::kill_process(pid.unwrap(), rustix::process::Signal::TERM).unwrap();
        let ended = self.process.wait();
        (begun.elapsed(), ended.code().unwrap_or(-1))
    }
}

pub(crate) fn with_password(call: ProgramCall) -> ProgramCall {
    call.env("HERMES_DASHBOARD_BASIC_AUTH_USERNAME", "ada")
        .env("HERMES_DASHBOARD_BASIC_AUTH_PASSWORD", "correct horse")
}
