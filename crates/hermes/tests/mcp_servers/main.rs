//! MCP servers that nobody here wrote: the official ones from the registries of npm and PyPI, in the
//! versions named in `packages`.
//!
//! The packages are installed once below the target directory; if that fails, so do the tests, with
//! the reason.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "tests run programs and look at processes directly"
)]

mod local;
mod over_http;
mod packages;

use hermes_testkit::TestHome;
use serde_json::{Value, json};

/// A user's home with one server, `srv`.
struct Desk {
    home: TestHome,
}

impl Desk {
    fn new(server: &Value) -> Self {
        let home = TestHome::new(env!("CARGO_BIN_EXE_hermes"));
        let script = home.path("script.yaml");
        home.put(
            "config.yaml",
            format!(
                "model: {{provider: replay, script: {}}}\nmcp_discovery_timeout: 60\n\
                 mcp_servers: {}\n",
                script.display(),
                json!({"srv": server})
            ),
        );
        Self { home }
    }

    /// Names of the tools that the server has.
    #[track_caller]
    fn tools(&self) -> Vec<String> {
        let tested = self.home.run(["mcp", "test", "srv", "--json"]);
        let tools = tested.succeeds().json()["tools"].clone();
        let tools = tools.as_array().unwrap().iter();
        tools
            .map(|tool| tool["name"].as_str().unwrap().to_owned())
            .collect()
    }

    #[track_caller]
    fn call(&self, tool: &str, args: Value) -> Value {
        let name = format!("mcp__srv__{tool}");
        let run = self.home.run(["tools", "call", &name, &args.to_string()]);
        serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{run:?}"))
    }
}
