//! `logs/dashboard-auth.log`: logins, failures and tickets, one JSON object per line. No token, code or
//! cookie is ever in it.

use std::io::Write as _;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde_json::json;

/// Size at which the log is set aside.
const MAX_BYTES: u64 = 5 << 20;

/// What happened; the name stands in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    LoginStart,
    LoginSuccess,
    LoginFailure,
    Logout,
    RefreshSuccess,
    RefreshFailure,
    TicketIssued,
    TicketRejected,
}

impl Event {
    fn name(self) -> &'static str {
        match self {
            Self::LoginStart => "login_start",
            Self::LoginSuccess => "login_success",
            Self::LoginFailure => "login_failure",
            Self::Logout => "logout",
            Self::RefreshSuccess => "refresh_success",
            Self::RefreshFailure => "refresh_failure",
            Self::TicketIssued => "ws_ticket_minted",
            Self::TicketRejected => "ws_ticket_rejected",
        }
    }
}

/// The log.
#[derive(Debug)]
pub(crate) struct Audit {
    path: PathBuf,
    writing: Mutex<()>,
}

/// Whom an entry is about.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry<'e> {
    pub(crate) event: Event,
    pub(crate) provider: &'e str,
    pub(crate) user: &'e str,
    pub(crate) address: IpAddr,
    pub(crate) reason: &'e str,
}

impl Audit {
    pub(crate) fn of_home(home: &Path) -> Self {
        Self {
            path: home.join("logs/dashboard-auth.log"),
            writing: Mutex::new(()),
        }
    }

    /// Adds a line. A log that cannot be written keeps nobody out, and is told about.
    pub(crate) fn note(&self, entry: Entry<'_>) {
        let line = json!({
            "ts": jiff::Timestamp::now().to_string(),
            "event": entry.event.name(),
            "provider": hermes_text::shown(entry.provider, 80),
            "user_id": hermes_text::shown(entry.user, 200),
            "ip": entry.address.to_string(),
            "reason": entry.reason,
        });
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = self.append(&line.to_string()) {
            tracing::warn!("the log of logins cannot be written: {error}");
        }
    }

    fn append(&self, line: &str) -> Result<(), String> {
        let told = |error: hermes_fs::Error| error.to_string();
        if let Some(directory) = self.path.parent()
            && directory.parent().is_some_and(Path::is_dir)
        {
            hermes_fs::create_dir_all(directory, 0o700).map_err(told)?;
        }
        let size = hermes_fs::metadata(&self.path).map_or(0, |found| found.len());
        if size > MAX_BYTES {
            let old = self.path.with_extension("log.1");
            hermes_fs::rename(&self.path, &old).map_err(told)?;
        }
        let mut file = hermes_fs::open_append(&self.path, 0o600).map_err(told)?;
        file.write_all(format!("{line}\n").as_bytes())
            .map_err(|error| error.to_string())
    }
}
