//! A user with a home and another machine: a server of our own on this one.

use hermes_testkit::{ProgramCall, SshServer, TestHome};
use serde_json::{Value, json};

use crate::place::{Somewhere, merge, new_home, on_host, put_config};

/// A home whose commands run on another machine.
pub(crate) struct SshPlace {
    pub(crate) home: TestHome,
    pub(crate) server: SshServer,
}

impl SshPlace {
    pub(crate) fn new() -> Self {
        let place = Self {
            home: new_home(),
            server: SshServer::start(),
        };
        std::fs::create_dir(place.home.outside("tmp")).unwrap();
        place.configure(json!({}));
        place
    }
}

impl Somewhere for SshPlace {
    fn configure(&self, settings: Value) {
        let mut terminal = json!({
            "backend": "ssh",
            "ssh_host": self.server.host(),
            "ssh_port": self.server.port(),
            "ssh_user": self.server.user(),
            "ssh_key": self.server.key(),
        });
        merge(&mut terminal, settings);
        put_config(&self.home, &terminal);
    }

    fn longest_word(&self) -> usize {
        120 * 1024
    }

    fn hermes(&self, args: &[&str]) -> ProgramCall {
        // A temporary directory of its own: connections are shared through it.
        on_host(self.home.hermes(args))
            .in_directory(&self.home.outside("work"))
            .env("PATH", self.server.path_value())
            .env("TMPDIR", self.home.outside("tmp"))
    }
}
