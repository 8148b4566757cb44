//! Gateways as agents of launchd.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::definition::GatewayDefinition;
use crate::launchd_plist::{is_current, plist};
use crate::manager::{Caller, Definition, ManagerError, ServiceManager, Tool};

/// How long launchd may take for an answer.
const LIMIT: Duration = Duration::from_secs(30);
/// How long an agent may take to be gone.
const GONE_LIMIT: Duration = Duration::from_secs(15);
/// How often it is looked for: nothing tells.
const LOOK_AGAIN: Duration = Duration::from_millis(100);
/// Codes that mean "not loaded".
const NOT_LOADED: [i32; 2] = [3, 113];
/// Largest property list that is read.
const PLIST_LIMIT: u64 = 1 << 20;
/// Size at which what an agent has printed is put aside.
const LOG_LIMIT: u64 = 5 << 20;

/// The agent of one gateway.
#[derive(Debug)]
pub struct Launchd {
    domain: String,
    target: String,
    file: PathBuf,
    text: String,
    logs: PathBuf,
    launchctl: Tool,
}

impl Launchd {
    /// The agent of a gateway; `None` if the machine has no `launchctl`.
    pub fn new(caller: &Caller, gateway: &GatewayDefinition) -> Option<Self> {
        let label = gateway.named("ai.hermes.gateway");
        let domain = format!("gui/{}", caller.uid);
        let agents = caller.home.join("Library/LaunchAgents");
        Some(Self {
            target: format!("{domain}/{label}"),
            file: agents.join(format!("{label}.plist")),
            text: plist(gateway, &label),
            logs: Path::new(&gateway.home).join("logs"),
            launchctl: caller.tool("launchctl")?,
            domain,
        })
    }

    fn is_loaded(&self) -> Result<bool, ManagerError> {
        let answer = self.launchctl.ask(&["print", &self.target], LIMIT)?;
        Ok(answer.is_success())
    }

    fn bootstrap(&self) -> Result<(), ManagerError> {
        let file = self.file.to_string_lossy();
        self.launchctl
            .demand(&["bootstrap", &self.domain, &file], LIMIT)
    }

    /// Unloads the agent and waits until it is gone.
    fn bootout(&self) -> Result<(), ManagerError> {
        let words = ["bootout", self.target.as_str()];
        let answer = self.launchctl.ask(&words, LIMIT)?;
        let was_absent = answer.code.is_some_and(|code| NOT_LOADED.contains(&code));
        if !answer.is_success() && !was_absent {
            return Err(self.launchctl.refused(&words, &answer));
        }
        let deadline = Instant::now() + GONE_LIMIT;
        while self.is_loaded()? && Instant::now() < deadline {
            std::thread::sleep(LOOK_AGAIN);
        }
        Ok(())
    }

    /// launchd never shortens what an agent prints into.
    fn put_log_aside(&self) {
        let log = self.logs.join("gateway.error.log");
        let is_long = hermes_fs::metadata(&log).is_ok_and(|meta| meta.len() > LOG_LIMIT);
        let aside = self.logs.join("gateway.error.log.1");
        if is_long && let Err(error) = hermes_fs::rename(&log, &aside) {
            tracing::warn!(%error, "a long log could not be put aside");
        }
    }
}

impl ServiceManager for Launchd {
    fn label(&self) -> &'static str {
        "launchd"
    }

    fn scope(&self) -> &'static str {
        "user"
    }

    fn file(&self) -> &Path {
        &self.file
    }

    fn definition(&self) -> Definition {
        match hermes_fs::read_capped(&self.file, PLIST_LIMIT) {
            Ok(bytes) if is_current(&String::from_utf8_lossy(&bytes), &self.text) => {
                Definition::Current
            }
            Ok(_) => Definition::Outdated,
            Err(_) => Definition::Absent,
        }
    }

    /// The agent is loaded by its start, and with every login as long as its file is there.
    fn install(&self, enable: bool) -> Result<Vec<String>, ManagerError> {
        if let Some(directory) = self.file.parent() {
            hermes_fs::create_dir_all(directory, 0o755)?;
        }
        hermes_fs::create_dir_all(&self.logs, 0o700)?;
        self.bootout()?;
        hermes_fs::write_atomic_exact(&self.file, self.text.as_bytes(), 0o644)?;
        self.launchctl.demand(&["enable", &self.target], LIMIT)?;
        let loads = "launchd starts it with every login all the same";
        Ok(if enable {
            Vec::new()
        } else {
            vec![loads.to_owned()]
        })
    }

    fn uninstall(&self) -> Result<(), ManagerError> {
        self.bootout()?;
        hermes_fs::remove_file_if_present(&self.file)?;
        Ok(())
    }

    fn start(&self) -> Result<(), ManagerError> {
        self.put_log_aside();
        let words = ["kickstart", self.target.as_str()];
        let answer = self.launchctl.ask(&words, LIMIT)?;
        match answer.code {
            Some(0) => Ok(()),
            Some(code) if NOT_LOADED.contains(&code) => self.bootstrap(),
            _ => Err(self.launchctl.refused(&words, &answer)),
        }
    }

    fn stop(&self) -> Result<(), ManagerError> {
        self.bootout()
    }

    fn is_active(&self) -> Result<bool, ManagerError> {
        self.is_loaded()
    }
}

#[cfg(test)]
#[path = "launchd_tests.rs"]
mod tests;
