//! `hermes config path` and `env-path`: one line each.

use crate::commands::NoArgs;
use crate::context::Context;
use crate::error::Result;

pub(super) fn config(_: &NoArgs, context: &Context) -> Result<()> {
    context.line(context.sources().config_path().display().to_string())
}

pub(super) fn dotenv(_: &NoArgs, context: &Context) -> Result<()> {
    context.line(context.sources().dotenv_path().display().to_string())
}
