//! The tools as commands other than `chat` use them: with the person at this terminal, and with end
//! signals that interrupt calls.

use std::sync::Arc;

use hermes_proc::Wake;
use hermes_runtime::{Approval, BackendRequest, ToolSet, ToolSetRequest};

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
    let interrupt = interrupt()?;
    let person = TerminalPerson::new(&context.printer, &interrupt, asked);
    let request = ToolSetRequest {
        backend,
        approval,
        person,
        interrupt,
    };
    Ok(ToolSet::assemble(context, request)?)
}

/// A flag that ends calls and turns.
pub(crate) fn interrupt() -> Result<Arc<Wake>> {
    let wake = Wake::new();
    Ok(Arc::new(wake.map_err(|error| {
        CommandError::environment(format!("no file descriptor is left: {error}"))
    })?))
}
