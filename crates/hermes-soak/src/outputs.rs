//! Sessions whose tools print a lot.

use std::path::Path;

use crate::gateway::ServedGateway;
use crate::model::Question;
use crate::sessions::begin_sessions;
use crate::vitals::Vitals;

/// What came of it.
#[derive(Debug, Clone, Copy)]
pub struct OutputsReport {
    /// The gateway before the first turn.
    pub start: Vitals,
    /// The gateway after the last one.
    pub end: Vitals,
    /// Bytes of conversations that it keeps open, by its own count.
    pub kept_bytes: u64,
    /// Conversations that it keeps open.
    pub kept: u64,
}

/// Takes one turn in each of so many sessions, with a command that prints this much.
pub fn tool_outputs(program: &Path, sessions: usize, bytes: usize) -> OutputsReport {
    let most = bytes + 1_000;
    let gateway = ServedGateway::configured(
        program,
        &format!("tool_output:\n  max_bytes: {most}\n  max_line_length: {most}\n"),
    );
    let api = gateway.api();
    let start = gateway.vitals();
    begin_sessions(&api, sessions, |number| Question {
        calls: true,
        prints: bytes,
        ..Question::new(format!("o{number}"))
    });
    let end = gateway.vitals();
    let metrics = api.call("GET", "/metrics", None).unwrap();
    let gauge = |name: &str| {
        let line = metrics
            .body
            .lines()
            .find_map(|line| line.strip_prefix(name));
        line.and_then(|value| value.trim().parse().ok())
            .unwrap_or_default()
    };
    OutputsReport {
        start,
        end,
        kept: gauge("hermes_api_open_conversations "),
        kept_bytes: gauge("hermes_api_open_conversation_bytes "),
    }
}
