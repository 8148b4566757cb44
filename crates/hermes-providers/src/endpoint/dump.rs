//! Dumps requests to private files for debugging (`HERMES_DUMP_REQUESTS`), without keys.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use hermes_config::{Config, vars};
use hermes_secret::{Redactor, SecretString};
use serde_json::{Value, json};

use crate::route::Route;

/// The directory of dumped requests.
#[derive(Debug)]
pub(crate) struct RequestDump {
    directory: PathBuf,
    /// Distinguishes files of the same moment.
    count: AtomicU64,
}

impl RequestDump {
    /// `None` unless dumps are enabled.
    pub(crate) fn if_enabled(config: &Config) -> Option<Self> {
        let sources = config.sources();
        sources.env.flag(&vars::HERMES_DUMP_REQUESTS).then(|| Self {
            directory: sources.home.join("sessions"),
            count: AtomicU64::new(0),
        })
    }

    /// Dumps a request. A failure is only logged.
    pub(crate) fn dump(
        &self,
        route: &Route,
        session: Option<&str>,
        body: &Value,
        key: Option<&SecretString>,
    ) {
        let session = session.unwrap_or("none");
        let now = jiff::Timestamp::now();
        let record = json!({
            "timestamp": now.to_string(),
            "session_id": session,
            "reason": "preflight",
            "request": {
                "method": "POST",
                // The query may hold a key.
                "url": route.mode.endpoint(&route.base_url),
                "provider": route.provider,
                "body": body,
            },
        });
        let redactor = Redactor::new(key.into_iter().cloned());
        let text = serde_json::to_string_pretty(&record).unwrap_or_default();
        let text = redactor.redact(&text);
        let safe = session.replace(|c: char| !c.is_ascii_alphanumeric() && c != '_', "-");
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let stamp = now.strftime("%Y%m%d_%H%M%S_%6f");
        let name = format!("request_dump_{safe}_{stamp}_{number}.json");
        let written = hermes_fs::create_dir_all(&self.directory, 0o700).and_then(|()| {
            hermes_fs::write_atomic_exact(&self.directory.join(name), text.as_bytes(), 0o600)
        });
        if let Err(error) = written {
            tracing::warn!("could not dump a request: {error}");
        }
    }
}
