//! What logging needs to know, decided once at start. Nothing here reads a setting itself.

use std::path::PathBuf;
use std::sync::Arc;

use hermes_secret::Redactor;
use jiff::tz::TimeZone;

use crate::Level;

/// What kind of process logs; it decides which files there are besides `agent.log` and
/// `errors.log`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogMode {
    /// A command, a chat or a worker.
    Cli,
    /// The gateway: `gateway.log` too.
    Gateway,
    /// The dashboard: `gui.log` too.
    Dashboard,
}

/// In whose time the lines are stamped.
#[derive(Debug, Clone)]
pub enum Zone {
    /// The machine's, looked up at the first line.
    System,
    Explicit(TimeZone),
}

impl Zone {
    /// The zone itself.
    pub fn resolve(&self) -> TimeZone {
        match self {
            Self::System => hermes_time::local(),
            Self::Explicit(zone) => zone.clone(),
        }
    }
}

/// How to log.
#[derive(Debug, Clone)]
pub struct LogSettings {
    /// `<home>/logs`. Made at the first line if the home is there; a home is never made.
    pub dir: PathBuf,
    /// Least level of `agent.log`.
    pub level: Level,
    /// Size at which `agent.log` is rotated. Zero: never.
    pub max_bytes: u64,
    /// Rotated files kept of `agent.log`. Zero: never rotated.
    pub backups: u32,
    pub mode: LogMode,
    /// Least level that is also written to standard error; nothing is unless given.
    pub echo: Option<Level>,
    pub zone: Zone,
    /// What every line passes.
    pub redactor: Arc<Redactor>,
}

impl LogSettings {
    /// The defaults for a command that logs into this directory: INFO, 5 MiB, three old files, local
    /// time.
    pub fn new(dir: impl Into<PathBuf>, redactor: Redactor) -> Self {
        Self {
            dir: dir.into(),
            level: Level::Info,
            max_bytes: 5 * 1024 * 1024,
            backups: 3,
            mode: LogMode::Cli,
            echo: None,
            zone: Zone::System,
            redactor: Arc::new(redactor),
        }
    }
}
