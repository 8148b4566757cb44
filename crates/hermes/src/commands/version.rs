//! `hermes version`: which program this is.

use crate::context::Context;
use crate::error::Result;

/// Version of the reference whose files and commands this program shares.
pub(crate) const COMPATIBLE: &str = "0.19.0";

/// Version of this program.
pub(crate) const SHORT: &str = concat!(env!("CARGO_PKG_VERSION"), " (as hermes-agent 0.19.0)");

pub(crate) fn run(context: &Context) -> Result<()> {
    context.printer.line(format!("hermes {SHORT}"))?;
    if let Ok(program) = std::env::current_exe() {
        context
            .printer
            .line(format!("Program: {}", context.display(&program)))?;
    }
    context.printer.line(format!(
        "Install method: {}",
        crate::doctor::install_method(context)
    ))?;
    Ok(context
        .printer
        .line(format!("Home: {}", context.display(&context.location.home)))?)
}
