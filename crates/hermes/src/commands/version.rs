//! `hermes version`: which program this is.

use super::NoArgs;
use crate::context::Context;
use crate::error::Result;
use crate::facts::{VERSION, install_method};

pub(crate) fn run(_: &NoArgs, context: &Context) -> Result<()> {
    context.line(format!("hermes {VERSION}"))?;
    if let Ok(program) = std::env::current_exe() {
        context.line(format!("Program: {}", context.display(&program)))?;
    }
    context.line(format!("Install method: {}", install_method(context)))?;
    context.line(format!("Home: {}", context.display(&context.location.home)))
}
