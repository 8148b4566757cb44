//! The tools as commands other than `chat` use them: with the person at this terminal, and with end
//! signals that interrupt calls.

use std::sync::Arc;

use hermes_proc::Wake;
use hermes_runtime::{Approval, BackendRequest, ToolSetRequest};

use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::ui::{Asked, TerminalPerson};

/// A request for tools or a terminal alone, with the person at this terminal.
pub(crate) fn request<'a>(
    context: &Context,
    backend: BackendRequest<'a>,
    approval: Approval,
    asked: Asked,
) -> Result<ToolSetRequest<'a>> {
    let interrupt = interrupt()?;
    Ok(ToolSetRequest {
        is_served: false,
        sandbox: None,
        backend,
        approval,
        person: TerminalPerson::new(context.printer, &interrupt, asked),
        interrupt,
        has_conversation: false,
        is_scheduled: false,
        platform: "cli",
    })
}

/// A flag that ends calls and turns.
pub(crate) fn interrupt() -> Result<Arc<Wake>> {
    let wake = Wake::new();
    Ok(Arc::new(wake.map_err(|error| {
        CommandError::environment(format!("no file descriptors left: {error}"))
    })?))
}
