//! Starting a server to see what it has.

use std::sync::Arc;
use std::time::Instant;

use hermes_mcp::{Catalog, Error, ServerConfig};
use hermes_proc::Wake;

use crate::context::Context;
use crate::error::{CommandError, Result};

/// A server that answered.
pub(super) struct Probed {
    pub(super) catalog: Arc<Catalog>,
    pub(super) milliseconds: u128,
}

/// Connects to a server, lists its tools, and ends it again.
pub(super) fn probe(
    server: &ServerConfig,
    context: &Context,
) -> Result<std::result::Result<Probed, Error>> {
    context.ensure_home()?;
    let interrupt = Wake::new().map_err(|error| CommandError::environment(error.to_string()))?;
    let redactor = Arc::new(context.redactor());
    let pooled = hermes_runtime::separate_server(context, server, &redactor);
    let begun = Instant::now();
    let connected = pooled.connect(&interrupt);
    let milliseconds = begun.elapsed().as_millis();
    Ok(connected.map(|catalog| Probed {
        catalog,
        milliseconds,
    }))
}

/// The error as a command reports it.
pub(super) fn failed(server: &str, error: &Error) -> CommandError {
    let report = CommandError::user(format!("MCP server '{server}': {error}"));
    match error.hint(server) {
        Some(hint) => report.hint(hint),
        None => report,
    }
}
