//! Numbers about the server, as Prometheus reads them.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use hermes_agent::TurnOutcome;
use hermes_providers::TokenUsage;
use hyper::StatusCode;

/// Counters of one server.
#[derive(Debug)]
pub(crate) struct Metrics {
    started: SystemTime,
    /// By hundreds of the status.
    answers: [AtomicU64; 6],
    refused_keys: AtomicU64,
    completed: AtomicU64,
    partial: AtomicU64,
    failed: AtomicU64,
    interrupted: AtomicU64,
    prompt_tokens: AtomicU64,
    completion_tokens: AtomicU64,
    pub(crate) connections: AtomicUsize,
}

/// What is counted elsewhere.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Gauges {
    pub(crate) active_turns: usize,
    pub(crate) open_conversations: usize,
    pub(crate) open_conversation_bytes: usize,
    pub(crate) runs: usize,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        Self {
            started: SystemTime::now(),
            answers: Default::default(),
            refused_keys: AtomicU64::new(0),
            completed: AtomicU64::new(0),
            partial: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            interrupted: AtomicU64::new(0),
            prompt_tokens: AtomicU64::new(0),
            completion_tokens: AtomicU64::new(0),
            connections: AtomicUsize::new(0),
        }
    }

    pub(crate) fn answered(&self, status: StatusCode) {
        let hundreds = usize::from(status.as_u16() / 100);
        if let Some(counter) = self.answers.get(hundreds) {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(crate) fn refused_key(&self) {
        self.refused_keys.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn turn(&self, outcome: TurnOutcome, usage: &TokenUsage) {
        let counter = match outcome {
            TurnOutcome::Completed => &self.completed,
            TurnOutcome::Partial => &self.partial,
            TurnOutcome::Failed => &self.failed,
            TurnOutcome::Interrupted => &self.interrupted,
        };
        counter.fetch_add(1, Ordering::Relaxed);
        self.prompt_tokens
            .fetch_add(usage.prompt(), Ordering::Relaxed);
        self.completion_tokens
            .fetch_add(usage.output, Ordering::Relaxed);
    }

    /// The page.
    pub(crate) fn text(&self, gauges: Gauges) -> String {
        let mut page = Page(String::new());
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        page.family("hermes_build_info", "gauge", "Version of the program.");
        page.sample(
            "hermes_build_info",
            Some(("version", env!("CARGO_PKG_VERSION"))),
            1,
        );
        page.family("hermes_api_answers_total", "counter", "Answers by status.");
        for (hundreds, counter) in self.answers.iter().enumerate().skip(1) {
            let label = format!("{hundreds}xx");
            page.sample(
                "hermes_api_answers_total",
                Some(("status", &label)),
                load(counter),
            );
        }
        page.family(
            "hermes_api_refused_keys_total",
            "counter",
            "Requests with a wrong or missing key.",
        );
        page.sample(
            "hermes_api_refused_keys_total",
            None,
            load(&self.refused_keys),
        );
        page.family("hermes_api_turns_total", "counter", "Turns by outcome.");
        let outcomes = [
            ("completed", &self.completed),
            ("partial", &self.partial),
            ("failed", &self.failed),
            ("interrupted", &self.interrupted),
        ];
        for (outcome, counter) in outcomes {
            let label = Some(("outcome", outcome));
            page.sample("hermes_api_turns_total", label, load(counter));
        }
        page.family("hermes_api_tokens_total", "counter", "Tokens of turns.");
        let kinds = [
            ("prompt", &self.prompt_tokens),
            ("completion", &self.completion_tokens),
        ];
        for (kind, counter) in kinds {
            page.sample(
                "hermes_api_tokens_total",
                Some(("kind", kind)),
                load(counter),
            );
        }
        let connections = self.connections.load(Ordering::Relaxed);
        let states = [
            (
                "hermes_api_turns_active",
                "Turns on their way.",
                gauges.active_turns,
            ),
            ("hermes_api_connections", "Open connections.", connections),
            (
                "hermes_api_open_conversations",
                "Conversations kept open between turns.",
                gauges.open_conversations,
            ),
            (
                "hermes_api_open_conversation_bytes",
                "Their estimated size.",
                gauges.open_conversation_bytes,
            ),
            ("hermes_api_runs", "Runs on their way.", gauges.runs),
        ];
        for (name, help, value) in states {
            page.family(name, "gauge", help);
            page.sample(name, None, value as u64);
        }
        if let Some(bytes) = resident_bytes() {
            let name = "process_resident_memory_bytes";
            page.family(name, "gauge", "Memory of the process.");
            page.sample(name, None, bytes);
        }
        let started = self.started.duration_since(UNIX_EPOCH);
        let name = "process_start_time_seconds";
        page.family(name, "gauge", "Start of the server, in seconds since 1970.");
        page.sample(name, None, started.map_or(0, |since| since.as_secs()));
        page.0
    }
}

/// Memory of this process; `None` where the system does not tell.
fn resident_bytes() -> Option<u64> {
    let status = hermes_fs::read_text_capped(Path::new("/proc/self/status"), 64 << 10).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes = line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?;
    Some(kilobytes << 10)
}

/// A page in Prometheus' text format.
struct Page(String);

impl Page {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        // Writing to a text never fails.
        let _: std::fmt::Result = write!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    fn sample(&mut self, name: &str, label: Option<(&str, &str)>, value: u64) {
        let _: std::fmt::Result = match label {
            Some((key, text)) => writeln!(self.0, "{name}{{{key}=\"{text}\"}} {value}"),
            None => writeln!(self.0, "{name} {value}"),
        };
    }
}
