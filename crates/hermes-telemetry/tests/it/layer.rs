//! Events and spans as they arrive in the files.

use std::fs;
use std::path::Path;

use hermes_secret::Redactor;
use hermes_telemetry::{Level, LogLayer, LogSettings, LogWriter, Zone, best_effort, init};
use jiff::tz::TimeZone;
use pretty_assertions::assert_eq;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::Registry;

fn settings(dir: &Path) -> LogSettings {
    LogSettings {
        zone: Zone::Explicit(TimeZone::UTC),
        ..LogSettings::new(dir, Redactor::default())
    }
}

/// The lines of agent.log without their stamps.
fn logged(settings: LogSettings, action: impl FnOnce()) -> Vec<String> {
    let path = settings.dir.join("agent.log");
    let layer = LogLayer::new(LogWriter::new(settings));
    tracing::subscriber::with_default(Registry::default().with(layer), action);
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines()
        .map(|line| line.get(24..).unwrap_or(line).to_owned())
        .collect()
}

#[test]
fn levels_loggers_sessions_and_fields() {
    let dir = tempfile::tempdir().unwrap();
    let lines = logged(settings(dir.path()), || {
        tracing::info!(target: "hermes_agent::turn", tools = 3, model = "m 1", "done");
        let span = tracing::info_span!(target: "hermes_agent", "turn", session = "tg:1");
        span.in_scope(|| {
            tracing::warn!(target: "hermes_tools::files", path = %"/a/b", "slow");
            tracing::info_span!(target: "hermes_agent", "inner").in_scope(|| {
                tracing::error!(target: "hermes_gateway", "inner");
                tracing::info!(target: "hermes_agent", session = "own", "own");
            });
        });
        let late =
            tracing::info_span!(target: "hermes_agent", "turn", session = tracing::field::Empty);
        late.record("session", "late");
        late.in_scope(|| tracing::info!(target: "hermes::commands", "cli"));
    });
    assert_eq!(
        lines,
        [
            "INFO agent.turn: done tools=3 model=\"m 1\"",
            "WARNING [tg:1] tools.files: slow path=/a/b",
            "ERROR [tg:1] gateway: inner",
            "INFO [own] agent: own",
            "INFO [late] hermes_cli.commands: cli",
        ]
    );
}

#[test]
fn what_is_below_the_level_or_foreign_chatter_touches_no_disk() {
    let dir = tempfile::tempdir().unwrap();
    let logs = dir.path().join("logs");
    let lines = logged(settings(&logs), || {
        tracing::debug!(target: "hermes_agent", "no");
        tracing::trace!(target: "hermes_agent", "no");
        tracing::info!(target: "hyper::client", "no");
    });
    assert_eq!(lines, Vec::<String>::new());
    assert!(!logs.exists());
}

#[test]
fn sessions_are_known_even_if_only_errors_are_logged() {
    let dir = tempfile::tempdir().unwrap();
    let quiet = LogSettings {
        level: Level::Error,
        ..settings(dir.path())
    };
    let lines = logged(quiet, || {
        let span = tracing::info_span!(target: "hermes_agent", "turn", session = "s");
        span.in_scope(|| {
            tracing::info!(target: "hermes_agent", "no");
            tracing::error!(target: "hyper::client", "yes");
        });
    });
    assert_eq!(lines, ["ERROR [s] hyper.client: yes"]);
}

#[test]
fn best_effort_says_what_it_could_not_do() {
    let dir = tempfile::tempdir().unwrap();
    let lines = logged(settings(dir.path()), || {
        assert_eq!(best_effort("sweep", || Err::<(), _>("no broom")), None);
    });
    assert_eq!(
        lines,
        ["WARNING telemetry.best_effort: could not sweep: no broom"]
    );
}

#[test]
fn a_second_process_wide_subscriber_changes_nothing() {
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    init(settings(first.path()));
    init(settings(second.path()));
    tracing::info!(target: "hermes_agent", "where");
    let text = fs::read_to_string(first.path().join("agent.log")).unwrap();
    assert!(text.ends_with("INFO agent: where\n"), "{text}");
    assert!(!second.path().join("agent.log").exists());
}
