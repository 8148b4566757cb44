//! No secret reaches any of the four files, however it is logged.

use std::fs;

use hermes_secret::Redactor;
use hermes_telemetry::{Level, LogLayer, LogMode, LogSettings, LogWriter};
use pretty_assertions::assert_eq;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::Registry;

const TOKEN: &str = "ghp_Ab3dEfGh1jKlMnOpQrStUvWx";
const KNOWN: &str = "correct horse battery staple";

fn settings(dir: &std::path::Path, mode: LogMode) -> LogSettings {
    LogSettings {
        mode,
        ..LogSettings::new(dir, Redactor::new([KNOWN]))
    }
}

fn check(dir: &std::path::Path, files: &[&str]) {
    for name in files {
        let text = fs::read_to_string(dir.join(name)).unwrap();
        assert!(!text.contains(TOKEN), "{name}: {text}");
        assert!(!text.contains(KNOWN), "{name}: {text}");
        assert!(text.contains("ghp_Ab...UvWx"), "{name}: {text}");
        assert!(text.contains("known ***"), "{name}: {text}");
    }
}

#[test]
fn a_token_in_a_message_is_masked_in_all_four_files() {
    let dir = tempfile::tempdir().unwrap();
    let message = format!("using {TOKEN} and the known {KNOWN}");
    let gateway = LogWriter::new(settings(dir.path(), LogMode::Gateway));
    gateway.append(Level::Error, "gateway.run", None, &message);
    let dashboard = LogWriter::new(settings(dir.path(), LogMode::Dashboard));
    dashboard.append(Level::Error, "gui", None, &message);
    check(
        dir.path(),
        &["agent.log", "errors.log", "gateway.log", "gui.log"],
    );
}

#[test]
fn a_token_in_an_event_is_masked_too() {
    let dir = tempfile::tempdir().unwrap();
    let writer = LogWriter::new(settings(dir.path(), LogMode::Gateway));
    let layer = LogLayer::new(writer.clone());
    tracing::subscriber::with_default(Registry::default().with(layer), || {
        tracing::error!(
            target: "hermes_gateway::run",
            value = TOKEN,
            password = "hunter2hunter2",
            debug = ?Some(TOKEN),
            "using the known {KNOWN}"
        );
    });
    assert_eq!(writer.failed(), 0);
    check(dir.path(), &["agent.log", "errors.log", "gateway.log"]);
    let text = fs::read_to_string(dir.path().join("agent.log")).unwrap();
    assert!(!text.contains("hunter2"), "{text}");
}

#[test]
fn a_private_key_over_many_lines_is_gone() {
    let dir = tempfile::tempdir().unwrap();
    let writer = LogWriter::new(settings(dir.path(), LogMode::Cli));
    let key =
        "-----BEGIN PRIVATE KEY-----\nMIIEvAIBADANBg\nkqhkiG9w0BAQEF\n-----END PRIVATE KEY-----";
    writer.append(Level::Info, "agent", None, &format!("loaded\n{key}\ndone"));
    let text = fs::read_to_string(dir.path().join("agent.log")).unwrap();
    assert!(!text.contains("MIIEvAIBADANBg"), "{text}");
    assert!(!text.contains("kqhkiG9w0BAQEF"), "{text}");
    assert!(text.ends_with("\ndone\n"), "{text}");
}
