//! Looks after one connection until its end: notices when the server is gone, asks whether a silent
//! one is still there, replaces what is old or unused, and fetches tools that have changed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::time::{sleep, timeout};

use super::connection::Connection;
use super::open::{Opened, catalog};
use crate::catalog::Catalog;
use crate::config::ServerConfig;

/// For an answer to the question whether a server is still there.
const KEEPALIVE_LIMIT: Duration = Duration::from_secs(30);
/// Changes of the tools that come together are looked at once.
const SETTLE: Duration = Duration::from_millis(100);

/// Takes note of what a server offers now.
pub(super) type Learn = Box<dyn Fn(Catalog) + Send + Sync>;

pub(super) async fn keep(
    config: Arc<ServerConfig>,
    learn: Learn,
    connection: Arc<Connection>,
    opened: Opened,
) {
    let changed = Arc::clone(&opened.service.service().changed);
    let Opened {
        service, process, ..
    } = opened;
    let stop = service.cancellation_token();
    let mut serving = Box::pin(service.waiting());
    let has_ended = loop {
        tokio::select! {
            _ = &mut serving => break true,
            () = connection.closing.notified() => break false,
            () = changed.notified() => {
                // Whoever closes the connection does not wait for the tools.
                tokio::select! {
                    () = refresh(&learn, &config, &connection) => {}
                    () = connection.closing.notified() => break false,
                }
            }
            () = sleep(until_next_look(&config, &connection)) => {
                if is_due_to_close(&config, &connection) {
                    break false;
                }
                if connection.idle_for() >= config.keepalive {
                    let is_alive = tokio::select! {
                        is_alive = is_alive(&config, &connection) => is_alive,
                        () = connection.closing.notified() => break false,
                    };
                    if !is_alive {
                        tracing::warn!(server = config.name, "an MCP server no longer answers");
                        break false;
                    }
                }
            }
        }
    };
    // Before anything is waited for, so that no call is made on what is being closed.
    connection.retire();
    if !has_ended {
        stop.cancel();
        // A transport that does not end is left behind with its task.
        drop(timeout(Duration::from_secs(1), &mut serving).await);
    } else if let Some(fault) = connection.fault.get() {
        tracing::warn!(
            server = config.name,
            %fault,
            "gave up a connection to an MCP server"
        );
    }
    if let Some(process) = process {
        process.end().await;
    }
    connection.is_closed.send_replace(true);
}

async fn refresh(learn: &Learn, config: &ServerConfig, connection: &Connection) {
    sleep(SETTLE).await;
    match catalog(config, &connection.peer).await {
        Ok(catalog) => learn(catalog),
        Err(error) => {
            tracing::warn!(server = config.name, %error, "changed tools could not be listed");
        }
    }
}

/// How long nothing can be due.
fn until_next_look(config: &ServerConfig, connection: &Connection) -> Duration {
    let idle = connection.idle_for();
    let keepalive = config.keepalive.saturating_sub(idle);
    let unused = config.idle_timeout.map(|limit| limit.saturating_sub(idle));
    let age = connection.opened.elapsed();
    let old = config.max_lifetime.map(|limit| limit.saturating_sub(age));
    let waits = [Some(keepalive), unused, old];
    let next = waits.into_iter().flatten().min().unwrap_or(keepalive);
    // Something that is due and cannot be done yet, as a request is under way, is looked at again.
    next.max(Duration::from_millis(200))
}

fn is_due_to_close(config: &ServerConfig, connection: &Connection) -> bool {
    if connection.is_in_use() {
        return false;
    }
    let is_past =
        |limit: Option<Duration>, time: Duration| limit.is_some_and(|limit| time >= limit);
    is_past(config.idle_timeout, connection.idle_for())
        || is_past(config.max_lifetime, connection.opened.elapsed())
}

async fn is_alive(config: &ServerConfig, connection: &Connection) -> bool {
    if connection.is_in_use() {
        return true;
    }
    let began = Instant::now();
    let listed = timeout(KEEPALIVE_LIMIT, catalog(config, &connection.peer)).await;
    connection.touch();
    let is_alive = matches!(listed, Ok(Ok(_)));
    tracing::debug!(server = config.name, is_alive, took = ?began.elapsed(), "asked an MCP server whether it is there");
    is_alive
}
