//! `logs/gateway-exit-diag.log`: how gateways of a home started and ended, a JSON object a line, as
//! the reference writes it. A start without an end was killed.

use std::io::Write;
use std::path::{Path, PathBuf};

use hermes_home::utc_now;
use serde_json::{Value, json};

/// Size above which the older half of the file is dropped.
const MOST: u64 = 256 * 1024;

/// A file that grew under a program without this limit.
const READ_LIMIT: u64 = 16 * 1024 * 1024;

const START: &str = "gateway.start";
const EXIT: &str = "gateway.exit";

/// The log of starts and ends.
#[derive(Debug)]
pub struct ExitLog {
    path: PathBuf,
    is_on: bool,
}

/// A gateway that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastRun {
    pub pid: u64,
    pub started_at: String,
    pub ended_at: Option<String>,
    /// `None` if it did not get to say.
    pub code: Option<i64>,
    pub reason: Option<String>,
}

impl ExitLog {
    /// The log of a home; switched off, it is read but not written.
    pub fn of_home(home: &Path, is_on: bool) -> Self {
        Self {
            path: home.join("logs/gateway-exit-diag.log"),
            is_on,
        }
    }

    /// This process begins as a gateway.
    pub fn started(&self) {
        self.append(&json!({"ts": utc_now(), "tag": START, "pid": std::process::id()}));
    }

    /// This process ends with this exit code.
    pub fn ended(&self, code: u8, reason: &str) {
        self.append(&json!({
            "ts": utc_now(), "tag": EXIT, "pid": std::process::id(), "code": code,
            "reason": reason,
        }));
    }

    /// The last runs, the latest first, without the one of a gateway that runs now.
    pub fn past_runs(&self, running: Option<u32>, most: usize) -> Vec<PastRun> {
        let text = hermes_fs::read_capped(&self.path, READ_LIMIT).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let mut runs: Vec<PastRun> = Vec::new();
        for line in text.lines() {
            // A line that was cut by a full disk tells nothing.
            let Ok(line) = serde_json::from_str::<Value>(line) else {
                continue;
            };
            let text = |name: &str| line.get(name).and_then(Value::as_str).map(str::to_owned);
            let Some(pid) = line.get("pid").and_then(Value::as_u64) else {
                continue;
            };
            match text("tag").as_deref() {
                Some(START) => runs.push(PastRun {
                    pid,
                    started_at: text("ts").unwrap_or_default(),
                    ended_at: None,
                    code: None,
                    reason: None,
                }),
                Some(EXIT) => {
                    let run = runs.iter_mut().rev().find(|run| run.pid == pid);
                    if let Some(run) = run.filter(|run| run.ended_at.is_none()) {
                        run.ended_at = text("ts");
                        run.code = line.get("code").and_then(Value::as_i64);
                        run.reason = text("reason");
                    }
                }
                _ => {}
            }
        }
        let is_over =
            |run: &PastRun| run.ended_at.is_some() || running.map(u64::from) != Some(run.pid);
        runs.retain(is_over);
        runs.reverse();
        runs.truncate(most);
        runs
    }

    fn append(&self, line: &Value) {
        if !self.is_on {
            return;
        }
        if let Err(error) = self.try_append(line) {
            tracing::debug!(%error, "could not write down how the gateway started or ended");
        }
    }

    fn try_append(&self, line: &Value) -> hermes_fs::Result<()> {
        let directory = self.path.parent().filter(|directory| !directory.is_dir());
        if let Some(directory) = directory {
            // Not the home as well: one that was removed stays away.
            hermes_fs::create_dir(directory, 0o700)?;
        }
        if hermes_fs::metadata(&self.path).is_ok_and(|meta| meta.len() > MOST) {
            let bytes = hermes_fs::read_capped(&self.path, READ_LIMIT).unwrap_or_default();
            let text = String::from_utf8_lossy(&bytes);
            let lines: Vec<&str> = text.lines().collect();
            let kept = lines.get(lines.len() / 2..).unwrap_or_default().join("\n");
            hermes_fs::write_atomic(&self.path, format!("{kept}\n").as_bytes(), 0o600)?;
        }
        let mut file = hermes_fs::open_append(&self.path, 0o600)?;
        let written = file.write_all(format!("{line}\n").as_bytes());
        written.map_err(hermes_fs::Error::io("write", &self.path))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods, reason = "tests access files directly")]

    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn runs_are_told_with_their_ends_and_kills_without() {
        let home = tempfile::tempdir().unwrap();
        let log = ExitLog::of_home(home.path(), true);
        assert_eq!(log.past_runs(None, 5), []);
        log.started();
        log.ended(75, "SIGUSR1");
        log.started();
        let own = std::process::id();
        let over = log.past_runs(Some(own), 5);
        assert_eq!(over.len(), 1);
        assert_eq!(
            (over[0].code, over[0].reason.as_deref()),
            (Some(75), Some("SIGUSR1"))
        );
        let killed = log.past_runs(None, 5);
        assert_eq!(killed.len(), 2);
        assert_eq!(
            (killed[0].code, killed[0].ended_at.as_deref()),
            (None, None)
        );
        assert_eq!(log.past_runs(None, 1).len(), 1);
    }

    #[test]
    fn the_file_stays_small_and_can_be_switched_off() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("logs/gateway-exit-diag.log");
        ExitLog::of_home(home.path(), false).started();
        assert!(!path.exists());
        let log = ExitLog::of_home(home.path(), true);
        log.started();
        std::fs::write(&path, "not JSON\n".repeat(60_000)).unwrap();
        log.ended(0, "stopped");
        assert!(std::fs::metadata(&path).unwrap().len() < 300_000);
    }
}
