//! Requests as they are about to be sent, kept in files for whoever looks for a fault
//! (`HERMES_DUMP_REQUESTS`). Keys stay out of them, and nobody else may read them.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use hermes_config::{Config, vars};
use hermes_secret::{Redactor, SecretString};
use serde_json::{Value, json};

use crate::route::Route;

/// Where requests are kept.
#[derive(Debug)]
pub(crate) struct RequestDump {
    directory: PathBuf,
    /// Tells files of one moment apart.
    count: AtomicU64,
}

impl RequestDump {
    /// `None` unless they are wanted.
    pub(crate) fn wanted(config: &Config) -> Option<Self> {
        let sources = config.sources();
        sources.env.flag(&vars::HERMES_DUMP_REQUESTS).then(|| Self {
            directory: sources.home.join("sessions"),
            count: AtomicU64::new(0),
        })
    }

    /// Keeps a request. One that cannot be kept is sent all the same.
    pub(crate) fn keep(
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
        let safe: String = session
            .chars()
            .map(|c| {
                if c.is_ascii_alphanumeric() || c == '_' {
                    c
                } else {
                    '-'
                }
            })
            .collect();
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let stamp = now.strftime("%Y%m%d_%H%M%S_%6f");
        let name = format!("request_dump_{safe}_{stamp}_{number}.json");
        let kept = hermes_fs::create_dir_all(&self.directory, 0o700).and_then(|()| {
            hermes_fs::write_atomic_exact(&self.directory.join(name), text.as_bytes(), 0o600)
        });
        if let Err(error) = kept {
            tracing::warn!("a request was not kept: {error}");
        }
    }
}
