//! `hermes mcp remove`.

use hermes_mcp::oauth::TokenFiles;

use super::entry::{check_name, exists, find, remove};
use crate::context::Context;
use crate::error::Result;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The server
    name: String,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    context.refuse_to_agents("changing MCP servers")?;
    let name = &args.name;
    if !exists(name, context) {
        find(name, context)?;
    }
    check_name(name)?;
    if let Ok(server) = find(name, context) {
        hermes_mcp::forget_catalog(&context.location.home, &server)?;
        hermes_mcp::forget_failures(&context.location.home, &server)?;
    }
    remove(name, context)?;
    TokenFiles::of_server(&context.location.home, name).remove()?;
    context.line(format!("✓ Removed the MCP server '{name}'"))?;
    context.note("Conversations that are open keep it until they end.")
}
