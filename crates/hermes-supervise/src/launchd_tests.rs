use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use pretty_assertions::assert_eq;

use super::*;

/// A `launchctl` that writes down how it is called. The file `loaded` is the agent; `bootout` and
/// `bootstrap` take and give it, and the codes are launchd's.
const LAUNCHCTL: &str = r#"#!/bin/sh
cd "$(dirname "$0")"
echo "$*" >> calls
case $1 in
  print) test -e loaded ;;
  bootstrap) touch loaded ;;
  bootout) test -e loaded || exit 3; rm loaded ;;
  kickstart) test -e loaded || exit 113 ;;
  enable) ;;
esac
"#;

struct Mac {
    directory: tempfile::TempDir,
    agent: Launchd,
}

impl Mac {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let tool = directory.path().join("launchctl");
        hermes_fs::write_atomic_exact(&tool, LAUNCHCTL.as_bytes(), 0o755).unwrap();
        let mut path = OsString::from(directory.path());
        path.push(":/usr/bin:/bin");
        let caller = Caller {
            variables: vec![("PATH".into(), path)],
            uid: 501,
            home: directory.path().join("joe"),
            file_system_root: "/".into(),
            is_container: false,
        };
        let home = directory.path().join("joe/.hermes");
        let gateway = GatewayDefinition {
            program: "/usr/local/bin/hermes".to_owned(),
            profile: None,
            suffix: String::new(),
            home: home.to_str().unwrap().to_owned(),
            path: "/usr/bin:/bin".to_owned(),
            drain: Duration::from_secs(30),
            watchdog: None,
        };
        let agent = Launchd::new(&caller, &gateway).unwrap();
        Self { directory, agent }
    }

    /// How launchctl was called since the last time, without the questions.
    fn calls(&self) -> Vec<String> {
        let file = self.directory.path().join("calls");
        let text = hermes_fs::read_text_capped(&file, 1 << 20).unwrap_or_default();
        hermes_fs::remove_file_if_present(&file).unwrap();
        let plist = self.agent.file.to_str().unwrap();
        text.lines()
            .filter(|line| !line.starts_with("print "))
            .map(|line| line.replace(plist, "PLIST"))
            .collect()
    }
}

const TARGET: &str = "gui/501/ai.hermes.gateway";

#[test]
fn an_agent_is_loaded_by_its_first_start_and_kicked_by_the_next() {
    let mac = Mac::new();
    assert_eq!(mac.agent.definition(), Definition::Absent);
    assert!(mac.agent.install(true).unwrap().is_empty());
    assert_eq!(mac.agent.definition(), Definition::Current);
    assert_eq!(
        mac.calls(),
        [format!("bootout {TARGET}"), format!("enable {TARGET}")]
    );
    assert!(!mac.agent.is_active().unwrap());

    mac.agent.start().unwrap();
    assert_eq!(
        mac.calls(),
        [
            format!("kickstart {TARGET}"),
            "bootstrap gui/501 PLIST".to_owned()
        ]
    );
    assert!(mac.agent.is_active().unwrap());
    mac.agent.start().unwrap();
    assert_eq!(mac.calls(), [format!("kickstart {TARGET}")]);
}

#[test]
fn a_stopped_agent_keeps_its_file_and_a_removed_one_does_not() {
    let mac = Mac::new();
    mac.agent.install(true).unwrap();
    mac.agent.start().unwrap();
    mac.calls();
    mac.agent.stop().unwrap();
    assert_eq!(mac.calls(), [format!("bootout {TARGET}")]);
    assert!(!mac.agent.is_active().unwrap());
    // Stopping what is not loaded is no error.
    mac.agent.stop().unwrap();
    assert_eq!(mac.agent.definition(), Definition::Current);
    mac.agent.uninstall().unwrap();
    assert_eq!(mac.agent.definition(), Definition::Absent);
}

#[test]
fn a_long_log_is_put_aside_before_a_start() {
    let mac = Mac::new();
    mac.agent.install(true).unwrap();
    let log = Path::new(&mac.agent.logs).join("gateway.error.log");
    let file = hermes_fs::create_new(&log, 0o600).unwrap();
    file.set_len(LOG_LIMIT + 1).unwrap();
    mac.agent.start().unwrap();
    assert!(!log.exists());
    assert!(log.with_extension("log.1").exists());
}

#[test]
fn what_launchd_refuses_is_told_in_its_words() {
    let mac = Mac::new();
    let tool = mac.directory.path().join("launchctl");
    let script = b"#!/bin/sh\necho 'Bootstrap failed: 5' >&2\nexit 5\n";
    hermes_fs::write_atomic_exact(&tool, script, 0o755).unwrap();
    let error = mac.agent.start().unwrap_err().to_string();
    assert_eq!(
        error,
        format!("`launchctl kickstart {TARGET}` failed: Bootstrap failed: 5")
    );
}
