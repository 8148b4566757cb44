//! Which hooks a person has accepted: `shell-hooks-allowlist.json`, shared with the reference.

use std::path::{Path, PathBuf};

use hermes_fs::{FileLock, LockOptions};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::command::{script_time, stamp};
use crate::event::HookEvent;

const FILE: &str = "shell-hooks-allowlist.json";
/// Largest file that is read.
const LIMIT: u64 = 1 << 20;

/// The accepted hooks of a home.
#[derive(Debug, Clone)]
pub struct AcceptedHooks {
    file: PathBuf,
    /// Home directory of the account, for the scripts of commands.
    account_home: PathBuf,
}

/// When a hook was accepted, and how old its script was then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Acceptance {
    pub at: Option<String>,
    pub script_time: Option<String>,
}

impl AcceptedHooks {
    /// Those of a Hermes home.
    pub fn of_home(home: &Path, account_home: &Path) -> Self {
        Self {
            file: home.join(FILE),
            account_home: account_home.to_owned(),
        }
    }

    /// Whether and when a hook was accepted.
    pub fn find(&self, event: HookEvent, command: &str) -> Option<Acceptance> {
        let root = self.read();
        let entry = entries(&root).find(|entry| is(entry, event, command))?;
        let text = |name: &str| Some(entry.get(name)?.as_str()?.to_owned());
        Some(Acceptance {
            at: text("approved_at"),
            script_time: text("script_mtime_at_approval"),
        })
    }

    /// Records that a hook was accepted.
    pub fn accept(&self, event: HookEvent, command: &str) -> hermes_fs::Result<()> {
        let new = json!({
            "approved_at": stamp(Timestamp::now()),
            "command": command,
            "event": event.name(),
            "script_mtime_at_approval": script_time(command, &self.account_home),
        });
        self.change(|approvals| {
            approvals.retain(|entry| !is(entry, event, command));
            approvals.push(new);
        })
    }

    /// Forgets every acceptance of a command; how many there were.
    pub fn revoke(&self, command: &str) -> hermes_fs::Result<usize> {
        let is_it = |entry: &Value| entry.get("command").and_then(Value::as_str) == Some(command);
        if !entries(&self.read()).any(is_it) {
            return Ok(0);
        }
        let mut removed = 0;
        self.change(|approvals| {
            let before = approvals.len();
            approvals.retain(|entry| !is_it(entry));
            removed = before - approvals.len();
        })?;
        Ok(removed)
    }

    /// Changes the file from reading to replacing it without anybody between.
    fn change(&self, change: impl FnOnce(&mut Vec<Value>)) -> hermes_fs::Result<()> {
        let lock = self.file.with_extension("json.lock");
        let _lock = FileLock::acquire(&lock, &LockOptions::new("the file of accepted hooks"))?;
        let mut root = self.read();
        let mut approvals: Vec<Value> = entries(&root).cloned().collect();
        change(&mut approvals);
        root.insert("approvals".to_owned(), Value::Array(approvals));
        let text = serde_json::to_string_pretty(&root).unwrap_or_default();
        hermes_fs::write_atomic(&self.file, text.as_bytes(), 0o600)
    }

    /// What the file has; one that is not there or cannot be understood accepts nothing.
    fn read(&self) -> Map<String, Value> {
        let bytes = match hermes_fs::read_optional(&self.file, LIMIT) {
            Ok(bytes) => bytes.unwrap_or_default(),
            Err(error) => {
                tracing::warn!(%error, "no hook counts as accepted");
                return Map::new();
            }
        };
        match serde_json::from_slice(&bytes) {
            Ok(Value::Object(root)) => root,
            Ok(_) => Map::new(),
            Err(_) if bytes.is_empty() => Map::new(),
            Err(error) => {
                let file = self.file.display();
                tracing::warn!(%error, "{file} is not JSON; no hook counts as accepted");
                Map::new()
            }
        }
    }
}

fn entries(root: &Map<String, Value>) -> impl Iterator<Item = &Value> {
    let approvals = root.get("approvals").and_then(Value::as_array);
    approvals
        .into_iter()
        .flatten()
        .filter(|entry| entry.is_object())
}

fn is(entry: &Value, event: HookEvent, command: &str) -> bool {
    let text = |name: &str| entry.get(name).and_then(Value::as_str);
    text("event") == Some(event.name()) && text("command") == Some(command)
}

#[cfg(test)]
#[path = "accepted_tests.rs"]
mod tests;
