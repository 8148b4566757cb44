//! A home, the gateway in it, and the model behind it.

use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};

use hermes_testkit::{ProgramCall, Running, TestHome};
use serde_json::Value;

use crate::client::Api;
use crate::model::ReplayModel;
use crate::vitals::Vitals;

pub(crate) const KEY: &str = "0123456789abcdef0123456789abcdef";

/// A home and the variables of programs in it.
pub(crate) struct GatewayHome {
    home: TestHome,
    variables: Vec<(String, String)>,
}

impl GatewayHome {
    /// A call of the program in this home.
    pub(crate) fn hermes(&self, words: &[&str]) -> ProgramCall {
        let mut call = self.home.hermes(words);
        for (name, value) in &self.variables {
            call = call.env(name, value);
        }
        call
    }

    /// Creates a card for the profile whose workers complete their cards; gives its id.
    pub(crate) fn create_card(&self, title: &str) -> Result<String, String> {
        let words = ["kanban", "create", title, "--assignee", "coder", "--json"];
        let made = self.hermes(&words).run();
        if made.code != Some(0) {
            return Err(format!("no card: {made}"));
        }
        let id = made.json()["id"].as_str().map(str::to_owned);
        id.ok_or_else(|| format!("a card without an id: {made}"))
    }

    /// The cards of the board: their ids and statuses.
    pub(crate) fn cards(&self) -> Vec<(String, String)> {
        let listed = self.hermes(&["kanban", "list", "--json"]).run();
        let cards = listed.succeeds().json();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let cards = cards.as_array().cloned().unwrap_or_default();
        let each = cards
            .iter()
            .map(|card| (text(&card["id"]), text(&card["status"])));
        each.collect()
    }

    pub(crate) fn put(&self, name: &str, content: &str) {
        self.home.put(name, content);
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.home.path(name)
    }

    #[track_caller]
    fn run(&self) -> Running {
        let gateway = self.hermes(&["gateway", "run"]).start();
        while let Some(line) = gateway.next_line() {
            if line.starts_with("Ready (PID ") {
                return gateway;
            }
        }
        panic!("the gateway ended: {:?}", gateway.errors());
    }
}

/// A gateway with its API on. Ends when dropped.
pub(crate) struct ServedGateway {
    pub(crate) home: GatewayHome,
    pub(crate) model: ReplayModel,
    port: u16,
    running: Running,
}

impl ServedGateway {
    /// Starts the program in a home of its own.
    pub(crate) fn start(program: &Path) -> Self {
        Self::configured(program, "")
    }

    /// The same, with these settings as well.
    pub(crate) fn configured(program: &Path, more: &str) -> Self {
        let model = ReplayModel::start();
        let home = GatewayHome {
            home: TestHome::new(program),
            variables: Vec::new(),
        };
        // A port that was free a moment ago.
        let port = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        let port = port.unwrap().port();
        home.put("config.yaml", &format!("{}{more}", settings(&model)));
        home.put(
            ".env",
            &format!("API_SERVER_KEY={KEY}\nAPI_SERVER_PORT={port}\n"),
        );
        let running = home.run();
        Self {
            home,
            model,
            port,
            running,
        }
    }

    pub(crate) fn api(&self) -> Api {
        Api {
            address: SocketAddr::from(([127, 0, 0, 1], self.port)),
            key: KEY.to_owned(),
        }
    }

    #[track_caller]
    pub(crate) fn vitals(&self) -> Vitals {
        Vitals::of(self.running.pid()).unwrap_or_else(|| {
            panic!("the gateway has ended: {:?}", self.running.errors());
        })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.running.pid()
    }

    /// Gives the board a profile whose workers complete their cards without an agent. Starts the
    /// gateway again.
    pub(crate) fn complete_cards(&mut self, program: &Path) {
        let script = format!(
            "#!/bin/sh\nexec '{}' kanban complete \"$HERMES_KANBAN_TASK\"\n",
            program.display()
        );
        let worker = self.home.home.put_outside("worker", script, 0o755);
        let worker = worker.display().to_string();
        self.home.variables.push(("HERMES_BIN".to_owned(), worker));
        let made = self.home.hermes(&["profile", "create", "coder"]).run();
        made.succeeds();
        self.kill();
        self.restart();
    }

    /// Ends it with SIGKILL.
    pub(crate) fn kill(&mut self) {
        self.running.kill();
    }

    /// Starts it again.
    pub(crate) fn restart(&mut self) {
        self.running = self.home.run();
    }
}

fn settings(model: &ReplayModel) -> String {
    format!(
        "model:\n  default: replay\n  provider: custom\n  base_url: {}\n  context_length: 1000000\n\
         auxiliary:\n  title_generation:\n    enabled: false\n\
         gateway:\n  respawn_storm:\n    max_starts: 0\n  api_server:\n    max_concurrent_runs: 0\n",
        model.base_url()
    )
}
