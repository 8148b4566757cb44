//! What a container does whose command is `gateway run`, while s6 runs the gateway: it lives until it
//! is told to end.

use std::ffi::OsString;
use std::os::fd::AsFd;
use std::process::ExitCode;

use hermes_home::HEARTBEAT_ARGUMENTS;
use hermes_proc::{EndSignals, first_readable, replace_process};

use crate::context::Context;
use crate::error::{CommandError, Result};

/// Whether the program is called for nothing but to live.
pub(crate) fn is_heartbeat(args: &[OsString]) -> bool {
    args == HEARTBEAT_ARGUMENTS
}

/// Lives until a signal asks for the end; the exit code tells which.
pub(crate) fn beat() -> Result<ExitCode> {
    let failed = |error: std::io::Error| {
        CommandError::environment(format!("could not wait for signals: {error}"))
    };
    let signals = EndSignals::listen().map_err(failed)?;
    loop {
        if let Some(signal) = signals.take() {
            return Ok(ExitCode::from(signal.exit_code()));
        }
        first_readable(&[signals.as_fd()], None).map_err(failed)?;
    }
}

/// Becomes a heartbeat, with a command line that says so. Comes back with why it could not.
pub(super) fn become_heartbeat(context: &Context) -> CommandError {
    let error = replace_process(&context.program.path, "hermes", HEARTBEAT_ARGUMENTS);
    CommandError::environment(format!("could not go on as a heartbeat: {error}"))
}
