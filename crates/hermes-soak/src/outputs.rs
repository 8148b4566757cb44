//! Sessions whose tools print a lot.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::client::read_chat;
use crate::gateway::ServedGateway;
use crate::model::Question;
use crate::vitals::Vitals;

/// Turns at the same time.
const AT_ONCE: usize = 4;

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
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= sessions {
                        break;
                    }
                    let question = Question {
                        calls: true,
                        prints: bytes,
                        ..Question::new(format!("o{number}"))
                    };
                    let answer = api.chat(&question.text()).unwrap();
                    assert_eq!(read_chat(answer), Ok(question.answer()));
                }
            });
        }
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
