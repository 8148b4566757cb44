//! `hermes sessions rename`.

use super::{named, to_change};
use crate::context::Context;
use crate::error::Result;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session: its id, an id prefix, or its title
    #[arg(value_name = "ID")]
    id: String,
    /// The new title
    #[arg(required = true, value_name = "TITLE")]
    title: Vec<String>,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    let (mut store, id) = named(to_change(context)?, &args.id)?;
    let title = store.set_title(&id, &args.title.join(" "))?;
    context.line(format!("Renamed session {id} to '{title}'"))
}
