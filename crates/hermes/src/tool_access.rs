//! The tools as commands other than `chat` use them: with the person at this terminal, and with end
//! signals that interrupt calls.

use std::sync::Arc;

use hermes_proc::Wake;
use hermes_runtime::{Approval, BackendRequest, TerminalSetup, ToolSet, ToolSetRequest};

use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::ui::{Asked, TerminalPerson};

/// The tools under the settings of the profile. Starts nothing.
pub(crate) fn assemble(
    context: &Context,
    backend: BackendRequest<'_>,
    approval: Approval,
    asked: Asked,
) -> Result<ToolSet> {
    let request = request(context, backend, approval, asked)?;
    Ok(ToolSet::assemble(context, request)?)
}

/// The terminal alone. Starts nothing.
pub(crate) fn terminal(
    context: &Context,
    backend: BackendRequest<'_>,
    approval: Approval,
    asked: Asked,
) -> Result<TerminalSetup> {
    let request = request(context, backend, approval, asked)?;
    Ok(TerminalSetup::assemble(context, request)?)
}

fn request<'a>(
    context: &Context,
    backend: BackendRequest<'a>,
    approval: Approval,
    asked: Asked,
) -> Result<ToolSetRequest<'a>> {
    let interrupt = interrupt()?;
    Ok(ToolSetRequest {
        backend,
        approval,
        person: TerminalPerson::new(&context.printer, &interrupt, asked),
        interrupt,
        has_conversation: false,
    })
}

/// A flag that ends calls and turns.
pub(crate) fn interrupt() -> Result<Arc<Wake>> {
    let wake = Wake::new();
    Ok(Arc::new(wake.map_err(|error| {
        CommandError::environment(format!("no file descriptor is left: {error}"))
    })?))
}
