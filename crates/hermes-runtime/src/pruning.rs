//! Automatic removal of old sessions (`sessions.auto_prune`): at the end of a conversation, so that
//! nobody waits for it, and now and then in a gateway. A failure is logged.

use std::time::Duration;

use hermes_session::{AutoPrune, SessionStore};

use crate::context::Context;

const DAY: u64 = 24 * 60 * 60;
const HOUR: u64 = 60 * 60;

/// As at the end of a conversation, for a process that has none open.
pub fn prune_sessions_if_due(context: &Context) {
    if !context.config().flag("sessions.auto_prune") {
        return;
    }
    match SessionStore::open(&context.location.home) {
        Ok(mut store) => prune_if_due(&mut store, context),
        Err(error) => tracing::warn!(%error, "old sessions were not removed"),
    }
}

/// Prunes if `sessions.auto_prune` is on and the last time was long enough ago.
pub(crate) fn prune_if_due(store: &mut SessionStore, context: &Context) {
    let config = context.config();
    if !config.flag("sessions.auto_prune") {
        return;
    }
    let number = |key: &str| {
        config
            .int(key)
            .and_then(|number| u64::try_from(number).ok())
    };
    let Some(days) = number("sessions.retention_days").filter(|days| *days > 0) else {
        tracing::warn!("sessions.retention_days is not a number of days; no session is removed");
        return;
    };
    let hours = number("sessions.min_interval_hours").unwrap_or(24);
    let plan = AutoPrune {
        retention: Duration::from_secs(days.saturating_mul(DAY)),
        interval: Duration::from_secs(hours.saturating_mul(HOUR)),
        vacuum: config.flag("sessions.vacuum_after_prune"),
    };
    match store.prune_if_due(&plan) {
        Ok(None) => {}
        Ok(Some(gone)) => tracing::info!(count = gone.len(), "old sessions removed"),
        Err(error) => tracing::warn!(%error, "old sessions were not removed"),
    }
}
