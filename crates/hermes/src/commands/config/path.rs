//! `hermes config path` and `env-path`: one line each.

use std::process::ExitCode;

use crate::context::Context;
use crate::error::Result;

pub(super) fn config(context: &Context) -> Result<ExitCode> {
    context
        .printer
        .line(context.sources().config_path().display().to_string())?;
    Ok(ExitCode::SUCCESS)
}

pub(super) fn dotenv(context: &Context) -> Result<ExitCode> {
    context
        .printer
        .line(context.sources().dotenv_path().display().to_string())?;
    Ok(ExitCode::SUCCESS)
}
