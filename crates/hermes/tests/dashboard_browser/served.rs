//! A dashboard in a home of its own.

use std::path::Path;

use hermes_testkit::{Running, TestHome};

/// A dashboard that answers at [`Self::url`]. Ends when dropped.
pub(crate) struct Served {
    pub(crate) home: TestHome,
    pub(crate) port: u16,
    pub(crate) process: Running,
}

/// The settings of a home whose model plays a script.
pub(crate) const REPLAY: &str = "model:\n  provider: replay\n  script: script.yaml\n";

pub(crate) fn home() -> TestHome {
    let home = TestHome::new(env!("CARGO_BIN_EXE_hermes"));
    home.put("config.yaml", REPLAY);
    home.put("script.yaml", "turns:\n  - text: Hello from the script.\n");
    home
}

impl Served {
    pub(crate) fn new() -> Self {
        Self::at(home())
    }

    pub(crate) fn at(home: TestHome) -> Self {
        let (process, port) = start(&home, 0, &[]);
        Self {
            home,
            port,
            process,
        }
    }

    /// With another front-end, from this directory.
    pub(crate) fn with_front_end(dist: &Path) -> Self {
        let home = home();
        let words = ["dashboard", "--no-open", "--port", "0"];
        let process = home.hermes(words).env("HERMES_WEB_DIST", dist).start();
        Self::of(home, process)
    }

    /// One that was started already.
    pub(crate) fn of(home: TestHome, process: Running) -> Self {
        let port = port_of(&process);
        Self {
            home,
            port,
            process,
        }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// Ends the dashboard and starts another at the same port.
    pub(crate) fn restart(&mut self) {
        self.process.kill();
        let (process, port) = start(&self.home, self.port, &[]);
        assert_eq!(port, self.port);
        self.process = process;
    }

    /// Runs a command in the home; what it prints.
    #[track_caller]
    pub(crate) fn hermes(&self, words: &[&str]) -> String {
        let output = self.home.run(words);
        assert_eq!(output.code, Some(0), "{words:?}: {output:?}");
        output.stdout
    }

    /// Creates a card; its id.
    #[track_caller]
    pub(crate) fn card(&self, title: &str, more: &[&str]) -> String {
        let mut words = vec!["kanban", "create", title, "--json"];
        words.extend(more);
        let answer: serde_json::Value = serde_json::from_str(&self.hermes(&words)).unwrap();
        let id = answer["id"].as_str().or(answer["task_id"].as_str());
        id.unwrap_or_else(|| panic!("{answer}")).to_owned()
    }
}

/// Starts a dashboard; the process and its port.
pub(crate) fn start(home: &TestHome, port: u16, more: &[&str]) -> (Running, u16) {
    let port = port.to_string();
    let mut words = vec!["dashboard", "--no-open", "--port", &port];
    words.extend(more);
    let process = home.hermes(words).start();
    let port = port_of(&process);
    (process, port)
}

/// The port of a dashboard, once it listens.
fn port_of(process: &Running) -> u16 {
    while let Some(line) = process.next_line() {
        if let Some(port) = line.strip_prefix("HERMES_DASHBOARD_READY port=") {
            return port.trim().parse().unwrap();
        }
    }
    panic!("the dashboard ended: {:?}", process.errors());
}
