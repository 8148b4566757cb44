//! Whether a dispatcher starts workers for ready cards.

use std::path::Path;

use hermes_home::profiles::names;
use hermes_home::{gateway_elsewhere, gateway_pid};

use hermes_board::store::BoardStore;

use super::session::BoardSession;
use crate::error::Result;

/// Warns that a ready card will wait, and says how to change that.
pub(super) fn warn_if_absent(session: &BoardSession<'_>) -> Result<()> {
    if !any_gateway_runs(session)? {
        if another_host_dispatches(session)? {
            return Ok(());
        }
        if hermes_fs::FileLock::is_held(&session.home.dispatcher_lock()).unwrap_or(false) {
            // A dispatcher of its own.
            return Ok(());
        }
        session.warn("no dispatcher is running, so no worker is started for this card yet")?;
        session.hint(
            "`hermes gateway start` dispatches continuously, `hermes kanban dispatch` once",
        )?;
    } else if !session.settings.dispatch_in_gateway {
        session.warn(
            "kanban.dispatch_in_gateway is off, so the gateway starts no worker for this card",
        )?;
        session.hint(
            "`hermes config set kanban.dispatch_in_gateway true`, then restart the gateway",
        )?;
    }
    Ok(())
}

/// On a board that several machines share, any of them will do.
fn another_host_dispatches(session: &BoardSession<'_>) -> Result<bool> {
    if !session.store.is_on_server() {
        return Ok(false);
    }
    let now = session.store.now();
    let hosts = session.store.hosts()?;
    Ok(hosts.iter().any(|used| used.host.away_since(now).is_none()))
}

/// All profiles share the boards, so the gateway of any of them will do.
fn any_gateway_runs(session: &BoardSession<'_>) -> Result<bool> {
    let location = &session.location;
    if has_gateway(&location.home) {
        return Ok(true);
    }
    let profiles = names(location)?;
    Ok(profiles
        .iter()
        .any(|name| has_gateway(&location.profile_home(name))))
}

/// Here, in another container or on another machine.
fn has_gateway(home: &Path) -> bool {
    gateway_pid(home).is_some() || gateway_elsewhere(home).is_some()
}
